"""The run to rest where pods come in groups: round after round, members of a group together, until no pod would move.

Time takes no part in it. Victims leave at once, their controllers make them again, and these are tried in the next
round: members with the others of their group that have no node. A group that did not fit is tried again as a group when
others have left or nodes have come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outcome import Cause
from kwhatif.results.place import HOMELESS, Placement, Victim
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun, create_refused_pods
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.recreated_pods import RecreatedPods
from kwhatif.simulation.placement.rollout_progress import RolloutProgress
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import PodToSchedule, Session


class GroupRounds:
    """Goes on from how a run has left a session. ``causes`` are why pods (``namespace/name``) look for a node, if the
    snapshot does not say.
    """

    def __init__(
        self,
        session: Session,
        run: PlacementRun,
        pods_to_schedule: list[PodToSchedule],
        causes: Mapping[str, Cause],
        origins: PodOrigins,
    ) -> None:
        self._session, self._run, self._pods_to_schedule = session, run, pods_to_schedule
        self._causes = dict(causes)
        taken = {info.key for info, _ in session.cluster.pods()} | {item.pod.key for item in pods_to_schedule}
        self._recreated = RecreatedPods(run, taken)
        self._origins = origins

    def run(self, rollouts: Sequence[RolloutProgress] = ()) -> None:
        """Go on until no pod would move."""
        if not (self._run.evicted or self._run.would_move()):
            return
        moving = True
        while moving:
            self._recreated.retry(self._replace_victims, self._list_waiting)
            moving = sum(rollout.advance() for rollout in rollouts) > 0
        self._run.explain_futile()

    def _list_waiting(self) -> list[AttemptedPod]:
        waiting = [*self._run.without_node, *self._run.gated_members]
        return [attempted for attempted in waiting if attempted.item.pod.key not in self._run.removed]

    def _replace_victims(self) -> None:
        seen = {item.pod.key for item in self._pods_to_schedule}
        for victim in self._recreated.take_victims():
            attempted = self._recreated.make_replacement(victim.pod)
            if attempted is None:
                self._create_later(victim)
                continue
            cause = self._causes.get(victim.key)
            if cause is None and victim.key in seen:
                cause = self._origins.cause_of(victim.pod)
            self._causes[attempted.item.pod.key] = cause or "evicted"

    def _create_later(self, gone: PodInfo) -> None:
        """Controllers try again what a quota refused, since a pod is gone for good."""
        if created := create_refused_pods(self._session, [gone]):
            self._pods_to_schedule += created
            self._run.schedule_all(created)

    # --- how it ended

    def settle(self) -> Run:
        """The run, as it ended."""
        run, origins = self._run, self._origins
        nodes_of_replacements = {
            info.key: home for info in run.evicted if (home := self._node_of_replacement(info.uid))
        }
        placements = [self._describe(placement, nodes_of_replacements) for placement in run.placements]
        made = {attempted.index for attempted in self._recreated.replacements.values()}
        pods = {item.pod.key: item.pod for item in (*self._pods_to_schedule, *self._recreated.pods_to_schedule)}
        still = [placement for placement in placements if placement.pod not in run.removed]
        seen = {item.pod.key for item in self._pods_to_schedule}
        lost = [info.key for info in run.evicted if info.key in seen and info.uid not in self._recreated.replacements]
        evicted = ((info, run.preemptors.get(info.uid)) for info in run.evicted)
        gone = run.removed | {placement.pod for placement in placements if placement.outcome == "preempted"}
        gone -= {placement.pod for placement in placements if placement.outcome != "preempted"}
        return Run(
            self._session,
            self._pods_to_schedule,
            tuple(placement for index, placement in enumerate(placements) if index not in made),
            replacements=tuple(placement for index, placement in enumerate(placements) if index in made),
            left=tuple(
                pending_pod_of(run.last_attempts[key]) if key in run.last_attempts else pod
                for key, pod in pods.items()
                if key not in gone and (key not in run.last_attempts or run.last_attempts[key].is_made)
            ),
            nodes_of_replacements=nodes_of_replacements,
            pending=origins.pending(still, pods, self._causes),
            victims=origins.victims(evicted),
            unsettled=self._recreated.unsettled,
            lost=tuple(dict.fromkeys(lost)),
            created=self._session.created_later,
        )

    def _replacement_of(self, uid: str) -> AttemptedPod | None:
        """The pod that stands for a victim in the end; None if that was not recreated."""
        replacement = None
        while (attempted := self._recreated.replacements.get(uid)) is not None:
            replacement, uid = attempted, "" if attempted.info is None else attempted.info.uid
        return replacement

    def _node_of_replacement(self, uid: str) -> str:
        replacement = self._replacement_of(uid)
        return "" if replacement is None else self._run.placements[replacement.index].node

    def _describe(self, placement: Placement, nodes_of_replacements: Mapping[str, str]) -> Placement:
        if placement.outcome == "preempted" and placement.pod not in nodes_of_replacements:
            placement = replace(placement, message=placement.message + HOMELESS)
        if not placement.victims:
            return placement
        return replace(placement, victims=tuple(map(self._describe_victim, placement.victims)))

    def _describe_victim(self, victim: Victim) -> Victim:
        """The victim with the pod that stands for it in the end, and where that lands."""
        uids = [info.uid for info in self._run.evicted if info.key == victim.pod]
        replacement = self._replacement_of(uids[-1]) if uids else None
        if replacement is None:
            return victim
        return replace(
            victim, replacement=replacement.item.pod.key, lands_on=self._run.placements[replacement.index].node
        )
