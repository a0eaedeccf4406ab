"""Coscheduling: pods of a group wait for one another once they have a node, and give it back where too few have.

Upstream: pkg/coscheduling (coscheduling.go, core/core.go) of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from kwhatif.api.scheduler_plugins import POD_GROUP_LABEL, CoschedulingPodGroup
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo, start_time
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Dependency, Handle, Plugin, PostFilterResult, Quorum
from kwhatif.framework.status import SKIP, Diagnosis, PermitWait, Skip, Status
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.followed_pods import followed_by_label, label_key_of
from kwhatif.plugins.shared.group_resources import resource_gap
from kwhatif.versions import Features

_USUAL_WAIT = 60.0
_USUAL_MEMORY = 3.0
"""Default seconds for which a permitted group is remembered."""

Time = tuple[int, int]
"""Moments of three sorts, each later than all of the one before: of objects, of the run, of a failure."""


class CoschedulingArgs(Args):
    permit_waiting_time_seconds: int | None = None
    pod_group_backoff_seconds: int | None = None
    pod_group_reject_percentage: int | None = None


class _Turn(msgspec.Struct, frozen=True, eq=False):
    """A pod's place among others, which changes when its group fails or succeeds."""

    plugin: Coscheduling
    pod: PodInfo
    group: str
    arrival: Time

    def __lt__(self, other: _Turn) -> bool:
        if self.pod.priority != other.pod.priority:
            return self.pod.priority > other.pod.priority
        mine, theirs = self.plugin.time_of(self), self.plugin.time_of(other)
        return (mine, self.pod.key) < (theirs, other.pod.key)


class Coscheduling(Plugin[None, None]):
    """``_failed`` counts failures of groups in their order; ``_backed_off`` and ``_roomy`` have moments that end."""

    name = "Coscheduling"
    args = CoschedulingArgs
    orders_by_heap = True
    remembers = True
    checked_at_start = True
    dependencies = MappingProxyType(
        {
            "CoschedulingPodGroup": Dependency(
                "it says how many pods of a group have to fit", lambda pod, _: bool(_label(pod))
            )
        }
    )

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        waiting, backoff, percentage = (
            args.permit_waiting_time_seconds,
            args.pod_group_backoff_seconds,
            args.pod_group_reject_percentage,
        )
        return type(args)(
            permit_waiting_time_seconds=60 if waiting is None else waiting,
            pod_group_backoff_seconds=0 if backoff is None else backoff,
            pod_group_reject_percentage=10 if percentage is None else percentage,
        )

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        waiting, backoff = args.permit_waiting_time_seconds, args.pod_group_backoff_seconds
        if waiting < 0:
            yield path.child("permitWaitingTimeSeconds").invalid(waiting, "must be greater than 0")
        if backoff < 0:
            yield path.child("podGroupBackoffSeconds").invalid(backoff, "must be greater than 0")
        percentage = args.pod_group_reject_percentage
        if not 0 <= percentage <= 100:
            yield path.child("podGroupRejectPercentage").invalid(percentage, "must be between 0 and 100")

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        args: CoschedulingArgs = handle.args
        self._wait = float(args.permit_waiting_time_seconds or 0)
        self._backoff = float(args.pod_group_backoff_seconds or 0)
        self._tolerated = float(args.pod_group_reject_percentage or 0) / 100.0
        self._failures = 0
        self._failed: dict[str, int] = {}
        self._backed_off: dict[str, float] = {}
        self._roomy: dict[str, float] = {}
        self._most_assigned: dict[str, int] = {}
        self._lacking: dict[str, str] = {}

    # --- the queue

    def queue_key(self, pod: PodInfo, order: int) -> _Turn:
        arrived = start_time(pod.pod.metadata.creation_timestamp)
        return _Turn(self, pod, _label(pod), (1, order) if arrived == NEVER_STARTED else (0, arrived))

    def time_of(self, turn: _Turn) -> Time:
        """When a pod's group was made, or failed last; of a pod without a group, when it came."""
        if not turn.group:
            return turn.arrival
        failure = self._failed.get(turn.group)
        if failure is not None:
            return 2, failure
        cluster = self.handle.cluster
        made = None if cluster is None else _groups(cluster).get(turn.group)
        return turn.arrival if made is None else made[1]

    # --- the cycle

    def applies_to(self, pod: PodInfo) -> bool:
        return bool(_label(pod))

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Status | Skip | None:
        name, group = _group_of(pod, cluster)
        if group is None:
            return SKIP
        if self._backed_off.get(name, 0.0) > self.handle.clock():
            return Status.unresolvable(f"podGroup {name} failed recently")
        least, siblings = group.spec.min_member, _siblings(cluster, name)
        gap = least - len(siblings)
        if gap > 0:
            return Status.unresolvable(
                f"pre-filter pod {pod.pod.name} cannot find enough sibling pods, "
                f"current pods number: {len(siblings)}, minMember of group: {least}"
            )
        if gap + sum(siblings.values()) > 0:
            why = f"pre-filter pod {pod.pod.name} cannot proceed due to gated pods in the same PodGroup"
            return Status.unresolvable(why)
        if group.spec.min_resources is None or self._roomy.get(name, 0.0) > self.handle.clock():
            return None
        members = followed_by_label(cluster, POD_GROUP_LABEL, in_namespace=True).pods_of(name)
        missing = resource_gap(cluster, group.spec.min_resources, least, list(members.values()))
        if missing:
            return Status.unresolvable(f"resource gap: {missing}")
        self._roomy.setdefault(name, self.handle.clock() + (self._wait or _USUAL_MEMORY))
        return None

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, state: None) -> PostFilterResult:
        cluster = diagnosis.cluster
        name, group = _group_of(pod, cluster)
        if group is None:
            return PostFilterResult(Status.unschedulable("can not find pod group"))
        self._lacking[name] = diagnosis.message()
        least, assigned = group.spec.min_member, len(_assigned_pods_of(cluster, name))
        if assigned >= least or (least - assigned) / least <= self._tolerated:
            return PostFilterResult(Status.unschedulable())
        self._reject(name, "optimistic rejection in PostFilter")
        if self._backoff and len(_siblings(cluster, name)) >= least:
            self._backed_off.setdefault(name, self.handle.clock() + self._backoff)
        self._fail(name)
        return PostFilterResult(
            Status.unschedulable(
                f"PodGroup {name} gets rejected due to Pod {pod.pod.name} is unschedulable even after PostFilter"
            )
        )

    def permit(self, pod: PodInfo, node: str, state: None) -> Status | PermitWait | None:
        if not _label(pod):
            return None
        cluster = self.handle.cluster
        assert cluster is not None
        name, group = _group_of(pod, cluster)
        if group is None:
            return Status.unschedulable("PodGroup not found")
        assigned = _assigned_pods_of(cluster, name)
        self._most_assigned[name] = max(self._most_assigned.get(name, 0), len(assigned))
        if len(assigned) >= group.spec.min_member:
            self._failed.pop(name, None)
            for waiting in self.handle.waiting.values():
                if _label(waiting.pod) == name:
                    waiting.allow(self.name)
            return None
        if len(assigned) == 1:
            self.handle.activate([uid for uid in _siblings(cluster, name) if uid != pod.uid])
        return PermitWait(self._patience_with(group))

    def _patience_with(self, group: CoschedulingPodGroup) -> float:
        """For how many seconds a pod of the group waits."""
        seconds = group.spec.schedule_timeout_seconds
        return self._wait or _USUAL_WAIT if seconds is None else float(seconds) or self._wait

    def quorum_of(self, pod: PodInfo) -> Quorum | None:
        cluster = self.handle.cluster
        name, group = ("", None) if cluster is None else _group_of(pod, cluster)
        if cluster is None or group is None:
            return None
        assigned = len(_assigned_pods_of(cluster, name))
        most = max(assigned, self._most_assigned.get(name, 0))
        lacking = self._lacking.get(name, "")
        return Quorum(name, group.spec.min_member, assigned, most, self._patience_with(group), lacking)

    def unreserve(self, pod: PodInfo, node: str, state: None) -> None:
        assert self.handle.cluster is not None
        name, group = _group_of(pod, self.handle.cluster)
        if group is not None:
            self._reject(name, "rejection in Unreserve")
            self._fail(name)

    def _reject(self, group: str, why: str) -> None:
        """Turn away all pods of a group that wait."""
        for waiting in self.handle.waiting.values():
            if _label(waiting.pod) == group:
                waiting.reject(self.name, why)

    def _fail(self, group: str) -> None:
        self._roomy.pop(group, None)
        self._failures += 1
        self._failed[group] = self._failures


def _label(pod: PodInfo) -> str:
    """``namespace/name`` of the pod's group; None without one."""
    return label_key_of(pod, POD_GROUP_LABEL, in_namespace=True)


@cached_per_cluster
def _groups(cluster: Cluster) -> Mapping[str, tuple[CoschedulingPodGroup, Time]]:
    """Groups by ``namespace/name``, with the moment they were made; one that is not made yet comes before its pods."""
    groups = {}
    for group in cluster.objects.list_all(CoschedulingPodGroup):
        made = start_time(group.metadata.creation_timestamp)
        time = (1, -1) if made == NEVER_STARTED else (0, made)
        groups[f"{group.namespace or 'default'}/{group.name}"] = group, time
    return groups


def _group_of(pod: PodInfo, cluster: Cluster) -> tuple[str, CoschedulingPodGroup | None]:
    name = _label(pod)
    entry = _groups(cluster).get(name) if name else None
    return name, None if entry is None else entry[0]


def _siblings(cluster: Cluster, group: str) -> dict[str, bool]:
    """All pods of a group by uid, and whether each is gated; those on nodes and on their way out count."""
    pending = cluster.pending.pods_with_label(POD_GROUP_LABEL, group)
    gated = {uid: bool(pod.spec.scheduling_gates) for uid, pod in pending.items()}
    for uid, (info, _) in followed_by_label(cluster, POD_GROUP_LABEL, in_namespace=True).pods_of(group).items():
        gated[uid] = bool(info.shape.spec.scheduling_gates)
    return gated


def _assigned_pods_of(cluster: Cluster, group: str) -> set[str]:
    """Names of a group's pods that have a node."""
    members = followed_by_label(cluster, POD_GROUP_LABEL, in_namespace=True).pods_of(group)
    return {info.pod.name for info, _ in members.values()}
