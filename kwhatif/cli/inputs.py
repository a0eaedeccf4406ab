"""What the command line names becomes objects: the snapshot, the manifests, the configuration and its plugins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kwhatif.cli.output import Notes
from kwhatif.errors import InputError, UsageError

if TYPE_CHECKING:
    from kwhatif.api.meta import Resource
    from kwhatif.scheduling.setup import Setup
    from kwhatif.snapshot.load import Manifest
    from kwhatif.snapshot.model import Snapshot
    from kwhatif.whatif.session import Session

__all__ = [
    "add_objects",
    "age",
    "check_stdin",
    "no_pods",
    "note_unused_plugins",
    "read_setup",
    "read_snapshot",
]

# They make pods, or may; of these some are read by the scheduler, too.
_WORKLOADS = frozenset(
    {
        *("CronJob", "DaemonSet", "Deployment", "Job", "PodTemplate"),
        *("ReplicaSet", "ReplicationController", "StatefulSet"),
    }
)
_MAKE_NO_PODS = frozenset(
    {
        *("ConfigMap", "Endpoints", "EndpointSlice", "Event", "HorizontalPodAutoscaler", "Ingress", "IngressClass"),
        *("Lease", "LimitRange", "NetworkPolicy", "ResourceQuota", "Role", "RoleBinding", "Secret", "ServiceAccount"),
        *("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "RuntimeClass", "PodMonitor"),
        *("APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ServiceMonitor"),
    }
)


def check_stdin(*paths: str | None) -> None:
    """Raises UsageError if standard input would be read more than once."""
    if paths.count("-") > 1:
        raise UsageError("'-' is given more than once: standard input can be read only once")


def read_snapshot(paths: Sequence[str], notes: Notes) -> Snapshot:
    """The cluster. Notes how old it is."""
    from kwhatif.api.core import Node
    from kwhatif.snapshot.load import load_snapshot

    snapshot = load_snapshot(paths)
    if snapshot.taken_at:
        notes.note(age(snapshot.taken_at, datetime.now(UTC)))
    if not snapshot.objects.of(Node):
        notes.warn(f"{snapshot.source}: holds no nodes")
    return snapshot


_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def age(taken_at: str, now: datetime) -> str:
    """``the snapshot is 3 days old``."""
    seconds = int((now - datetime.fromisoformat(taken_at)).total_seconds())
    if seconds < 0:
        return f"the snapshot is of {taken_at}, which is still to come"
    unit, length = next(((name, size) for name, size in _UNITS if seconds >= 2 * size), _UNITS[-1])
    number = seconds // length
    return f"the snapshot is {number} {unit}{'' if number == 1 else 's'} old"


def read_setup(
    policy: str | None, plugins: Collection[str], notes: Notes, *, skip_unknown: bool = False, all_nodes: bool = False
) -> Setup:
    """The rules, the configuration and the plugins from outside."""
    from kwhatif.policy.load import default_configuration, load_configuration
    from kwhatif.scheduling.setup import Setup
    from kwhatif.versions import features_of

    if policy is None:
        configuration = default_configuration()
    else:
        from kwhatif.cli.policy_file import read_policy

        document, source, warnings = read_policy(policy)
        for text in warnings:
            notes.warn(text)
        configuration = load_configuration(document, source=source)
    for text in configuration.warnings:
        notes.warn(text)
    outside = {}
    if policy is not None or plugins:
        # No default configuration enables a plugin from outside, so only then may there be one to look for.
        from kwhatif.framework.outside import load_outside

        outside = load_outside(plugins)
    return Setup(configuration, features_of(), outside, skip_unknown=skip_unknown, all_nodes=all_nodes)


def note_unused_plugins(session: Session, plugins: Collection[str], notes: Notes) -> None:
    """Note which plugins were named with --plugin but are enabled nowhere."""
    if not plugins:
        return
    used = {plugin.name for scheduler in session.schedulers() for plugin in scheduler.framework.all_plugins}
    for name in sorted(set(session.setup.outside) - used):
        notes.warn(f"plugin {name} is enabled in no profile that was used: it changed nothing")


def add_objects(snapshot: Snapshot, others: Sequence[Manifest], notes: Notes) -> list[str]:
    """Put what the scheduler reads of a manifest, besides pods, into the snapshot, in place of what it replaces.

    Returns the names of the workloads among them, whose pods nobody makes.
    """
    added: list[str] = []
    ignored: Counter[str] = Counter()
    workloads: list[str] = []
    for manifest in others:
        obj = manifest.obj
        kind = obj.kind or ""
        if manifest.raw is None:
            verb = "replaced" if _put(snapshot, obj) else "added"
            added.append(f"{_name_of(obj)} {verb}")
        elif kind in _MAKE_NO_PODS:
            ignored[kind] += 1
        if kind in _WORKLOADS or (manifest.raw is not None and kind not in _MAKE_NO_PODS):
            workloads.append(_name_of(obj))
    if added:
        notes.note(f"for this run, in the snapshot: {', '.join(added)}")
    if ignored:
        notes.note(f"not read by the scheduler: {_counts(ignored)}")
    return workloads


def _put(snapshot: Snapshot, obj: Resource) -> bool:
    """Add an object; whether it took another one's place."""
    there = snapshot.objects.of(type(obj))
    for place, other in enumerate(there):
        if (other.namespace, other.name) == (obj.namespace, obj.name):
            there[place] = obj
            return True
    snapshot.objects.add(obj)
    return False


def _name_of(obj: Resource) -> str:
    """``Deployment shop/web``."""
    name = obj.name or f"{obj.metadata.generate_name or ''}..."
    return f"{obj.kind} {obj.namespace}/{name}" if obj.namespace else f"{obj.kind} {name}"


def _counts(kinds: Counter[str]) -> str:
    """``2 Deployment, 1 Service``."""
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))


def no_pods(files: Sequence[str], manifests: Sequence[Manifest]) -> InputError:
    """The error for manifests without a pod: which files, and what they hold."""
    from kwhatif.snapshot.files import called

    held = _counts(Counter(manifest.obj.kind or "" for manifest in manifests))
    return InputError(f"no pods in here, only {held}", source=", ".join(map(called, files)))
