"""A run of the scheduler as a value: what was tried, in order, with the cluster before and after."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.results.base import Fidelity
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import EventRecord, Placement, PlaceResult, RolloutPlan, ScaleUp, TimelineEntry
from kwhatif.simulation.placement.conclusion import NOTHING_ASKED, NOTHING_MISSING, NeverMade, conclude, words_of
from kwhatif.simulation.placement.run_outcome import RunOutcome
from kwhatif.simulation.placement.totals import totals
from kwhatif.simulation.placement.verdict import words_of_placements
from kwhatif.simulation.session import PodToSchedule, Session

if TYPE_CHECKING:
    from kwhatif.simulation.expansion.expanded_manifests import Rollout


class Rest(NamedTuple):
    """A moment (seconds) at which the scheduler rests: the number of nodes, and of waiting pods."""

    time: float
    nodes: int
    waiting: int


@dataclass(frozen=True)
class Run:
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
    at_home             the node of each pod that had to leave one and runs again, by the name it had
    run_outcome         who waits, and who lost a node on the way

    What its fidelity hangs on:
    others              unknown kinds of the input
    updates             the updates as they were planned
    evicted             pods that were evicted on purpose, besides the victims of ``placements``
    more                the pods come on top of those that their workloads have
    about               the pods that the question is about, where it is not about all: gaps that touch others are none
    by_group            members of groups were scheduled together
    autoscaled          autoscalers were asked for nodes
    """

    session: Session
    pods_to_schedule: Sequence[PodToSchedule] = ()
    placements: Sequence[Placement] = ()
    others: Sequence[str] = ()
    updates: Sequence[Rollout] = ()
    _: KW_ONLY
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
    at_home: Mapping[str, str] = field(default_factory=dict)
    run_outcome: RunOutcome = field(default_factory=RunOutcome)
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
        staying = [each for each in self.placements if each.pod not in self.removed]
        return words_of_placements(staying, self.at_home, self.scale_up)

    @property
    def stuck(self) -> int:
        """How many updates wait for ever."""
        return sum(bool(each.unfinished) for each in self.rollouts)

    def outcome(self, fidelity: Fidelity, never_made: NeverMade, before: str = "") -> Outcome:
        """The outcome, with pods that were never created; the verdict may have words ``before`` it."""
        words = words_of(self.run_outcome, never_made, self.words, self.stuck)
        verdict = "; ".join(filter(None, (before, words if words != NOTHING_ASKED or not before else "")))
        return conclude(self.run_outcome, never_made, fidelity, verdict, bad=bool(self.stuck))

    def conclude(self, fidelity: Fidelity, never_made: NeverMade, verdict: str, *, good: bool) -> Outcome:
        """The outcome, where rules say whether it is good."""
        found = conclude(self.run_outcome, never_made, fidelity, verdict)
        return replace(found, good=good)

    def result(self, fidelity: Fidelity, never_made: NeverMade = NOTHING_MISSING) -> PlaceResult:
        return PlaceResult(
            outcome=self.outcome(fidelity, never_made),
            nodes=len(self.session.cluster),
            totals=totals(self.placements, self.end.cluster),
            placements=tuple(self.placements),
            fidelity=fidelity,
            warnings=self.session.setup.configuration.warnings,
            replacements=self.replacements,
            timeline=self.timeline,
            events=self.events,
            rollouts=self.rollouts,
            scale_up=self.scale_up,
            groups=self.groups or msgspec.UNSET,
        )
