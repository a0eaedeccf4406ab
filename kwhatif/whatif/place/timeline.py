"""The same question as ``place``, over time: backoffs, permits, grace periods, replacements of victims, new nodes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.place import Placement
from kwhatif.scheduling.replacements import grace_of
from kwhatif.scheduling.simulator import Simulator
from kwhatif.whatif.autoscale.scaled_placements import scaled
from kwhatif.whatif.autoscale.scaler import Scaler
from kwhatif.whatif.fidelity.assess import Basis
from kwhatif.whatif.place.afterwards import End, waiting
from kwhatif.whatif.place.nodes_over_time import NodesOverTime
from kwhatif.whatif.place.place import Placed
from kwhatif.whatif.place.placing import Run, not_ours, skipped
from kwhatif.whatif.session import Asked, Session


def simulated(
    session: Session,
    asked: Sequence[Asked],
    *,
    recreate: bool = True,
    others: Sequence[str] = (),
    scaler: Scaler | None = None,
) -> Placed:
    """Let all pods arrive at once and run until nothing more can change.

    With ``recreate`` the controllers of victims make replacements, which enter the queue, too. With autoscalers, nodes
    come for pods that find none.
    """
    simulator = Simulator(session.driver, recreate=recreate)
    growth = NodesOverTime(session, simulator, scaler)
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
    placements = run.placements + [_outcome(simulator, growth, item, info) for item, info in arriving]
    replacements = [
        _outcome(simulator, growth, Asked(attempt.pod.pod, "replacement", again=True), attempt.pod)
        for uid, attempt in simulator.outcome.items()
        if uid not in known
    ]
    replacements += [
        skipped(session, item, not_ours(session, item))
        for item in (Asked(pod, "replacement", again=True) for pod in simulator.strangers)
    ]
    scale_up = None
    if scaler is not None:
        told, scale_up = scaled(scaler, session, [*placements, *replacements])
        placements, replacements = list(told[: len(placements)]), list(told[len(placements) :])
    tried = {attempt.pod.key for attempt in simulator.outcome.values()}
    aside = [item.pod for item in asked if item.pod.key not in tried]
    left = [waiting(attempt) for uid, attempt in simulator.outcome.items() if uid not in simulator.evicted]
    return Placed(
        basis=Basis(session, asked, placements, others),
        end=End(session, [*left, *aside, *simulator.strangers]),
        replacements=tuple(replacements),
        timeline=tuple(simulator.diary.entries),
        events=tuple(simulator.diary.events),
        scale_up=scale_up,
    )


def _outcome(simulator: Simulator, growth: NodesOverTime, asked: Asked, info: PodInfo) -> Placement:
    placement = growth.placement(asked, info)
    by = simulator.evicted.get(info.uid)
    if by is None:
        return placement
    return replace(placement, outcome="preempted", node="", score=None, ties=0, tied=(), message=f"preempted by {by}")
