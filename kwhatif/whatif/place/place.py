"""Where would these pods go? One scheduling cycle a pod, victims leaving at once."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.results.place import PlaceResult
from kwhatif.whatif.expand.expand import Rollout
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.place.consequences import with_consequences
from kwhatif.whatif.place.placing import Run
from kwhatif.whatif.place.rolling import roll_out
from kwhatif.whatif.session import Asked, Session


def place(
    session: Session, asked: Sequence[Asked], *, rollouts: Sequence[Rollout] = (), others: Sequence[str] = ()
) -> PlaceResult:
    """Schedule the pods in the scheduler's order: by priority, then as given; then roll out updates, one by one.

    ``others`` names objects of the input that no pods were made of, for the fidelity report.
    """
    run = Run(session)
    run.all_of(asked)
    asked = list(asked)
    plans = tuple(roll_out(rollout, run, asked) for rollout in rollouts)
    placements = with_consequences(session, run.placements, run.evicted)
    return PlaceResult(
        nodes=len(session.cluster),
        placements=placements,
        fidelity=assess(session, asked, placements, others, rollouts),
        warnings=session.setup.configuration.warnings,
        rollouts=plans,
    )
