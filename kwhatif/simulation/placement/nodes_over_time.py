"""New nodes in simulated time: autoscalers are asked when the scheduler rests, and nodes join later."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.autoscaling.upcoming_nodes import UpcomingNode
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.place import Placement
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.simulator import Simulator
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.placements import placement_of
from kwhatif.simulation.placement.run import Rest
from kwhatif.simulation.session import PodToSchedule, Session


class NodesOverTime:
    """Asks the autoscalers whenever something has changed, but not while nodes are being provisioned.

    Rows are renumbered when nodes join, so earlier placements are described before that.
    """

    def __init__(self, session: Session, simulator: Simulator, scaler: Scaler | None) -> None:
        self._session, self._simulator, self._scaler = session, simulator, scaler
        self._on_their_way = False
        self._asked_at: tuple[int, tuple[str, ...]] | None = None
        self._before: dict[str, Placement] = {}
        self._helped: set[str] = set()
        self.rests: list[Rest] = []
        if scaler is not None:
            simulator.at_rest = lambda: self._ask(scaler)

    def _ask(self, scaler: Scaler) -> None:
        simulator, attempts = self._simulator, self._simulator.unplaced_attempts()
        self.rests.append(Rest(simulator.now, len(self._session.cluster), len(attempts)))
        asked_at = simulator.changes, tuple(attempt.pod.uid for attempt in attempts)
        if self._on_their_way or not attempts or asked_at == self._asked_at:
            return
        self._asked_at, scaler.time = asked_at, simulator.now
        nodes = scaler.ask(self._session, [pending_pod_of(attempt) for attempt in attempts])
        if not nodes:
            return
        self._on_their_way = True
        self._helped.update(asked_at[1])
        for each in nodes:
            simulator.diary.say("", "requested", f"of {each.group}", each.node.name)
        names = [each.node.name for each in nodes]
        simulator.add_nodes_at(names, simulator.now + scaler.provision, lambda: self._join(scaler, nodes))

    def _join(self, scaler: Scaler, nodes: Sequence[UpcomingNode]) -> None:
        for uid, attempt in self._simulator.outcome.items():
            if attempt.is_placed and uid not in self._before:
                self._before[uid] = self._describe_attempt(attempt, PodToSchedule(attempt.pod.pod))
        scaler.join(self._session, nodes)
        self._on_their_way = False

    def _describe_attempt(self, attempt: Attempt, asked: PodToSchedule) -> Placement:
        uid = attempt.pod.uid
        found = placement_of(self._session, asked, [*self._simulator.preemptions.get(uid, []), attempt])
        helped = found.outcome == "placed" and uid in self._helped
        return replace(found, outcome="autoscaled") if helped else found

    def placement(self, asked: PodToSchedule, info: PodInfo) -> Placement:
        """What became of a pod in the end."""
        there = self._before.get(info.uid)
        if there is not None:
            return replace(there, origin=asked.origin, defaults=asked.defaults)
        return self._describe_attempt(self._simulator.outcome[info.uid], asked)
