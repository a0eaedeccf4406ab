"""What the command line names becomes objects: the snapshot, the manifests, the configuration and its plugins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwhatif.cli.output import Notes
from kwhatif.errors import InputError, UsageError

if TYPE_CHECKING:
    from kwhatif.api.meta import Resource
    from kwhatif.cli.edit_options import EditOptions
    from kwhatif.cli.options import EngineOptions, InputOptions
    from kwhatif.scheduling.setup import Setup
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.load import Manifest
    from kwhatif.whatif.edits.outcome import Edited
    from kwhatif.whatif.expand.expand import Expanded
    from kwhatif.whatif.session import Session

__all__ = [
    "add_objects",
    "age",
    "check_stdin",
    "counts",
    "expanded_from",
    "no_pods",
    "note_unused_plugins",
    "read_edited",
    "read_setup",
    "read_snapshot",
    "with_edits",
]

_MOST_NAMED = 10

DEFAULT_POLICY = "default"
"""What ``--policy`` calls kube-scheduler's defaults."""


def check_stdin(*paths: str | None) -> None:
    """Raises UsageError if standard input would be read more than once."""
    if paths.count("-") > 1:
        raise UsageError("'-' is given more than once: standard input can be read only once")


def read_snapshot(paths: Sequence[str], notes: Notes, now: datetime | None = None) -> Snapshot:
    """The cluster. Notes how old it is ``now``, by the clock if nothing is said."""
    from kwhatif.api.core import Node
    from kwhatif.snapshot.load import load_snapshot

    snapshot = load_snapshot(paths)
    if snapshot.taken_at:
        notes.note(age(snapshot.taken_at, now or datetime.now(UTC)))
    if not snapshot.objects.of(Node):
        notes.warn(f"{snapshot.source}: holds no nodes")
    return snapshot


def read_edited(paths: Sequence[str], edits: EditOptions, notes: Notes, now: datetime | None = None) -> Edited:
    """The cluster after what-if edits. Notes how old it is, and what controllers did about the edits."""
    from kwhatif.snapshot.format.model import Snapshot

    if not paths and not edits.none:
        raise UsageError("what-if edits are of a cluster: name it with --snapshot")
    return with_edits(read_snapshot(paths, notes, now) if paths else Snapshot(), edits, notes)


def with_edits(snapshot: Snapshot, edits: EditOptions, notes: Notes) -> Edited:
    """A snapshot after what-if edits. Notes what controllers did about them."""
    if edits.none:
        from kwhatif.whatif.edits.outcome import Edited

        return Edited(snapshot, snapshot.objects.covered())
    from kwhatif.api.core import Node
    from kwhatif.whatif.edits.apply import edited
    from kwhatif.whatif.edits.document import read_edits

    given = [*read_edits(edits.edits or ()), *edits.given({node.name for node in snapshot.objects.of(Node)})]
    result = edited(snapshot, given)
    for text in result.notes:
        notes.note(text)
    return result


def age(taken_at: str, now: datetime) -> str:
    """``the snapshot is 3 days old``."""
    from kwhatif.report.snapshot_info_text import lasted

    seconds = int((now - datetime.fromisoformat(taken_at)).total_seconds())
    if seconds < 0:
        return f"the snapshot is of {taken_at}, which is still to come"
    return f"the snapshot is {lasted(seconds)} old"


def read_setup(
    engine: EngineOptions, notes: Notes, snapshot: Snapshot | None = None, *, bind_extenders: bool = False
) -> Setup:
    """The rules, the configuration, the plugins from outside, and its extenders if they are to be called.

    Unless the command line says otherwise, the rules are those of the Kubernetes that the snapshot was taken from, and
    the configuration is that of its scheduler, if the snapshot has it. A Policy, and a configuration older than
    v1beta2, brings the rules of the last Kubernetes that read it.
    """
    from kwhatif.cli.rules import rules
    from kwhatif.policy.load import default_configuration, load_configuration
    from kwhatif.policy.older import legacy_format
    from kwhatif.scheduling.setup import Setup
    from kwhatif.versions.minors import LEGACY_MINOR

    cluster_says = snapshot.kubernetes_version if snapshot else None
    told = snapshot.scheduler.feature_gates if snapshot and snapshot.scheduler else None
    chosen = _policy(engine.policy, snapshot, notes)
    legacy = chosen is not None and bool(legacy_format(chosen[0]))
    if legacy:
        cluster_says, told = LEGACY_MINOR, None
        if not engine.kubernetes_version:
            notes.note(
                f"the rules are those of Kubernetes {LEGACY_MINOR}, the last that read such a policy; "
                "--kubernetes-version translates it"
            )
    features = rules(
        engine.kubernetes_version, engine.feature_gates, notes, otherwise=cluster_says, recorded=told, legacy=legacy
    )
    if chosen is None:
        configuration = default_configuration(features)
    else:
        document, source = chosen
        configuration = load_configuration(document, source=source, features=features)
    for text in configuration.warnings:
        notes.warn(text)
    outside = {}
    if chosen is not None or engine.plugin:
        # No default configuration enables a plugin from outside, so only then may there be one to look for.
        from kwhatif.framework.outside import load_outside

        outside = load_outside(engine.plugin or ())
    extenders = None
    if bind_extenders and not engine.call_extenders:
        raise UsageError("--call-extender-bind is about --call-extenders: without it no extender is called")
    if engine.call_extenders and not configuration.extenders:
        notes.warn("the configuration has no extenders: --call-extenders changes nothing")
    elif engine.call_extenders:
        from kwhatif.scheduling.extenders.asking import Extenders

        extenders = Extenders(configuration.extenders, bind=bind_extenders)
    return Setup(
        configuration,
        features,
        outside,
        skip_unknown=engine.skip_unknown_plugins,
        all_nodes=engine.all_nodes,
        extenders=extenders,
    )


def _policy(policy: str | None, snapshot: Snapshot | None, notes: Notes) -> tuple[Any, str] | None:
    """The configuration to read and what to call it; None for kube-scheduler's defaults."""
    own = snapshot.scheduler if snapshot else None
    if policy is None and snapshot is not None and own is not None and own.configuration is not None:
        source = own.source or snapshot.source
        notes.note(f"policy: the cluster's own, from {source}; --policy {DEFAULT_POLICY} is kube-scheduler's default")
        return own.configuration, source
    if policy is None or policy == DEFAULT_POLICY:
        return None
    from kwhatif.cli.policy_file import read_policy

    document, file, warnings = read_policy(policy)
    for text in warnings:
        notes.warn(text)
    return document, file


def note_unused_plugins(session: Session, engine: EngineOptions, notes: Notes) -> None:
    """Note which plugins were named with --plugin but are enabled nowhere."""
    if not engine.plugin:
        return
    used = {plugin.name for scheduler in session.schedulers() for plugin in scheduler.framework.all_plugins}
    for name in sorted(set(session.setup.outside) - used):
        notes.warn(f"plugin {name} is enabled in no profile that was used: it changed nothing")


def expanded_from(
    paths: Sequence[str],
    namespace: str,
    snapshot: Snapshot,
    options: InputOptions,
    *,
    pods_needed: bool = True,
    anew: bool = False,
) -> Expanded:
    """What becomes of the manifests. Raises InputError if there is nothing in them that could have pods.

    An empty render must not pass for a good answer, unless no pods are needed. ``anew`` takes no workload for one that
    is in the cluster already, of which only what an update changes would be new.
    """
    from kwhatif.admission.pipeline import DEFAULT_PLUGINS
    from kwhatif.snapshot.load import load_manifests
    from kwhatif.whatif.expand.expand import Expanded, expand
    from kwhatif.workloads.controllers import TemplatePath, makes_pods

    if not paths:
        return Expanded()
    manifests = load_manifests(paths, namespace)
    where = [TemplatePath.parse(text) for text in options.templates or ()]
    extra = [name for names in options.admission_plugins or () for name in names.split(",")]
    expanded = expand(manifests, snapshot, plugins=(*DEFAULT_PLUGINS, *extra), templates=where, anew=anew)
    if pods_needed and expanded.empty and not any(makes_pods(manifest.raw, where) for manifest in manifests):
        raise no_pods(paths, manifests)
    return expanded


def add_objects(snapshot: Snapshot, expanded: Expanded, notes: Notes, *, ignore_unknown: bool = False) -> list[str]:
    """Put what the scheduler reads of the input, besides pods, into the snapshot, in place of what it replaces.

    Returns the kinds that nobody here knows, and of which pods may have been expected.
    """
    from kwhatif.api.kinds import IDLE

    added = [f"{_name_of(obj)} {'replaced' if _put(snapshot, obj) else 'added'}" for obj in expanded.objects]
    if added:
        more = f" and {len(added) - _MOST_NAMED} more" if len(added) > _MOST_NAMED else ""
        notes.note(f"for this run, in the snapshot: {', '.join(added[:_MOST_NAMED])}{more}")
    unread = Counter({kind: n for kind, n in expanded.unknown.items() if kind in IDLE})
    unknown = expanded.unknown - unread
    if unread:
        notes.note(f"not read by the scheduler: {counts(unread)}")
    if ignore_unknown:
        return []
    return [f"{number} {kind}" for kind, number in sorted(unknown.items())]


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


def counts(kinds: Counter[str]) -> str:
    """``2 Deployment, 1 Service``."""
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))


def no_pods(files: Sequence[str], manifests: Sequence[Manifest]) -> InputError:
    """The error for manifests without a pod: which files, and what they hold."""
    from kwhatif.snapshot.read.files import called

    held = counts(Counter(manifest.obj.kind or "" for manifest in manifests))
    return InputError(f"no pods in here, only {held}", source=", ".join(map(called, files)))
