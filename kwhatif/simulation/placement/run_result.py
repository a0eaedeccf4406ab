"""A finished run as a value: its outcome, how it leaves the cluster, and the words about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from kwhatif.results.base import Fidelity
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import EventRecord, Placement, PlaceResult, RolloutPlan, ScaleUp, TimelineEntry
from kwhatif.simulation.fidelity.assess import RunRecord
from kwhatif.simulation.placement.afterwards import FinalState, totals
from kwhatif.simulation.placement.conclusion import NOTHING_ASKED, NOTHING_MISSING, NeverMade, conclude, words_of
from kwhatif.simulation.placement.nodes_over_time import Rest
from kwhatif.simulation.placement.run_outcome import RunOutcome


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A finished run: its outcome, how it leaves the cluster, and the words about it.

    ``told`` are the words about the pods of the question; ``rests`` are the moments at which the scheduler rested
    beside autoscalers. Pods that are ``at_home`` had to leave a node, and run again.
    """

    basis: RunRecord
    end: FinalState
    run_outcome: RunOutcome
    told: tuple[str, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()
    replacements: tuple[Placement, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    events: tuple[EventRecord, ...] = ()
    scale_up: ScaleUp | None = None
    rests: tuple[Rest, ...] = ()
    at_home: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[GroupOutcome, ...] = ()

    @property
    def placements(self) -> Sequence[Placement]:
        return self.basis.placements

    def outcome(self, fidelity: Fidelity, never_made: NeverMade, before: str = "") -> Outcome:
        """The outcome, with pods that were never created; the verdict may have words ``before`` it."""
        stuck = sum(bool(each.unfinished) for each in self.rollouts)
        words = words_of(self.run_outcome, never_made, self.told, stuck)
        verdict = "; ".join(filter(None, (before, words if words != NOTHING_ASKED or not before else "")))
        return conclude(self.run_outcome, never_made, fidelity, verdict, bad=bool(stuck))

    def conclude(self, fidelity: Fidelity, never_made: NeverMade, verdict: str, *, good: bool) -> Outcome:
        """The outcome, where rules say whether it is good."""
        found = conclude(self.run_outcome, never_made, fidelity, verdict)
        return replace(found, good=good)

    def result(self, fidelity: Fidelity, never_made: NeverMade = NOTHING_MISSING) -> PlaceResult:
        session = self.basis.session
        return PlaceResult(
            outcome=self.outcome(fidelity, never_made),
            nodes=len(session.cluster),
            totals=totals(self.placements, self.end.session.cluster),
            placements=tuple(self.placements),
            fidelity=fidelity,
            warnings=session.setup.configuration.warnings,
            replacements=self.replacements,
            timeline=self.timeline,
            events=self.events,
            rollouts=self.rollouts,
            scale_up=self.scale_up,
            groups=self.groups or msgspec.UNSET,
        )
