"""The same question as ``place``, over time: backoffs, permits, grace periods, and replacements of victims."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.place import Placement, PlaceResult
from kwhatif.scheduling.replacements import grace_of
from kwhatif.scheduling.simulator import Simulator
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.place.afterwards import End, waiting
from kwhatif.whatif.place.placing import Run, not_ours, placement_of, skipped
from kwhatif.whatif.place.totals import totals
from kwhatif.whatif.session import Asked, Session


def simulated(
    session: Session, asked: Sequence[Asked], *, recreate: bool = True, others: Sequence[str] = ()
) -> tuple[PlaceResult, End]:
    """Let all pods arrive at once and run until nothing more can change: the answer, and how it leaves the cluster.

    With ``recreate`` the controllers of victims make replacements, which enter the queue, too.
    """
    simulator = Simulator(session.driver, recreate=recreate)
    run = Run(session)
    arriving = [(item, info) for item in asked if (info := run.ours(item)) is not None]
    for _, info in arriving:
        simulator.arrive(info)
    for info, _ in session.cluster.pods():
        if info.shape.terminating:
            # When it was told to go is not known; it has its whole grace period at most.
            simulator.delete(info.uid, grace_of(info))
    simulator.run()
    known = {info.uid for _, info in arriving}
    placements = run.placements + [_outcome(session, simulator, item, info) for item, info in arriving]
    replacements = [
        _outcome(session, simulator, Asked(attempt.pod.pod, "replacement", again=True), attempt.pod)
        for uid, attempt in simulator.outcome.items()
        if uid not in known
    ]
    replacements += [
        skipped(session, item, not_ours(session, item))
        for item in (Asked(pod, "replacement", again=True) for pod in simulator.strangers)
    ]
    tried = {attempt.pod.key for attempt in simulator.outcome.values()}
    aside = [item.pod for item in asked if item.pod.key not in tried]
    left = [waiting(attempt) for uid, attempt in simulator.outcome.items() if uid not in simulator.evicted]
    return PlaceResult(
        nodes=len(session.cluster),
        totals=totals([*placements, *replacements], session.cluster),
        placements=tuple(placements),
        fidelity=assess(session, asked, placements, others),
        warnings=session.setup.configuration.warnings,
        replacements=tuple(replacements),
        timeline=tuple(simulator.diary.entries),
        events=tuple(simulator.diary.events),
    ), End(session, [*left, *aside, *simulator.strangers])


def _outcome(session: Session, simulator: Simulator, asked: Asked, info: PodInfo) -> Placement:
    attempt = simulator.outcome[info.uid]
    placement = placement_of(session, asked, [*simulator.preemptions.get(info.uid, []), attempt])
    by = simulator.evicted.get(info.uid)
    if by is None:
        return placement
    return replace(placement, outcome="preempted", node="", score=None, ties=0, tied=(), message=f"preempted by {by}")
