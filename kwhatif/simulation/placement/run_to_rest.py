"""Continues the simulation after first attempts, or after an operation such as a drain, until no pod would move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outcome import Cause
from kwhatif.results.place import Placement
from kwhatif.scheduling.controllers import is_made_again
from kwhatif.simulation.autoscalers.scaler import Scaler, apply_scale_up
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.cluster_simulation import ClusterSimulation
from kwhatif.simulation.placement.group_outcomes import gang_outcomes
from kwhatif.simulation.placement.placing import PlacementRun, create_refused_pods
from kwhatif.simulation.placement.pod_origins import PodOrigins, evicted_by
from kwhatif.simulation.placement.rollout_progress import RolloutProgress
from kwhatif.simulation.placement.rounds import GroupRounds
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import PodToSchedule, Session


def settle_cluster(
    session: Session,
    tried: PlacementRun,
    asked: list[PodToSchedule],
    scaler: Scaler | None = None,
    *,
    cause: Cause | None = None,
    emptied: Sequence[PodInfo] = (),
    updates: Sequence[RolloutProgress] = (),
    others: Sequence[str] = (),
    earlier: Sequence[Placement] = (),
    origins: PodOrigins | None = None,
) -> Run:
    """Go on from what was ``tried`` in a session until no pod would move.

    Pods of ``emptied`` nodes lost them, too; ``cause`` is why the pods of the question look for a node, if the snapshot
    does not say. Updates that waited go on, and controllers try again what quotas refused: their pods are added to
    ``asked``. Where groups of pods were scheduled, that goes in rounds. Autoscalers may have helped the pods of
    ``earlier`` placements, too. ``others`` names unknown kinds of the input. Where many runs go out from one snapshot,
    its ``origins`` is made once.
    """
    origins = origins or PodOrigins.of(session.snapshot)
    causes: dict[str, Cause] = {} if cause is None else dict.fromkeys((item.pod.key for item in asked), cause)
    asked += _create_again(session, tried, emptied)
    if tried.goes_in_rounds:
        rounds = GroupRounds(session, tried, asked, causes, origins)
        rounds.run(updates)
        run = rounds.settle()
    elif updates or tried.evicted or tried.would_move():
        further = _Continuation(session, tried, asked, causes, origins, scaler)
        further.run(updates)
        run = further.settle()
    else:
        run = _at_rest(session, tried, asked, causes, origins)
    placements, scale_up = tuple(run.placements), None
    if scaler is not None:
        placements, scale_up = apply_scale_up(scaler, run.end, [*earlier, *placements])
        placements = placements[len(earlier) :]
    drained = origins.victims((info, None) for info in emptied)
    return structs.replace(
        run,
        placements=placements,
        groups=(*tried.groups.values(), *gang_outcomes(run.end, asked, placements)),
        rollouts=tuple(each.plan for each in updates),
        scale_up=scale_up,
        removed=tried.removed,
        victims=(*drained, *run.victims),
        others=others,
        updates=[each.rollout for each in updates],
        by_group=bool(tried.groups),
        autoscaled=scaler is not None,
    )


def _create_again(session: Session, tried: PlacementRun, emptied: Sequence[PodInfo]) -> list[PodToSchedule]:
    """Pods that quotas have room for since others are gone, and that have been tried."""
    created = create_refused_pods(session, (info for info in emptied if not is_made_again(info.pod)))
    if created:
        tried.schedule_all(created)
    return created


def _at_rest(
    session: Session,
    tried: PlacementRun,
    asked: Sequence[PodToSchedule],
    causes: Mapping[str, Cause],
    origins: PodOrigins,
) -> Run:
    """The run where first attempts are all of it."""
    pods = {item.pod.key: item.pod for item in asked}
    still = [each for each in tried.placements if each.pod not in tried.removed]
    return Run(
        session,
        asked,
        tried.placements,
        left=tuple(pods_left(tried, asked).values()),
        pending=origins.pending(still, pods, causes),
        created=session.created_later,
    )


def pods_left(tried: PlacementRun, asked: Sequence[PodToSchedule]) -> dict[str, Pod]:
    """The pods asked about that did not have to go, as their last attempts left them, by ``namespace/name``."""
    gone = tried.removed | {victim.key for victim in tried.evicted}
    pods = {item.pod.key: item.pod for item in asked}
    return {
        key: pending_pod_of(tried.taken[key]) if key in tried.taken else pod
        for key, pod in pods.items()
        if key not in gone and (key not in tried.taken or tried.taken[key].is_made)
    }


class _Continuation:
    """The simulation in time that goes on from what was tried: with those that have no node, and with victims."""

    def __init__(
        self,
        session: Session,
        tried: PlacementRun,
        asked: list[PodToSchedule],
        causes: Mapping[str, Cause],
        origins: PodOrigins,
        scaler: Scaler | None,
    ) -> None:
        self._session, self._tried, self._asked = session, tried, asked
        self._causes, self._origins = causes, origins
        self._left = pods_left(tried, asked)
        # Extenders are not called to bind pods of a trial.
        later = session if session.setup.extenders is None else session.sandbox()
        self._simulation = ClusterSimulation(later, origins, scaler=scaler)
        self._preemptors = evicted_by(tried.placements) | {
            victim.key: tried.preemptors[victim.uid]
            for victim in tried.evicted
            if not victim.shape.terminating and victim.uid in tried.preemptors
        }

    def run(self, updates: Sequence[RolloutProgress]) -> None:
        """Those without a node arrive, victims are recreated, and updates go on, until no pod would move."""
        simulation, tried, causes = self._simulation, self._tried, self._causes
        gone = tried.removed | {victim.key for victim in tried.evicted}
        again = {taken.asked.pod.key: taken for taken in tried.without_node if taken.asked.pod.key not in gone}
        for key, taken in again.items():
            if taken.info is not None:
                simulation.arrive(taken.asked, taken.info, causes.get(key))
        pods = [item.pod for item in self._asked]
        evicted = [(victim, self._preemptors.get(victim.key)) for victim in tried.evicted]
        simulation.make_again(evicted, {pod.key: causes.get(pod.key) or self._origins.cause_of(pod) for pod in pods})
        simulation.run(lambda: sum(each.advance_in(simulation) for each in updates) > 0)
        self._asked += simulation.created_later

    def settle(self) -> Run:
        """The run, as it ended."""
        simulation = self._simulation
        ended = {each.pod: each for each in simulation.placements()}
        placements, removed = tuple(self._placements(ended)), self._tried.removed
        run = simulation.run_of([each for each in ended.values() if each.pod not in removed], simulation.replacements())
        others = [each for each in placements if each.pod not in removed and each.pod not in ended]
        pods = {item.pod.key: item.pod for item in self._asked}
        return structs.replace(
            run,
            session=self._session,
            pods_to_schedule=self._asked,
            placements=placements,
            after=simulation.session,
            left=tuple(self._pods_left()),
            pending=(*self._origins.pending(others, pods, self._causes), *run.pending),
        )

    def _placements(self, ended: Mapping[str, Placement]) -> Iterator[Placement]:
        """What became of each pod in the end: those that were tried in their order, then those that came later."""
        simulation, at_home = self._simulation, self._simulation.homes_of_victims()
        preemptors = self._preemptors | simulation.preemptors()
        for first in self._tried.placements:
            now = ended.get(first.pod, first)
            now = replace(now, victims=tuple(map(simulation.describe_victim, first.victims)) or now.victims)
            if now.good and now.node and now.pod in preemptors and now.pod not in ended:
                now = now.lose_node(preemptors[now.pod], homeless=now.pod not in at_home)
            yield now
        known = {each.pod for each in self._tried.placements}
        yield from (each for key, each in ended.items() if key not in known)

    def _pods_left(self) -> Iterator[Pod]:
        simulator = self._simulation.simulator
        homes = {
            each.pod.key for uid, each in simulator.outcome.items() if each.is_placed and uid not in simulator.evicted
        }
        tried = {key: attempt.pod.uid for key, attempt in self._tried.taken.items()}
        # Pods that found a node at first may have lost it since; their controllers have made others.
        kept = {
            key: pod for key, pod in self._left.items() if key not in homes and tried.get(key) not in simulator.evicted
        }
        kept |= {pod.key: pod for pod in self._simulation.pods_left()}
        yield from (pod for key, pod in kept.items() if key not in self._tried.removed)
        yield from simulator.strangers
