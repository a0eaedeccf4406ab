"""``place`` over simulated time: backoffs, permits, grace periods, replacements of victims, new nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kwhatif.simulation.autoscalers.scaler import Scaler, apply_scale_up
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.cluster_simulation import ClusterSimulation
from kwhatif.simulation.placement.group_outcomes import gang_outcomes
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import PodToSchedule, Session


def simulate_timeline(
    session: Session,
    asked: Sequence[PodToSchedule],
    *,
    recreate: bool = True,
    others: Sequence[str] = (),
    scaler: Scaler | None = None,
    story: bool = True,
) -> Run:
    """Let all pods arrive at once and run until nothing more can change.

    With ``recreate`` the controllers of victims make replacements, which enter the queue, too. With autoscalers, nodes
    come for pods that find none. The ``story`` is part of the result.
    """
    origins = PodOrigins.of(session.snapshot)
    run, simulation = PlacementRun(session), ClusterSimulation(session, origins, scaler=scaler, recreate=recreate)
    arriving = [(item, info) for item in asked if (info := run.take_up(item)) is not None]
    for item, info in arriving if story else session.driver.in_order(arriving, lambda entry: entry[1]):
        simulation.arrive(item, info)
    simulation.run()
    asked = [*asked, *simulation.created_later]
    simulator = simulation.simulator
    placements = run.placements + simulation.placements()
    replacements = simulation.replacements()
    scale_up = None
    if scaler is not None:
        told, scale_up = apply_scale_up(scaler, session, [*placements, *replacements])
        placements, replacements = list(told[: len(placements)]), list(told[len(placements) :])
    tried = {attempt.pod.key for attempt in simulator.outcome.values()}
    aside = [item.pod for item in asked if item.pod.key not in tried]
    attempts = (attempt for uid, attempt in simulator.outcome.items() if uid not in simulator.evicted)
    left = [pending_pod_of(attempt) for attempt in attempts if attempt.is_made]
    unclaimed = {item.pod.key: item.pod for item in asked}
    found = simulation.run_of(placements[len(run.placements) :], replacements)
    return dataclasses.replace(
        found,
        pods_to_schedule=asked,
        placements=placements,
        others=others,
        timeline=tuple(simulator.diary.entries) if story else (),
        events=tuple(simulator.diary.events) if story else (),
        scale_up=scale_up,
        groups=gang_outcomes(session, asked, placements),
        left=(*left, *aside, *simulator.strangers),
        pending=(*origins.pending(run.placements, unclaimed, {}), *found.pending),
    )
