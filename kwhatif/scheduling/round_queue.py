"""The queue where nothing takes time: single pods and groups, in the order of the queue.

Failed pods come back all at once, when the caller says that enough time has passed. ``scheduling/queue.py`` is the
queue in time: which events bring back a pod, and after which backoff; ``queued_groups.py`` takes groups out of it. The
two share the order of the queue and the gates, which are the driver's. Upstream:
pkg/scheduler/backend/queue, and podGroupInfoForPod in pkg/scheduler/schedule_one_podgroup.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Set
from typing import Any

import msgspec

from kwhatif.cluster.pod_group_states import GroupKey, group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.status import Status
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.pod_group_results import is_leaving


class PendingPod(msgspec.Struct, eq=False):
    """A pod without a node.

    order           when it was added, or failed last
    first_active    when it first became active; None if it never was
    gate            the refusal of the PreEnqueue plugin that gates it
    entry           number of its place among the active pods
    is_leaving      it was terminating when it was popped, and is not tried
    """

    info: PodInfo
    order: int
    first_active: int | None = None
    gate: Status | None = None
    is_active: bool = False
    is_leaving: bool = False
    entry: int = 0


class Entity(msgspec.Struct, frozen=True):
    """What leaves the queue: one pod, or those members of a group (``key``) that are not gated."""

    key: GroupKey | None
    pods: tuple[PodInfo, ...]


class RoundQueue:
    """The pods without a node that one driver knows, active, gated or failed."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._groups = driver.cluster.pod_groups
        self._has_groups = takes_groups(driver)
        self._pods: dict[str, PendingPod] = {}
        self._active: list[tuple[Any, int, PendingPod]] = []
        self._clock = 0

    # --- who is there

    def add(self, info: PodInfo) -> None:
        """Add a pod. Members of its group that waited for it become active after it."""
        pending = self._pods[info.uid] = PendingPod(info, self._tick())
        self._groups.add(info, pending=True)
        self._activate(pending)
        key = group_key(info)
        if key is not None:
            self._ungate(key, pending.gate)

    def hear_of_group(self, key: GroupKey) -> None:
        """A PodGroup was created: pods that waited for it may become active."""
        self._ungate(key)

    def remove(self, info: PodInfo) -> None:
        """Remove a deleted pod."""
        pending = self._pods.pop(info.uid, None)
        if pending is not None:
            pending.is_active = False
        self._groups.remove(info)

    def mark_bound(self, infos: Iterable[PodInfo]) -> None:
        """These pods have nodes now."""
        for info in infos:
            pending = self._pods.pop(info.uid, None)
            if pending is not None:
                pending.is_active = False
            self._groups.pending.pop(info.uid, None)

    def requeue_failed(self, infos: Iterable[PodInfo]) -> None:
        """Requeue these pods in this order until ``come_back``; a plugin may gate them again."""
        for info in infos:
            pending = self._pods[info.uid]
            pending.order = self._tick()
            pending.is_active = pending.is_leaving = False
            if self._has_groups and group_key(info) is not None:
                pending.gate = self._gate(info)

    def activate(self, uids: Set[str]) -> None:
        """Activate these pods at plugins' request, if they wait and nothing gates them."""
        for uid in sorted(uids & self._pods.keys(), key=lambda uid: self._pods[uid].order):
            pending = self._pods[uid]
            if not pending.is_active and not pending.is_leaving:
                self._activate(pending, ask=pending.gate is not None)

    def come_back(self) -> None:
        """Activate all failed pods that nothing gates."""
        for pending in sorted(self._pods.values(), key=lambda pod: pod.order):
            waits_for_group = self._has_groups and group_key(pending.info) is not None and pending.gate is None
            if not pending.is_active and not pending.is_leaving:
                # Members of groups back off, and are not asked again when that is over.
                self._activate(pending, ask=not waits_for_group)

    def find(self, key: str) -> PodInfo | None:
        """The pod of this ``namespace/name``."""
        return next((pending.info for pending in self._pods.values() if pending.info.key == key), None)

    @property
    def gated_pods(self) -> list[str]:
        """The gated pods, by name."""
        return sorted(pending.info.key for pending in self._pods.values() if pending.gate is not None)

    @property
    def all(self) -> list[str]:
        """All pods without a node, by name."""
        return sorted(pending.info.key for pending in self._pods.values())

    # --- who is next

    def pop(self) -> Entity | None:
        """The next pod to try, together with the other members of its group that are not gated."""
        first = self._head()
        if first is None:
            return None
        key = group_key(first.info) if self._has_groups else None
        first.is_active = False
        if key is None:
            first.is_leaving = is_leaving(first.info)
            return self.pop() if first.is_leaving else Entity(None, (first.info,))
        taken = [
            first,
            *(
                pending_pod
                for pending_pod in self._others(key, first)
                if pending_pod.gate is None and not pending_pod.is_leaving
            ),
        ]
        taken.sort(key=lambda pending_pod: (-pending_pod.info.priority, _never_if_none(pending_pod.first_active)))
        for pod in taken:
            pod.is_active = False
            pod.is_leaving = is_leaving(pod.info)
        return Entity(key, tuple(pending_pod.info for pending_pod in taken))

    def _head(self) -> PendingPod | None:
        """The first active pod by the queue's order; it may have been taken with its group since."""
        while self._active:
            _, number, pending = heapq.heappop(self._active)
            if pending.is_active and pending.entry == number:
                return pending
        return None

    def _others(self, key: GroupKey, first: PendingPod) -> list[PendingPod]:
        members = self._groups.members(key)
        pods = (self._pods.get(uid) for uid in members)
        return [pod for pod in pods if pod is not None and pod is not first]

    # --- gates

    def _ungate(self, key: GroupKey, gate: Status | None = None) -> None:
        """Ask again about members that wait; a plugin that gates the one that has just come gates the others, too."""
        unmoved = set() if gate is None else {gate.plugin}
        for uid in list(self._groups.members(key)):
            pending = self._pods.get(uid)
            before = pending.gate if pending is not None else None
            if pending is None or before is None or before.plugin in unmoved:
                continue
            self._activate(pending)
            if pending.gate == before:
                # What has not moved a plugin for one member does not for the others.
                unmoved.add(before.plugin)

    def _activate(self, pending: PendingPod, *, ask: bool = True) -> None:
        if ask:
            pending.gate = self._gate(pending.info)
        pending.is_active = pending.gate is None
        if not pending.is_active:
            return
        if pending.first_active is None:
            pending.first_active = self._tick()
        pending.entry = self._tick()
        key = self._driver.queue_key(pending.info, pending.order)
        heapq.heappush(self._active, (key, pending.entry, pending))

    def _gate(self, info: PodInfo) -> Status | None:
        return self._driver.scheduler_for(info).gate(info)

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def takes_groups(driver: Driver) -> bool:
    """Whether pods that name a group are scheduled together."""
    features = driver.setup.features
    return features.generic_workload and features.pod_group_cycles


def _never_if_none(moment: int | None) -> float:
    return float("inf") if moment is None else moment
