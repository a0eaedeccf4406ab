"""Continues the simulation after an operation such as a drain until no pod would move any more."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outcome import Cause
from kwhatif.results.place import Placement
from kwhatif.scheduling.controllers import is_made_again
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.cluster_simulation import ClusterSimulation
from kwhatif.simulation.placement.movers import would_move
from kwhatif.simulation.placement.placing import PlacementRun, create_refused_pods
from kwhatif.simulation.placement.rollout_progress import RolloutProgress
from kwhatif.simulation.placement.rounds import GroupRounds
from kwhatif.simulation.placement.run_outcome import Bookkeeper, RunOutcome, evicted_by
from kwhatif.simulation.placement.settled_cluster import SettledCluster
from kwhatif.simulation.session import PodToSchedule, Session


def settle_cluster(
    session: Session,
    run: PlacementRun,
    asked: list[PodToSchedule],
    scaler: Scaler | None = None,
    cause: Cause | None = None,
    emptied: Sequence[PodInfo] = (),
    rollouts: Sequence[RolloutProgress] = (),
) -> SettledCluster:
    """Go on from how a run has left a session until no pod would move. Pods of ``emptied`` nodes lost them, too;
    ``cause`` is why the pods of the question look for a node, if the snapshot does not say. Updates that waited go on,
    and controllers try again what quotas refused: their pods are added to ``asked``. Where groups of pods were
    scheduled, that goes in rounds.
    """
    book = Bookkeeper.of(session.snapshot)
    causes: dict[str, Cause] = {} if cause is None else dict.fromkeys((item.pod.key for item in asked), cause)
    asked += _create_again(session, run, emptied)
    if run.goes_in_rounds:
        rounds = GroupRounds(session, run, asked, causes)
        rounds.run(rollouts)
        return rounds.settle(emptied)
    pods = {item.pod.key: item.pod for item in asked}
    gone = run.removed | {victim.key for victim in run.evicted}
    left = {
        key: pending_pod_of(run.taken[key]) if key in run.taken else pod for key, pod in pods.items() if key not in gone
    }
    leaving = [victim for victim in run.evicted if not victim.shape.terminating]
    by = evicted_by(run.placements) | {
        victim.key: run.preemptors[victim.uid] for victim in leaving if victim.uid in run.preemptors
    }
    evicted = [(victim, by.get(victim.key)) for victim in leaving]
    drained = book.victims((info, None) for info in emptied)
    still = [each for each in run.placements if each.pod not in run.removed]
    if not run.evicted and not would_move(session, run):
        run_outcome = RunOutcome(
            pending=book.pending(still, pods, causes), victims=drained, created=session.created_later
        )
        return SettledCluster(
            session=session, placements=tuple(run.placements), run_outcome=run_outcome, left=tuple(left.values())
        )
    # Extenders are not called to bind pods of a trial.
    later = session if session.setup.extenders is None else session.sandbox()
    simulation = ClusterSimulation(later, book, scaler=scaler)
    again = {taken.asked.pod.key: taken for taken in run.without_node if taken.asked.pod.key not in gone}
    for taken in again.values():
        if taken.info is not None:
            simulation.arrive(taken.asked, taken.info, causes.get(taken.asked.pod.key))
    simulation.make_again(evicted, {key: causes.get(key) or book.cause_of(pod) for key, pod in pods.items()})
    simulation.run(lambda: sum(each.advance_in(simulation) for each in rollouts) > 0)
    asked += simulation.created_later
    pods |= {item.pod.key: item.pod for item in asked}
    ended = {each.pod: each for each in simulation.placements()}
    replacements = tuple(simulation.replacements())
    simulator = simulation.simulator
    out = by | {
        info.key: who for uid, who in simulator.evicted.items() if (info := simulation.info_of(uid)) is not None
    }
    told: list[Placement] = []
    at_home = simulation.homes_of_victims()
    for each in run.placements:
        now = ended.get(each.pod, each)
        now = replace(now, victims=tuple(map(simulation.describe_victim, each.victims)) or now.victims)
        if now.good and now.node and each.pod in out and each.pod not in ended:
            now = now.lose_node(out[each.pod], homeless=each.pod not in at_home)
        told.append(now)
    known = {each.pod for each in told}
    told += [each for key, each in ended.items() if key not in known]
    still = [each for each in still if each.pod not in run.removed]
    present = [each for each in ended.values() if each.pod not in run.removed]
    run_outcome = simulation.outcome_of(present, replacements)
    others = [each for each in still if each.pod not in ended]
    run_outcome = dataclasses.replace(
        run_outcome,
        pending=(*book.pending(others, pods, causes), *run_outcome.pending),
        victims=(*drained, *run_outcome.victims),
    )
    attempts = [each for uid, each in simulator.outcome.items() if uid not in simulator.evicted]
    homes = {each.pod.key for each in attempts if each.is_placed}
    kept = {key: pod for key, pod in left.items() if key not in homes}
    kept |= {each.pod.key: pending_pod_of(each) for each in attempts if not each.is_placed}
    kept = {key: pod for key, pod in kept.items() if key not in run.removed}
    return SettledCluster(
        session=later,
        placements=tuple(told),
        run_outcome=run_outcome,
        replacements=replacements,
        left=(*kept.values(), *simulator.strangers),
        at_home=at_home,
    )


def _create_again(session: Session, run: PlacementRun, emptied: Sequence[PodInfo]) -> list[PodToSchedule]:
    """Pods that quotas have room for since others are gone, and that have been tried."""
    created = create_refused_pods(session, (info for info in emptied if not is_made_again(info.pod)))
    if created:
        run.schedule_all(created)
    return created
