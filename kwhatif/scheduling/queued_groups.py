"""The members of pod groups in the scheduling queue: whoever is popped takes the others of its group along.

Upstream: podGroupInfoForPod in pkg/scheduler/schedule_one_podgroup.go, and PopSpecificPod in
pkg/scheduler/backend/queue/scheduling_queue.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kwhatif.cluster.pod_group_states import GroupKey, group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.pod_group_outcome import attempt_pod_group
from kwhatif.scheduling.pod_group_results import PodGroupCycle, is_leaving
from kwhatif.scheduling.queue import QueuedPod, SchedulingQueue
from kwhatif.scheduling.round_queue import takes_groups

FOR_GROUP = "room for its group"
"""Why victims leave for a member: its group's cycle decides about all members together."""


class QueuedGroups:
    """Members by group, of the pods that are ``queued`` (by uid)."""

    def __init__(self, driver: Driver, queue: SchedulingQueue, queued: Mapping[str, QueuedPod]) -> None:
        self._driver, self._queue, self._queued = driver, queue, queued
        self._cluster = driver.cluster
        self._takes_groups = takes_groups(driver)

    def group_of(self, pod: PodInfo) -> GroupKey | None:
        """The group that is scheduled as a whole, with this pod; None for a pod that is scheduled by itself."""
        return group_key(pod) if self._takes_groups else None

    def add(self, pod: QueuedPod) -> list[QueuedPod]:
        """A pod has come into the queue. Returns the members of its group that become active after it, since the group
        has its quorum now.
        """
        key = self.group_of(pod.info)
        if key is None or pod.gate is not None:
            return []
        gated = [member for member in self._members(key) if member.gate is not None]
        return [member for member in gated if self._queue.activate(member) and member.gate is None]

    def take_members(self, first: QueuedPod) -> list[QueuedPod]:
        """Take the other members out of the queue, too, but for gated ones. Returns all, in the order in which they are
        tried; those that are being deleted are not.
        """
        key = self.group_of(first.info)
        assert key is not None
        others = [member for member in self._members(key) if member is not first and member.place]
        taken = [first, *(member for member in others if self._queue.take(member))]
        tried = [member for member in taken if not is_leaving(member.info)]
        return sorted(tried, key=lambda member: (-member.info.priority, member.first_active))

    def attempt(
        self, key: GroupKey, members: Sequence[PodInfo], evict: Callable[[PodInfo, PodInfo, str], None]
    ) -> tuple[PodGroupCycle, list[Attempt]]:
        """One cycle of a group; ``evict`` tells a victim to leave its node for a member. Returns the cycle, and the
        preemptions: a member with the victims that leave a node for it.
        """
        left: dict[tuple[PodInfo, str], list[PodInfo]] = {}

        def leave(victim: PodInfo, preemptor: PodInfo) -> None:
            entry = self._cluster.find(victim.uid)
            assert entry is not None
            node = self._cluster.columns.names[entry[1]]
            left.setdefault((preemptor, node), []).append(victim)
            evict(victim, preemptor, node)

        cycle = attempt_pod_group(self._driver, key, members, leave)
        preemptions = [
            Attempt(member, nominated=node, victims=tuple(victims), criterion=FOR_GROUP)
            for (member, node), victims in left.items()
        ]
        return cycle, preemptions

    def _members(self, key: GroupKey) -> list[QueuedPod]:
        return [self._queued[uid] for uid in self._cluster.pod_groups.members(key) if uid in self._queued]
