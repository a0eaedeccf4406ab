"""The run of a question: one scheduling cycle for each pod, updates step by step, and whatever follows until no pod
would move; or all of it over simulated time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from kwhatif.cluster.shapes import PodInfo
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.simulation.autoscalers.scaler import Scaler, apply_scale_up
from kwhatif.simulation.expansion.expanded_manifests import Rollout
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.cluster_simulation import ClusterSimulation
from kwhatif.simulation.placement.group_outcomes import gang_outcomes
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.rollout_progress import RolloutProgress, plans_of, roll_out_all
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.run_to_rest import settle_cluster
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.workloads.job_failures import JobBackoffs, job_of


def simulate_timeline(
    session: Session,
    pods_to_schedule: Sequence[PodToSchedule],
    *,
    rollouts: Sequence[Rollout] = (),
    recreate: bool = True,
    unknown_kinds: Sequence[str] = (),
    scaler: Scaler | None = None,
    story: bool = True,
    emptied: Sequence[PodInfo] = (),
    origins: PodOrigins | None = None,
) -> Run:
    """Let all pods arrive at once and run until nothing more can change.

    With ``recreate`` the controllers of victims make replacements, which enter the queue, too. With autoscalers, nodes
    come for pods that find none. Updates begin at once, too, and take each step when the scheduler rests. The ``story``
    is part of the result. If the pods look for a node since those that they replace lost theirs, these are ``emptied``.
    Where many runs go out from one snapshot, its ``origins`` is made once.
    """
    origins = origins or PodOrigins(session.snapshot)
    run, simulation = PlacementRun(session), ClusterSimulation(session, origins, scaler=scaler, recreate=recreate)
    # 1. Everything arrives at time zero: pods of the files, and the first step of each update.
    arriving = [(item, info) for item in pods_to_schedule if (info := run.take_up(item)) is not None]
    pods = list(pods_to_schedule)
    updates = [RolloutProgress(rollout, run, pods) for rollout in rollouts]
    backoffs = JobBackoffs()
    for item, info in arriving if story else session.driver.in_order(arriving, lambda entry: entry[1]):
        after = backoffs.count_loss(info.pod) if emptied or item.ran_before else 0.0
        simulation.arrive(item, info, "evicted" if emptied else None, after)
    # 2. The queue is worked off. Whenever it rests, updates take a step with the pods that became ready, until none has
    # a step left.
    simulation.run(lambda: sum(update.advance_in(simulation) for update in updates) > 0)
    pods_to_schedule = [*pods, *simulation.created_later]
    simulator = simulation.simulator
    placements = run.placements + [
        placement for placement in simulation.placements() if placement.pod not in run.removed
    ]
    replacements = simulation.replacements()
    # 3. Nodes came during the run; why the remaining pods got none is worked out once, at its end.
    scale_up = None
    if scaler is not None:
        explained, scale_up = apply_scale_up(scaler, session, [*placements, *replacements])
        placements, replacements = list(explained[: len(placements)]), list(explained[len(placements) :])
    first_run = {attempt.pod.key for attempt in simulator.outcome.values()}
    # Pods that were never tried, as something before the scheduler holds them: they are left over without a verdict.
    aside = [item.pod for item in pods_to_schedule if item.pod.key not in first_run]
    unclaimed = {item.pod.key: item.pod for item in pods_to_schedule}
    final = simulation.run_of(placements[len(run.placements) :], replacements)
    return structs.replace(
        final,
        pods_to_schedule=pods_to_schedule,
        placements=placements,
        unknown_kinds=unknown_kinds,
        timeline=tuple(simulator.diary.entries) if story else (),
        events=tuple(simulator.diary.events) if story else (),
        scale_up=scale_up,
        groups=(*simulation.groups(), *gang_outcomes(session, pods_to_schedule, placements)),
        by_group=takes_groups(session.driver),
        autoscaled=scaler is not None,
        rollouts=plans_of(updates),
        updates=[rollout for rollout in rollouts if not rollout.resumed],
        removed=run.removed,
        left=(*simulation.pods_left(), *aside, *simulator.unclaimed),
        pending=(*origins.pending(run.placements, unclaimed, {}), *final.pending),
        victims=(*origins.victims((info, None) for info in emptied), *final.victims),
    )


class StartingPoint:
    """A session as it is now. ``return_to`` restores it, with a scheduler process that has done nothing yet.

    Where everything can be undone, that costs what was done; else a copy of the cluster is kept.
    """

    def __init__(self, session: Session, pods_to_schedule: Sequence[PodToSchedule]) -> None:
        self._session = session
        for name in dict.fromkeys(item.pod.spec.scheduler_name for item in pods_to_schedule):
            session.driver.scheduler(name)
        undoable = session.driver.undoable
        self._checkpoint = session.cluster.checkpoint() if undoable else None
        self._copy = None if undoable else session.cluster.fork()

    def return_to(self) -> None:
        """Undo all that was done since."""
        session = self._session
        if self._checkpoint is not None:
            session.cluster.go_back(self._checkpoint)
        elif self._copy is not None:
            session.replace_cluster(self._copy)
        session.driver.restart(undone=self._checkpoint is not None)


def place_pods(
    session: Session,
    pods_to_schedule: Sequence[PodToSchedule],
    *,
    replayed: Sequence[PodToSchedule] = (),
    rollouts: Sequence[Rollout] = (),
    unknown_kinds: Sequence[str] = (),
    scaler: Scaler | None = None,
    prepare: Callable[[], None] = lambda: None,
    replaced: Sequence[tuple[PodInfo, PodInfo]] = (),
    origins: PodOrigins | None = None,
) -> Run:
    """Schedule the pods in the scheduler's order, by priority, then as given, and go on until no pod would move.

    Where nothing is updated, the first attempts evict no pod and no pod would move after them, they are the whole run.
    Otherwise it is simulated from the beginning, after ``prepare``: controllers act while pods leave and wait. Pods
    that are ``replayed`` come first, as given. ``unknown_kinds`` are those of the input, for the fidelity report. With
    autoscalers, nodes come for pods that find none. ``replaced`` are pods that lost their nodes, each with the one that
    was made of it, in the order of ``pods_to_schedule``. Where many runs go out from one snapshot, its ``origins`` is
    made once.
    """
    emptied = [old for old, _ in replaced]
    in_turn = partial(
        place_in_turn,
        session,
        pods_to_schedule,
        rollouts=rollouts,
        unknown_kinds=unknown_kinds,
        emptied=emptied,
        origins=origins,
    )
    over_time = partial(
        simulate_timeline,
        session,
        pods_to_schedule,
        rollouts=rollouts,
        unknown_kinds=unknown_kinds,
        scaler=scaler,
        story=False,
        emptied=emptied,
        origins=origins,
    )
    prepare()
    if replayed or session.setup.extenders is not None:
        # Replayed pods have their own order, and extenders are not called twice for the same run.
        return in_turn(replayed=replayed, scaler=scaler)
    if any(not rollout.resumed for rollout in rollouts):
        return over_time()
    begin = StartingPoint(session, pods_to_schedule)
    run = PlacementRun(session, spares_futile=bool(replaced), until_eviction=True)
    if replaced:
        run.schedule_taken_up([(item, info) for item, (_, info) in zip(pods_to_schedule, replaced, strict=True)])
    else:
        run.schedule_all(pods_to_schedule)
    goes_on = bool(rollouts) and any(placement.good for placement in run.placements)
    # Pods that jobs have lost come later than others: who waits may have come first.
    waits = scaler is not None or any(job_of(item.pod) for item in pods_to_schedule if replaced or item.ran_before)
    if not (run.evicted or run.would_move() or goes_on or (waits and run.without_node)):
        return in_turn(scaler=scaler, first_run=run, at_rest=True)
    begin.return_to()
    prepare()
    return over_time()


def place_in_turn(
    session: Session,
    pods_to_schedule: Sequence[PodToSchedule],
    *,
    replayed: Sequence[PodToSchedule] = (),
    rollouts: Sequence[Rollout] = (),
    unknown_kinds: Sequence[str] = (),
    scaler: Scaler | None = None,
    first_run: PlacementRun | None = None,
    emptied: Sequence[PodInfo] = (),
    origins: PodOrigins | None = None,
    at_rest: bool = False,
) -> Run:
    """Pods that are ``replayed`` first, as given; then ``pods_to_schedule`` in the scheduler's order; then updates,
    with what follows from all of that. A ``first_run`` has been through the pods; no pod would move after it where all
    is ``at_rest``.
    """
    pods = [*replayed, *pods_to_schedule]
    if first_run is None:
        first_run = PlacementRun(session, scaler)
        first_run.replay(replayed)
        first_run.schedule_all(pods_to_schedule)
    if session.setup.extenders is not None:
        updates = roll_out_all(rollouts, first_run, pods)
    else:
        updates = [RolloutProgress(rollout, first_run, pods) for rollout in rollouts]
    return settle_cluster(
        session,
        first_run,
        pods,
        scaler,
        emptied=emptied,
        updates=updates,
        unknown_kinds=unknown_kinds,
        origins=origins,
        at_rest=at_rest,
    )


def place_scenario(scenario: PreparedScenario, scaler: Scaler | None = None) -> tuple[PreparedScenario, Run | None]:
    """Place the pods of a scenario, if there are any, and leave its cluster in the final state."""
    if not scenario.pods_to_schedule and not scenario.expanded.rollouts:
        return scenario, None
    session, rollouts = scenario.new_session(), scenario.expanded.rollouts
    before = place_pods(
        session, scenario.pods_to_schedule, rollouts=rollouts, unknown_kinds=scenario.unknown_kinds, scaler=scaler
    )
    after = snapshot_after_run(session.snapshot, scenario.edited.covered, scenario.expanded, before)
    scenario = replace(scenario, expanded=structs.replace(scenario.expanded, creations=before.end.creations))
    return scenario.with_snapshot(after), before
