"""Continues the simulation after first attempts, or after an operation such as a drain, until no pod would move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import Cause
from kwhatif.results.place import Placement
from kwhatif.scheduling.controllers import is_made_again
from kwhatif.simulation.autoscalers.scaler import Scaler, apply_scale_up
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.cluster_simulation import ClusterSimulation
from kwhatif.simulation.placement.group_outcomes import gang_outcomes
from kwhatif.simulation.placement.placing import PlacementRun, create_refused_pods
from kwhatif.simulation.placement.pod_origins import PodOrigins, evicted_by
from kwhatif.simulation.placement.rollout_progress import RolloutProgress, plans_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import PodToSchedule, Session


def settle_cluster(
    session: Session,
    first_run: PlacementRun,
    pods_to_schedule: list[PodToSchedule],
    scaler: Scaler | None = None,
    *,
    emptied: Sequence[PodInfo] = (),
    updates: Sequence[RolloutProgress] = (),
    unknown_kinds: Sequence[str] = (),
    earlier: Sequence[Placement] = (),
    origins: PodOrigins | None = None,
    at_rest: bool = False,
) -> Run:
    """Go on from a session's ``first_run`` until no pod would move, which is known to be so already if it is
    ``at_rest``.

    Pods of ``emptied`` nodes lost them, too, which is why the pods of the question look for one then. Updates that
    waited go on, and controllers try again what quotas refused: their pods are added to ``pods_to_schedule``.
    Autoscalers may have helped the pods of ``earlier`` placements, too. ``unknown_kinds`` are those of the input. Where
    many runs go out from one snapshot, its ``origins`` is made once.
    """
    origins = origins or PodOrigins(session.snapshot)
    causes: dict[str, Cause] = dict.fromkeys((item.pod.key for item in pods_to_schedule), "evicted") if emptied else {}
    pods_to_schedule += _create_again(session, first_run, emptied)
    groups = first_run.groups
    if not at_rest and (updates or first_run.evicted or first_run.would_move()):
        further = _Continuation(session, first_run, pods_to_schedule, causes, origins, scaler)
        further.run(updates)
        run = further.settle()
        groups = groups | further.groups()
    else:
        # Most runs end here: nobody was evicted and nobody who waits would fit, so the first attempts are the outcome.
        run = _run_of_first_attempts(session, first_run, pods_to_schedule, causes, origins)
    placements, scale_up = tuple(run.placements), None
    if scaler is not None:
        placements, scale_up = apply_scale_up(scaler, run.end, [*earlier, *placements])
        placements = placements[len(earlier) :]
    # Who lost a node to the operation itself is a victim as well as who was preempted after it.
    drained = origins.victims((info, None) for info in emptied)
    return structs.replace(
        run,
        placements=placements,
        groups=(*groups.values(), *gang_outcomes(run.end, pods_to_schedule, placements)),
        rollouts=plans_of(updates),
        scale_up=scale_up,
        removed=first_run.removed,
        victims=(*drained, *run.victims),
        unknown_kinds=unknown_kinds,
        updates=[update.rollout for update in updates if not update.rollout.resumed],
        by_group=bool(groups),
        autoscaled=scaler is not None,
    )


def _create_again(session: Session, first_run: PlacementRun, emptied: Sequence[PodInfo]) -> list[PodToSchedule]:
    """Pods that quotas have room for since others are gone, and that have been tried."""
    created = create_refused_pods(session, (info for info in emptied if not is_made_again(info.pod)))
    if created:
        first_run.schedule_all(created)
    return created


def _run_of_first_attempts(
    session: Session,
    first_run: PlacementRun,
    pods_to_schedule: Sequence[PodToSchedule],
    causes: Mapping[str, Cause],
    origins: PodOrigins,
) -> Run:
    """The run where first attempts are all of it."""
    pods = {item.pod.key: item.pod for item in pods_to_schedule}
    still = [placement for placement in first_run.placements if placement.pod not in first_run.removed]
    return Run(
        session,
        pods_to_schedule,
        first_run.placements,
        left=tuple(pods_left(first_run, pods_to_schedule).values()),
        pending=origins.pending(still, pods, causes),
        created=session.created_later,
    )


def pods_left(first_run: PlacementRun, pods_to_schedule: Sequence[PodToSchedule]) -> dict[str, Pod]:
    """The pods asked about that did not have to go, as their last attempts left them, by ``namespace/name``."""
    gone = first_run.removed | {victim.key for victim in first_run.evicted}
    pods = {item.pod.key: item.pod for item in pods_to_schedule}
    return {
        key: pending_pod_of(first_run.last_attempts[key]) if key in first_run.last_attempts else pod
        for key, pod in pods.items()
        if key not in gone and (key not in first_run.last_attempts or first_run.last_attempts[key].is_made)
    }


class _Continuation:
    """The simulation in time that goes on from what was tried: with those that have no node, and with victims."""

    def __init__(
        self,
        session: Session,
        first_run: PlacementRun,
        pods_to_schedule: list[PodToSchedule],
        causes: Mapping[str, Cause],
        origins: PodOrigins,
        scaler: Scaler | None,
    ) -> None:
        self._session, self._first_run, self._pods_to_schedule = session, first_run, pods_to_schedule
        self._causes, self._origins = causes, origins
        self._left = pods_left(first_run, pods_to_schedule)
        # Extenders are not called to bind pods of a trial.
        later = session if session.setup.extenders is None else session.sandbox()
        self._simulation = ClusterSimulation(later, origins, scaler=scaler)
        self._preemptors = evicted_by(first_run.placements) | {
            victim.key: first_run.preemptors[victim.uid]
            for victim in first_run.evicted
            if not victim.shape.terminating and victim.uid in first_run.preemptors
        }

    def run(self, updates: Sequence[RolloutProgress]) -> None:
        """Those without a node arrive, victims are recreated, and updates go on, until no pod would move."""
        simulation, first_run, causes = self._simulation, self._first_run, self._causes
        gone = first_run.removed | {victim.key for victim in first_run.evicted}
        again = {
            attempted.item.pod.key: attempted
            for attempted in (*first_run.without_node, *first_run.gated_members)
            if attempted.item.pod.key not in gone
        }
        for key, attempted in again.items():
            if attempted.info is not None:
                simulation.arrive(attempted.item, attempted.info, causes.get(key))
        pods = [item.pod for item in self._pods_to_schedule]
        evicted = [(victim, self._preemptors.get(victim.key)) for victim in first_run.evicted]
        simulation.replace_evicted(
            evicted, {pod.key: causes.get(pod.key) or self._origins.cause_of(pod) for pod in pods}
        )
        simulation.run(lambda: sum(update.advance_in(simulation) for update in updates) > 0)
        self._pods_to_schedule += simulation.created_later

    def groups(self) -> dict[str, GroupOutcome]:
        """What became of the groups that were tried again, or still have no quorum, by name."""
        return {outcome.group: outcome for outcome in self._simulation.groups()}

    def settle(self) -> Run:
        """The run, as it ended."""
        simulation = self._simulation
        ended = {placement.pod: placement for placement in simulation.placements()}
        placements, removed = tuple(self._placements(ended)), self._first_run.removed
        run = simulation.run_of(
            [placement for placement in ended.values() if placement.pod not in removed], simulation.replacements()
        )
        placed_at_first = [
            placement for placement in placements if placement.pod not in removed and placement.pod not in ended
        ]
        pods = {item.pod.key: item.pod for item in self._pods_to_schedule}
        return structs.replace(
            run,
            session=self._session,
            pods_to_schedule=self._pods_to_schedule,
            placements=placements,
            after=simulation.session,
            left=tuple(self._pods_left()),
            pending=(*self._origins.pending(placed_at_first, pods, self._causes), *run.pending),
        )

    def _placements(self, ended: Mapping[str, Placement]) -> Iterator[Placement]:
        """What became of each pod in the end: those that were tried in their order, then those that came later."""
        simulation, nodes_of_replacements = self._simulation, self._simulation.nodes_of_replacements()
        preemptors = self._preemptors | simulation.preemptors()
        for first in self._first_run.placements:
            now = ended.get(first.pod, first)
            now = replace(now, victims=tuple(map(simulation.describe_victim, first.victims)) or now.victims)
            if now.good and now.node and now.pod in preemptors and now.pod not in ended:
                now = now.lose_node(preemptors[now.pod], homeless=now.pod not in nodes_of_replacements)
            yield now
        known = {placement.pod for placement in self._first_run.placements}
        yield from (placement for key, placement in ended.items() if key not in known)

    def _pods_left(self) -> Iterator[Pod]:
        simulator = self._simulation.simulator
        homes = {
            attempt.pod.key
            for uid, attempt in simulator.outcome.items()
            if attempt.is_placed and uid not in simulator.evicted
        }
        first_uids = {key: attempt.pod.uid for key, attempt in self._first_run.last_attempts.items()}
        # Pods that found a node at first may have lost it since; their controllers have made others.
        kept = {
            key: pod
            for key, pod in self._left.items()
            if key not in homes and first_uids.get(key) not in simulator.evicted
        }
        kept |= {pod.key: pod for pod in self._simulation.pods_left()}
        yield from (pod for key, pod in kept.items() if key not in self._first_run.removed)
        yield from simulator.unclaimed
