"""Where would these pods go? One scheduling cycle a pod, victims leaving at once."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.results.place import PlaceResult
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
    session: Session, asked: Sequence[Asked], *, rollouts: Sequence[Rollout] = (), others: Sequence[str] = ()
) -> tuple[PlaceResult, End]:
    """The same, and how it leaves the cluster."""
    run = Run(session)
    run.all_of(asked)
    asked = list(asked)
    plans = tuple(roll_out(rollout, run, asked) for rollout in rollouts)
    after = with_consequences(session, run.placements, run.evicted)
    result = PlaceResult(
        nodes=len(session.cluster),
        totals=totals(after.placements, after.session.cluster),
        placements=after.placements,
        fidelity=assess(session, asked, after.placements, others, rollouts),
        warnings=session.setup.configuration.warnings,
        rollouts=plans,
    )
    gone = run.removed | {victim.key for victim in run.evicted}
    pods = {item.pod.key: item.pod for item in asked if item.pod.key not in gone}
    left = [waiting(run.taken[key]) if key in run.taken else pod for key, pod in pods.items()]
    return result, End(after.session, [*left, *map(waiting, after.homeless)], run.removed)
