"""The outcome of a group's cycle: members, placements, and the condition.

Upstream: algorithmResult and podGroupAlgorithmResult in pkg/scheduler/schedule_one_podgroup.go.
"""

from __future__ import annotations

import msgspec

from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.placement import Placement
from kwhatif.framework.status import Code, Status
from kwhatif.scheduling.attempt import Attempt, rejectors_of
from kwhatif.scheduling.pod_group_preemption import PodGroupPreemption

UNSCHEDULABLE = "pod group is unschedulable"
REJECTED, ERROR = "Unschedulable", "SchedulerError"
"""Why a member failed: the reason of its condition."""


def is_leaving(pod: PodInfo) -> bool:
    """Whether a pod is being deleted."""
    return bool(pod.pod.metadata.deletion_timestamp)


class MemberResult(msgspec.Struct):
    """One member in one placement.

    row             where it counts in this cycle: the node chosen, or the one that victims are to leave for it
    permit          ``Success`` or ``Wait``, once it was assumed; ``permit_message`` is why it waits
    failure         why it has no node; None if it has one, or victims leave one for it (``requires_preemption``)
    """

    attempt: Attempt
    row: int | None = None
    permit: str = ""
    permit_message: str = ""
    failure: Status | None = None
    requires_preemption: bool = False

    @property
    def pod(self) -> PodInfo:
        return self.attempt.pod

    @property
    def found_node(self) -> bool:
        """Whether a node was found for it as things were, whatever happened when it was bound."""
        return self.row is not None and not self.requires_preemption


class PlacementAttempt(msgspec.Struct):
    """A group tried in one placement, member after member; ``status`` None means success."""

    placement: Placement
    members: list[MemberResult]
    status: Status | None
    waiting_on_preemption: bool = False

    @property
    def works(self) -> bool:
        return self.status is None or self.waiting_on_preemption

    @property
    def placed_pods(self) -> tuple[PodInfo, ...]:
        """The members that would get a node, or get one made free."""
        return tuple(member.pod for member in self.members if member.row is not None)


class MemberFailure(msgspec.Struct, frozen=True):
    """Why a member goes back to the queue.

    reason      ``Unschedulable`` or ``SchedulerError``
    nominated   the node that is kept for it, if one is
    """

    pod: PodInfo
    reason: str
    message: str
    nominated: str = ""


class GroupCondition(msgspec.Struct, frozen=True):
    """The PodGroupScheduled condition."""

    status: str
    reason: str
    message: str


class PodGroupCycle(msgspec.Struct):
    """One cycle of a group.

    members     the pods taken together, in the order in which they are tried; those being deleted are not tried
    tried       the placements tried, in order; ``chosen`` is the one whose outcome counts
    scores      domain -> plugin -> score times weight, where more than one domain worked
    status      the verdict on the group: None for success
    ended       False where the group did not get as far as a verdict (members of several schedulers)
    preemption  what making room for the whole group came to, if it was considered
    bound       pod (``namespace/name``) -> node, of the members bound in this cycle
    held        members that wait for their permits
    condition   the condition that this cycle wrote, if it wrote one
    evicted     pods deleted as victims, wherever in the cycle
    activated   uids of pods that plugins want to be tried at once, if they wait in the queue
    settled     attempts of other pods that were held, and are bound or rejected since
    """

    key: GroupKey
    members: list[PodInfo]
    tried: list[PlacementAttempt] = []
    chosen: PlacementAttempt | None = None
    scores: dict[str, dict[str, int]] = {}
    status: Status | None = None
    waiting_on_preemption: bool = False
    ended: bool = True
    preemption: PodGroupPreemption | None = None
    failed: dict[str, MemberFailure] = {}
    bound: dict[str, str] = {}
    held: list[Attempt] = []
    condition: GroupCondition | None = None
    evicted: list[PodInfo] = []
    activated: set[str] = set()
    settled: list[Attempt] = []

    @property
    def name(self) -> str:
        return "/".join(self.key)

    @property
    def results(self) -> list[MemberResult]:
        """The members' results in the chosen placement; fewer than members where an error ended it."""
        return self.chosen.members if self.chosen is not None else []

    def rejectors(self) -> dict[str, frozenset[str]]:
        """By uid, the plugins that rejected a member that failed; none where it failed only with its group, or by an
        error, so that no event has to bring it back (upstream: handleSchedulingFailure in schedule_one.go).
        """
        results = {result.pod.uid: result for result in self.results}
        return {
            uid: rejectors_of(results[uid].attempt)
            if failure.reason == REJECTED and uid in results and self._failed_by_itself(results[uid])
            else frozenset()
            for failure in self.failed.values()
            if (uid := failure.pod.uid)
        }

    def _failed_by_itself(self, result: MemberResult) -> bool:
        return result.row is None or (result.requires_preemption and self.waiting_on_preemption)

    @property
    def is_error(self) -> bool:
        return self.status is not None and self.status.code is Code.ERROR
