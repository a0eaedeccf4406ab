"""Where would these pods go? One scheduling cycle a pod, victims leaving at once, and nodes coming if they may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.results.added_nodes import ScaleUp
from kwhatif.results.parts import Fidelity
from kwhatif.results.place import EventRecord, Placement, PlaceResult, RolloutPlan, TimelineEntry
from kwhatif.whatif.autoscale.scaled_placements import scaled
from kwhatif.whatif.autoscale.scaler import Scaler
from kwhatif.whatif.expand.expand import Rollout
from kwhatif.whatif.fidelity.assess import Basis
from kwhatif.whatif.place.afterwards import End, waiting
from kwhatif.whatif.place.consequences import with_consequences
from kwhatif.whatif.place.placing import Run
from kwhatif.whatif.place.rolling import roll_out
from kwhatif.whatif.place.totals import totals
from kwhatif.whatif.session import Asked, Session


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A run that has ended: what it is to be judged by, how it leaves the cluster, and what there is to tell."""

    basis: Basis
    end: End
    rollouts: tuple[RolloutPlan, ...] = ()
    replacements: tuple[Placement, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    events: tuple[EventRecord, ...] = ()
    scale_up: ScaleUp | None = None

    @property
    def placements(self) -> Sequence[Placement]:
        return self.basis.placements

    def result(self, fidelity: Fidelity) -> PlaceResult:
        session = self.basis.session
        return PlaceResult(
            nodes=len(session.cluster),
            totals=totals([*self.placements, *self.replacements], self.end.session.cluster),
            placements=tuple(self.placements),
            fidelity=fidelity,
            warnings=session.setup.configuration.warnings,
            replacements=self.replacements,
            timeline=self.timeline,
            events=self.events,
            rollouts=self.rollouts,
            scale_up=self.scale_up,
        )


def placed(
    session: Session,
    asked: Sequence[Asked],
    *,
    rollouts: Sequence[Rollout] = (),
    others: Sequence[str] = (),
    scaler: Scaler | None = None,
) -> Placed:
    """Schedule the pods in the scheduler's order: by priority, then as given; then roll out updates, one by one.

    ``others`` names objects of the input that no pods were made of, for the fidelity report. With autoscalers, nodes
    come for pods that find none.
    """
    run = Run(session, scaler)
    run.all_of(asked)
    asked = list(asked)
    plans = tuple(roll_out(rollout, run, asked) for rollout in rollouts)
    after = with_consequences(session, run.placements, run.evicted, scaler)
    placements, scale_up = after.placements, None
    if scaler is not None:
        placements, scale_up = scaled(scaler, session, placements)
    gone = run.removed | {victim.key for victim in run.evicted}
    pods = {item.pod.key: item.pod for item in asked if item.pod.key not in gone}
    left = [waiting(run.taken[key]) if key in run.taken else pod for key, pod in pods.items()]
    return Placed(
        basis=Basis(session, asked, placements, others, rollouts),
        end=End(after.session, [*left, *map(waiting, after.homeless)], run.removed),
        rollouts=plans,
        scale_up=scale_up,
    )
