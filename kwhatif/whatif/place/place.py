"""Where would these pods go? One scheduling cycle a pod, victims leaving at once, and nodes coming if they may."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.results.place import PlaceResult
from kwhatif.whatif.autoscale.scaled_placements import scaled
from kwhatif.whatif.autoscale.scaler import Scaler
from kwhatif.whatif.expand.expand import Rollout
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.place.afterwards import End, waiting
from kwhatif.whatif.place.consequences import with_consequences
from kwhatif.whatif.place.placing import Run
from kwhatif.whatif.place.rolling import roll_out
from kwhatif.whatif.place.totals import totals
from kwhatif.whatif.session import Asked, Session


def place(
    session: Session, asked: Sequence[Asked], *, rollouts: Sequence[Rollout] = (), others: Sequence[str] = ()
) -> PlaceResult:
    """Schedule the pods in the scheduler's order: by priority, then as given; then roll out updates, one by one.

    ``others`` names objects of the input that no pods were made of, for the fidelity report.
    """
    return placed(session, asked, rollouts=rollouts, others=others)[0]


def placed(
    session: Session,
    asked: Sequence[Asked],
    *,
    rollouts: Sequence[Rollout] = (),
    others: Sequence[str] = (),
    scaler: Scaler | None = None,
) -> tuple[PlaceResult, End]:
    """The same, and how it leaves the cluster. With autoscalers, nodes come for pods that find none."""
    run = Run(session, scaler)
    run.all_of(asked)
    asked = list(asked)
    plans = tuple(roll_out(rollout, run, asked) for rollout in rollouts)
    after = with_consequences(session, run.placements, run.evicted, scaler)
    placements, scale_up = after.placements, None
    if scaler is not None:
        placements, scale_up = scaled(scaler, session, placements)
    result = PlaceResult(
        nodes=len(session.cluster),
        totals=totals(placements, after.session.cluster),
        placements=placements,
        fidelity=assess(session, asked, placements, others, rollouts),
        warnings=session.setup.configuration.warnings,
        rollouts=plans,
        scale_up=scale_up,
    )
    gone = run.removed | {victim.key for victim in run.evicted}
    pods = {item.pod.key: item.pod for item in asked if item.pod.key not in gone}
    left = [waiting(run.taken[key]) if key in run.taken else pod for key, pod in pods.items()]
    return result, End(after.session, [*left, *map(waiting, after.homeless)], run.removed)
