"""A run of the scheduler as a value: what was tried, in order, with the cluster before and after."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import structs

from kwhatif.api.core import Pod
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import EvictedPod, NodeCount, PendingPod
from kwhatif.results.place import (
    EventRecord,
    FailedCreate,
    Placement,
    Refusal,
    RolloutPlan,
    ScaleUp,
    TimelineEntry,
    failures_left,
)
from kwhatif.simulation.placement.verdict import words_of_placements
from kwhatif.simulation.session import PodToSchedule, Session, pending_pods

if TYPE_CHECKING:
    from kwhatif.simulation.expansion.expanded_manifests import Rollout


class Rest(NamedTuple):
    """A moment (seconds) at which the scheduler rests: the number of nodes, and of waiting pods."""

    time: float
    nodes: int
    waiting: int


class FirstMoment(NamedTuple):
    """What happens to a ``workload`` (``Kind/namespace/name``) before autoscalers of pods act, in ``words``.

    It is ``good`` if all pods find nodes without evictions.
    """

    words: str
    good: bool
    workload: str = ""


class Run(msgspec.Struct, frozen=True):
    """One run, from the cluster of a ``session`` until no pod would move, or as far as a question wants it.

    What was tried, in order:

    pods_to_schedule    the pods asked about, those of updates included
    placements          what became of them
    replacements        what became of pods that controllers made meanwhile
    groups, rollouts    what became of groups of pods, and of updates
    scale_up            what autoscalers added, if they were asked
    timeline, events    the story, where time was simulated; ``rests``: when the scheduler rested beside autoscalers

    The cluster afterwards:

    after               its session; None if it is that from before
    left                pods that exist and have no node, as their last attempts left them
    removed             pods (``namespace/name``) that had waited before and had to leave
    nodes_of_replacements  the node of each pod that had to leave one and runs again, by the name it had

    How things are at rest:

    pending             who waits; ``lost`` pods belonged to the question and are gone for good
    victims             who lost a node on the way
    unsettled           pods (``namespace/name``) that evict others in turns without end
    created             pods that controllers failed to create and created once a quota had room, by the failure
    removed_nodes       nodes that autoscalers removed again, which has ``saved`` so much a month
    first_moments       what happens before autoscalers bring replicas down again
    refusals, failed    objects that the API server refused, and pods that controllers failed to create before

    What its fidelity hangs on:

    others              unknown kinds of the input
    updates             the updates as they were planned
    evicted             pods that were evicted on purpose, besides the victims of ``placements``
    more                the pods come on top of those that their workloads have
    about               the pods that the question is about, where it is not about all: gaps about others are none
    by_group            members of groups were scheduled together
    autoscaled          autoscalers were asked for nodes
    """

    session: Session
    pods_to_schedule: Sequence[PodToSchedule] = ()
    placements: Sequence[Placement] = ()
    unknown_kinds: Sequence[str] = ()
    updates: Sequence[Rollout] = ()
    replacements: tuple[Placement, ...] = ()
    groups: tuple[GroupOutcome, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()
    scale_up: ScaleUp | None = None
    timeline: tuple[TimelineEntry, ...] = ()
    events: tuple[EventRecord, ...] = ()
    rests: tuple[Rest, ...] = ()
    after: Session | None = None
    left: Sequence[Pod] = ()
    removed: Collection[str] = ()
    nodes_of_replacements: Mapping[str, str] = {}
    pending: tuple[PendingPod, ...] = ()
    victims: tuple[EvictedPod, ...] = ()
    unsettled: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    created: Mapping[FailedCreate, int] = {}
    removed_nodes: tuple[NodeCount, ...] = ()
    saved: float | None = 0.0
    first_moments: tuple[FirstMoment, ...] = ()
    refusals: Sequence[Refusal] = ()
    failed: Sequence[FailedCreate] = ()
    evicted: Sequence[str] = ()
    more: bool = False
    about: Collection[str] | None = None
    by_group: bool = False
    autoscaled: bool = False

    @property
    def end(self) -> Session:
        """The session of the cluster afterwards."""
        return self.after or self.session

    @property
    def words(self) -> list[str]:
        """The words about the pods of the question: ``3 of 4 pods placed``, ``1 gated``."""
        staying = [placement for placement in self.placements if placement.pod not in self.removed]
        edited = {item.pod.key for item in self.pods_to_schedule if item.edited}
        waited = {item.pod.key for item in pending_pods(self.session.snapshot)} - edited
        return words_of_placements(staying, self.nodes_of_replacements, self.scale_up, waited)

    @property
    def stuck(self) -> int:
        """How many updates wait forever."""
        return sum(bool(rollout.unfinished) for rollout in self.rollouts)

    @property
    def not_created(self) -> tuple[FailedCreate, ...]:
        """What controllers failed to create, less what they have created since, and what they do not create yet."""
        turns: dict[str, list[str]] = {}
        for placement in (*self.placements, *self.replacements):
            if placement.outcome == "uncreated":
                turns.setdefault(f"StatefulSet {placement.pod.rpartition('-')[0]}", []).append(placement.pod)
        waiting = (
            FailedCreate(owner=owner, message=f"{pods[0]} is made once those before it are ready", pods=len(pods))
            for owner, pods in sorted(turns.items())
        )
        return (*failures_left(self.failed, self.created), *waiting)

    @property
    def good(self) -> bool:
        """Whether every pod exists and has a node."""
        waits = self.pending or self.unsettled or self.lost
        return not (waits or self.refusals or self.not_created) and all(
            first_moment.good for first_moment in self.first_moments
        )

    def following(self, first: Run | None) -> Run:
        """The same where another run came ``first``: who waits after both counts once."""
        if first is None:
            return self
        here = {pod.pod for pod in self.pending}
        return structs.replace(
            self,
            pending=(*(pod for pod in first.pending if pod.pod not in here), *self.pending),
            victims=(*first.victims, *self.victims),
            unsettled=(*first.unsettled, *self.unsettled),
            lost=(*first.lost, *self.lost),
        )
