"""Gaps: what an answer lacks since objects that admission, the controllers or the scheduler would read are not in the
snapshot; and the commands that would close them.

``fidelity/assess.py`` has the gaps of kinds that plugins read; here are those that admission and the controllers look
up, webhooks and policies that would have been called, workloads that are missing although their pods exist, and waiting
pods that the scheduler had not tried yet when the snapshot was taken, which it tries before later pods of the same
priority; and members of groups that are taken one by one.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import cast

from kwhatif.admission.object_store import name_of, namespace_of, plain
from kwhatif.admission.plugins.resource_quota import Quotas
from kwhatif.admission.response import Doubt, Doubts, Object
from kwhatif.api.core import Pod
from kwhatif.api.field_types import types_of
from kwhatif.api.kinds import GROUPS, TEMPLATES, Kind, kind_named
from kwhatif.api.objects import part_of, section
from kwhatif.api.watcher_metrics import WatcherMetrics
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Gap
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.simulation.expansion.expanded_manifests import Rollout
from kwhatif.simulation.expansion.snapshot_objects import build_object_store
from kwhatif.simulation.ownership import TEMPLATE_HASH, Owners
from kwhatif.simulation.placement.verdict import TAKEN_FOR_NEW
from kwhatif.simulation.session import PodToSchedule, Session, is_unattempted, pending_pods
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import DEFAULT_MINOR, minor_of
from kwhatif.workloads.objects import controller_of, integer
from kwhatif.workloads.stateful_set import is_ordered


def closing_commands_of(snapshot: Snapshot, *kinds: str) -> tuple[str, ...]:
    """The commands whose output, read besides the snapshot, has all objects of these kinds.

    They request the list itself, which has its kind even if it is empty; ``kubectl get KIND`` prints one that does not.
    None for a kind that not every cluster of this minor serves, that no snapshot holds, or that could not be read: a
    list beside the snapshot would not undo that.
    """
    minor = DEFAULT_MINOR
    with contextlib.suppress(UsageError):
        minor = minor_of(snapshot.kubernetes_version or minor)
    wanted = (kind for kind in kinds if kind in GROUPS and kind not in snapshot.unreadable)
    versions = ((kind, _version(kind, minor)) for kind in map(kind_named, wanted))
    return tuple(f"kubectl get --raw {kind.path(version)}" for kind, version in versions if version)


def _version(kind: Kind, minor: str) -> str:
    """The best version in which a minor serves a kind; nothing if there is none that is always on."""
    if len(kind.versions) == 1:
        return kind.versions[0]
    served = types_of(minor)
    return next(
        (
            version
            for version in kind.versions
            if served.api_resource_of(kind.api_version(version), kind.name) is not None
        ),
        "",
    )


Touches = Callable[[PodToSchedule], bool]


def _always(item: PodToSchedule) -> bool:
    return True


def _has_account(item: PodToSchedule) -> bool:
    """Whether the pod runs as another account than ``default``."""
    return item.service_account not in ("", "default")


def _has_runtime_class(item: PodToSchedule) -> bool:
    return bool(item.pod.spec.runtime_class_name)


def _has_claim_template(item: PodToSchedule) -> bool:
    return any(claim.resource_claim_template_name for claim in item.pod.spec.resource_claims or ())


def _of_cron_job(item: PodToSchedule) -> bool:
    return item.owner.startswith("CronJob ")


_POLICY = "what a policy would set, refuse or warn of is not known"
_WEBHOOK = "which webhooks would be called is unknown"

LOOKED_UP: dict[str, tuple[Touches, str]] = {
    "CronJob": (_of_cron_job, "one that is in the cluster is taken to be new, and to have a run"),
    "LimitRange": (
        _always,
        "limits and requests by default are not filled in, and nothing is refused for its size",
    ),
    **{
        f"{verb}AdmissionPolicy{binding}": (_always, _POLICY)
        for verb in ("Mutating", "Validating")
        for binding in ("", "Binding")
    },
    **{f"{verb}WebhookConfiguration": (_always, _WEBHOOK) for verb in ("Mutating", "Validating")},
    "Namespace": (_always, "whether a namespace is there, and which Pod Security level it has, is not known"),
    "ResourceClaimTemplate": (_has_claim_template, "claims that are made of it are left out"),
    "ResourceQuota": (_always, "nothing is refused for being more than the quota"),
    "RuntimeClass": (_has_runtime_class, "its overhead and nodes are left out"),
    "ServiceAccount": (_has_account, "whether the account exists is not known"),
}
"""Kind -> which pods it matters to, of those that come through the API server, and what follows if it is missing."""


def explain_absence(snapshot: Snapshot, covered: Collection[str], kind: str) -> str:
    """Why a kind is unknown: it could not be read, or it is not known whether it was."""
    if kind == WatcherMetrics.__name__:
        return "" if kind in covered else "how busy nodes are is not known: no --load says it"
    title = kind_named(kind).title if kind in GROUPS else kind
    if kind in snapshot.unreadable:
        return f"{title} could not be read: {snapshot.unreadable[kind]}"
    return "" if kind in covered else f"the snapshot holds no {title}"


def needs_admission(item: PodToSchedule, snapshot: Snapshot) -> bool:
    """Whether the pod has not been admitted by an API server yet."""
    return item.origin != snapshot.source and not item.ran_before


def priority_gaps(snapshot: Snapshot, covered: Collection[str], pods: Sequence[PodToSchedule]) -> Iterator[Gap]:
    """Classes that pods name and that do not exist, and those that pods may or may not get."""
    why = explain_absence(snapshot, covered, "PriorityClass")
    if why:
        touched = (
            item.pod.key
            for item in pods
            if item.unknown_class or (not item.pod.spec.priority_class_name and needs_admission(item, snapshot))
        )
        yield Gap(
            what=why,
            effect="pods get their priority from it",
            pods=tuple(touched),
            closed_by=closing_commands_of(snapshot, "PriorityClass"),
        )
        return
    for item in pods:
        if item.unknown_class:
            yield Gap(
                what=f"PriorityClass {item.unknown_class} is not in the snapshot",
                effect="the pod is taken to have priority 0; the API server would refuse it",
                pods=(item.pod.key,),
            )


def update_gaps(snapshot: Snapshot, covered: Collection[str], rollouts: Sequence[Rollout]) -> Iterator[Gap]:
    """What is unknown about the pods that updates replace: themselves, and the replica sets between."""
    for kind in ("Pod", "ReplicaSet"):
        of_kind = [one.name for one in rollouts if kind == "Pod" or one.name.startswith("Deployment ")]
        # Of a list that may lack some, those of the workload's own namespace are there.
        if of_kind and kind not in covered:
            what = explain_absence(snapshot, covered, kind)
            yield Gap(
                what=what,
                effect="which pods an update replaces is not known",
                pods=tuple(of_kind),
                closed_by=closing_commands_of(snapshot, kind),
            )


def update_time_gaps(session: Session, pods: Sequence[PodToSchedule], rollouts: Sequence[Rollout]) -> Iterator[Gap]:
    """Where updates take no time: extenders are not called twice for a run."""
    if rollouts and session.setup.extenders is not None:
        names = {rollout.name for rollout in rollouts}
        yield Gap(
            what="beside extenders an update takes its steps at once",
            effect="its old pods are gone before its next step, and who waits besides is tried after its last one",
            pods=tuple(item.pod.key for item in pods if item.owner in names),
        )


def server_gaps(
    snapshot: Snapshot, covered: Collection[str], pods_to_schedule: Sequence[PodToSchedule]
) -> Iterator[Gap]:
    """What is unknown about the kinds that admission and the controllers look up for these pods.

    Kinds that were not read are reported together, where they touch the same pods, and not at all where they touch
    none: they are many.
    """
    new = [item for item in pods_to_schedule if needs_admission(item, snapshot)]
    missing: dict[tuple[str, ...], list[str]] = {}
    for kind, (touches, effect) in sorted(LOOKED_UP.items()):
        pods = tuple(item.pod.key for item in new if touches(item))
        if kind in snapshot.unreadable:
            yield Gap(what=explain_absence(snapshot, covered, kind), effect=effect, pods=pods)
        elif kind not in covered and pods:
            missing.setdefault(pods, []).append(kind)
    for pods, kinds in missing.items():
        effect = "what the API server would fill in, change or refuse by them is not known"
        if len(kinds) == 1:
            effect = LOOKED_UP[kinds[0]][1]
        yield Gap(
            what=f"the snapshot holds no {', '.join(kinds)}",
            effect=effect,
            pods=pods,
            closed_by=closing_commands_of(snapshot, *kinds),
        )
    for kind, why in sorted(snapshot.unreadable.items()):
        if kind in TEMPLATES.keys() - LOOKED_UP.keys():
            pods = tuple(item.pod.key for item in pods_to_schedule if item.owner.startswith(f"{kind} "))
            effect = "one that is in the cluster is taken to be new: its pods are there twice"
            yield Gap(what=f"{kind} could not be read: {why}", effect=effect, pods=pods)
    for text in snapshot.inconsistencies:
        yield Gap(what=f"the cluster changed while it was read: {text}", effect="what has moved may count twice or not")


def doubt_gaps(doubts: Sequence[Doubts], pod_keys: Collection[str]) -> Iterator[Gap]:
    """A gap for each webhook and policy that would have been asked, with the objects it would have been asked about: of
    pods only those ``pod_keys`` here, by ``namespace/name``.
    """
    objects: dict[Doubt, dict[str, None]] = {}
    for doubt_pods in doubts:
        for doubt, subjects in doubt_pods.items():
            names = objects.setdefault(doubt, {})
            for kind, namespace, name in subjects:
                key = f"{namespace}/{name}" if namespace else name
                if kind != "Pod":
                    names[f"{kind} {key}"] = None
                elif key in pod_keys:
                    names[key] = None
    for doubt, names in objects.items():
        yield Gap(what=doubt.what, effect=doubt.effect, pods=tuple(names))


def missing_owner_gaps(snapshot: Snapshot, pods: Sequence[PodToSchedule], *, more: bool = False) -> Iterator[Gap]:
    """Workloads that are assumed to be new although their pods run; no pod is touched that is one ``more`` of them."""
    new = {item.owner for item in pods if item.origin != snapshot.source and not item.edited}
    # Objects of operators are in no snapshot: they are recognized by their pods, and updated.
    new = {name for name in new if name.partition(" ")[0] in TEMPLATES}
    for name, number in find_missing_owners(snapshot, new).items():
        there = f"{format_count(number, 'pod')} of it {'is' if number == 1 else 'are'}"
        yield Gap(
            what=f"{name} is not in the snapshot, though {there}",
            effect=TAKEN_FOR_NEW,
            pods=() if more else tuple(item.pod.key for item in pods if item.owner == name),
            closed_by=closing_commands_of(snapshot, name.partition(" ")[0]),
        )


def find_missing_owners(snapshot: Snapshot, workloads: Collection[str]) -> dict[str, int]:
    """Of these workloads (``Deployment shop/web``) those that are not in the snapshot -> how many of their pods are."""
    known = {
        f"{kind} {part_of(obj, 'metadata').get('namespace', '')}/{part_of(obj, 'metadata', 'name')}"
        for kind in {name.partition(" ")[0] for name in workloads}
        for obj in snapshot.whole.get(kind, ())
    }
    unknown = {name for name in workloads if name} - known
    if not unknown:
        return {}
    namespaces = {name.partition(" ")[2].partition("/")[0] for name in unknown}
    owners = Owners(snapshot, namespaces)
    counts = Counter[str]()
    for pod, number in _pods_by_controller(snapshot, frozenset(namespaces)):
        counts[str(owners.workload_of(pod))] += number
    return {name: counts[name] for name in sorted(unknown) if counts[name]}


def _pods_by_controller(snapshot: Snapshot, namespaces: frozenset[str]) -> list[tuple[Pod, int]]:
    """A pod of each controller that has some in these namespaces, and how many unfinished ones there are."""

    def count() -> list[tuple[Pod, int]]:
        first: dict[tuple[str, str | None, str | None, str | None], Pod] = {}
        numbers = Counter[tuple[str, str | None, str | None, str | None]]()
        for pod in cast("list[Pod]", snapshot.objects.in_namespaces(Pod.__name__, namespaces)):
            owner = pod.controller
            if owner is not None and not pod.is_finished:
                # What a workload is found by (``Owners.workload_of``).
                key = pod.namespace, owner.kind, owner.name, (pod.metadata.labels or {}).get(TEMPLATE_HASH)
                first.setdefault(key, pod)
                numbers[key] += 1
        return [(pod, numbers[key]) for key, pod in first.items()]

    return snapshot.objects.share((_pods_by_controller, namespaces), (Pod.__name__,), count)


def unattempted_gaps(session: Session, pods: Sequence[PodToSchedule]) -> Iterator[Gap]:
    """Pods that the scheduler had yet to try, which are left out: a gap for all later ones that wait for a node."""
    known = {item.pod.key for item in pods}
    between = [
        item.pod
        for item in pending_pods(session.snapshot)
        if is_unattempted(item.pod) and item.pod.key not in known and session.setup.queues(item.pod)
    ]
    most = max((pod.spec.priority or 0 for pod in between), default=0)
    after = [item.pod for item in pods if not item.pod.spec.node_name and (item.pod.spec.priority or 0) <= most]
    if between and after:
        yield Gap(
            what=f"{format_count(len(between), 'pod ahead in the queue is', 'pods ahead in the queue are')} left out: "
            f"{format_some(sorted(pod.key for pod in between))}",
            effect=f"the room that {'it' if len(between) == 1 else 'they'} would take counts as free "
            "(place, review, gate: --with-pending)",
            pods=tuple(pod.key for pod in after),
        )


def creation_gaps(
    session: Session, pods: Sequence[PodToSchedule], rollouts: Sequence[Rollout], freed: Collection[str]
) -> Iterator[Gap]:
    """Pods of other workloads that a quota refused and lets in by now, or may where pods leave a namespace that is
    ``freed`` so: they come at the end of a backoff.
    """
    snapshot, coming, quotas = session.snapshot, [], dict[str, Quotas]()
    if not pods or not snapshot.whole.get("ResourceQuota"):
        return
    # The controller of a pod that only lost its node may still have others to create.
    own = {item.owner for item in pods if not item.ran_before} | {rollout.name for rollout in rollouts}
    for kind, missing_of in _MISSING.items():
        for obj in snapshot.whole.get(kind, ()):
            missing, owner, namespace = missing_of(obj), controller_of(obj), namespace_of(obj)
            name = f"{kind} {namespace}/{name_of(obj)}"
            if missing <= 0 or name in own or f"{owner.get('kind')} {namespace}/{owner.get('name')}" in own:
                continue
            pod = {**section(obj, "spec", "template"), "apiVersion": "v1", "kind": "Pod"}
            pod["metadata"] = {**section(pod, "metadata"), "namespace": namespace}
            if namespace not in quotas:
                quotas[namespace] = Quotas(build_object_store(snapshot, {namespace}), session.setup.features)
            rooms = quotas[namespace].rooms([pod]).values()
            if number := min([missing, *(() if namespace in freed else rooms)] if rooms else [0]):
                coming.append(f"{format_count(number, 'pod')} of {name}")
    if coming:
        yield Gap(
            what="when controllers try again to create pods that a quota had refused is in no snapshot",
            effect=f"{format_some(coming)} may come and take room",
            pods=tuple(item.pod.key for item in pods),
        )


def overdrawn_gaps(session: Session, victims: Sequence[Pod]) -> Iterator[Gap]:
    """Pods that lose their node where a quota allows less than is used by now: it refuses those in their place, which
    are taken to keep their share.
    """
    snapshot, over, refused = session.snapshot, set[tuple[str, str]](), list[str]()
    namespaces = {pod.namespace for pod in victims}
    limits = [quota for quota in snapshot.whole.get("ResourceQuota", ()) if namespace_of(quota) in namespaces]
    if not limits:
        return
    quotas = Quotas(build_object_store(snapshot, namespaces), session.setup.features)
    for quota in limits:
        amounts = quotas.used_by_pods(quota).items()
        over |= {(f"{namespace_of(quota)}/{name_of(quota)}", name) for name, (used, hard) in amounts if used > hard}
    for pod in victims if over else ():
        if over & quotas.rooms([plain(pod, "Pod")]).keys():
            refused.append(pod.key)
    if refused:
        yield Gap(
            what=f"{format_some(sorted({quota for quota, _ in over}))}: more is used than the quota allows",
            effect=f"those in the place of {format_some(refused)} may be refused, and count as created",
            pods=tuple(refused),
        )


def _refused_replicas(obj: Object) -> int:
    conditions = section(obj, "status").get("conditions") or ()
    refused = any(
        condition.get("type") == "ReplicaFailure" and "exceeded quota" in str(condition.get("message"))
        for condition in conditions
    )
    return (
        integer(section(obj, "spec").get("replicas"), 1) - integer(section(obj, "status").get("replicas"), 0)
        if refused
        else 0
    )


def _missing_of_job(obj: Object) -> int:
    """Those of a job that has begun and has no pod; it does not say why."""
    spec, status = section(obj, "spec"), section(obj, "status")
    ended = any(
        condition.get("type") in ("Complete", "Failed", "Suspended") for condition in status.get("conditions") or ()
    )
    if ended or not status.get("startTime") or status.get("active") or status.get("terminating"):
        return 0
    wanted = integer(spec.get("parallelism"), 1)
    return min(wanted, integer(spec.get("completions"), wanted) - integer(status.get("succeeded"), 0))


def _missing_of_stateful_set(obj: Object) -> int:
    """Those that are not there, unless an ordered set waits for one that is. It does not say why."""
    spec, status = section(obj, "spec"), section(obj, "status")
    there = integer(status.get("replicas"), 0)
    if "replicas" not in status or (is_ordered(obj) and integer(status.get("readyReplicas"), 0) < there):
        return 0
    return integer(spec.get("replicas"), 1) - there


def _missing_of_daemon_set(obj: Object) -> int:
    status = section(obj, "status")
    return integer(status.get("desiredNumberScheduled"), 0) - integer(status.get("currentNumberScheduled"), 0)


_MISSING: dict[str, Callable[[Object], int]] = {
    "ReplicaSet": _refused_replicas,
    "ReplicationController": _refused_replicas,
    "StatefulSet": _missing_of_stateful_set,
    "DaemonSet": _missing_of_daemon_set,
    "Job": _missing_of_job,
}
"""How many pods of an object wait for their controller."""


def group_gaps(session: Session, pods: Sequence[PodToSchedule], *, by_group: bool, autoscaled: bool) -> Iterator[Gap]:
    """A gap for all pods that name a group, unless groups were scheduled as such (``by_group``); or for those of groups
    where autoscalers, which know of none, were asked for nodes.
    """
    members = tuple(item.pod.key for item in pods if item.pod.spec.scheduling_group is not None)
    if not members or not takes_groups(session.driver):
        return
    if not by_group:
        yield Gap(
            what="pods of groups are taken one by one, each waiting at Permit for the quorum",
            effect="whether a group runs as a whole, and in which domain, is what `kwhatif place` tells",
            pods=members,
        )
    elif autoscaled:
        yield Gap(
            what="autoscalers see the members of groups one by one, as cluster-autoscaler and Karpenter do",
            effect="nodes may come for a part of a group, and not in one domain",
            pods=members,
        )
