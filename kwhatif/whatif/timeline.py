"""The same question as ``place``, over time: backoffs, permits, grace periods, and replacements of victims."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.cluster.shapes import PodInfo
from kwhatif.results import EventRecord, Placement, PlaceResult, TimelineEntry
from kwhatif.scheduling.budgets import Budgets
from kwhatif.scheduling.explain import victims_of
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.scheduling.simulator import Simulator
from kwhatif.whatif.fidelity import assess
from kwhatif.whatif.place import not_ours, placement_of, skipped
from kwhatif.whatif.session import Asked, Session

__all__ = ["simulate"]


def simulate(
    session: Session, asked: Sequence[Asked], *, recreate: bool = True, others: Sequence[str] = ()
) -> PlaceResult:
    """Let all pods arrive at once and run until nothing more can change.

    With ``recreate`` the controllers of victims make replacements, which enter the queue, too.
    """
    configuration, features = session.setup.configuration, session.setup.features
    schedulers: dict[str, Scheduler] = {}
    placements: list[Placement] = []
    arriving: list[tuple[Asked, PodInfo, str]] = []
    for item in asked:
        name = item.pod.spec.scheduler_name or "default-scheduler"
        scheduler = session.scheduler(name)
        reason = not_ours(session, item, scheduler)
        if reason or scheduler is None:
            placements.append(skipped(item, reason))
            continue
        schedulers[name] = scheduler
        arriving.append((item, session.info(item), name))
    simulator = Simulator(
        session.cluster,
        schedulers,
        recreate=recreate,
        initial_backoff=configuration.pod_initial_backoff_seconds,
        max_backoff=configuration.pod_max_backoff_seconds,
        pop_from_backoff=features.scheduler_pop_from_backoff_q,
    )
    for _, info, name in arriving:
        simulator.arrive(info, name)
    simulator.run()
    known = {info.uid for _, info, _ in arriving}
    placements += [_outcome(session, simulator, item, info) for item, info, _ in arriving]
    replacements = [
        _outcome(session, simulator, Asked(attempt.pod.pod, "replacement"), attempt.pod)
        for uid, attempt in simulator.outcome.items()
        if uid not in known
    ]
    return PlaceResult(
        nodes=len(session.cluster),
        placements=tuple(placements),
        fidelity=assess(session, asked, placements, others),
        warnings=configuration.warnings,
        replacements=tuple(replacements),
        timeline=tuple(
            TimelineEntry(time=e.time, pod=e.pod, what=e.what, why=e.why, node=e.node) for e in simulator.timeline
        ),
        events=tuple(
            EventRecord(time=e.time, pod=e.pod, type=e.type, reason=e.reason, message=e.message)
            for e in simulator.events
        ),
    )


def _outcome(session: Session, simulator: Simulator, asked: Asked, info: PodInfo) -> Placement:
    attempt = simulator.outcome[info.uid]
    earlier = simulator.preemptions.get(info.uid, [])
    budgets = Budgets(session.cluster)
    victims = tuple(victim for past in earlier for victim in victims_of(past, budgets))
    return placement_of(session, asked, attempt, victims, earlier[-1].criterion if earlier else "")
