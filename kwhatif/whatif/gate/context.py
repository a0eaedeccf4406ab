"""What rules look at: the workloads of the change, the cluster after it, and answers to what if more went wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.added_nodes import ScaleUp
from kwhatif.results.gate import Subject
from kwhatif.results.parts import Fidelity
from kwhatif.results.place import Placement
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.chances.trials import Outcome
from kwhatif.whatif.fidelity.ownership import Owners
from kwhatif.whatif.gate.outage import Outages, Stranded
from kwhatif.whatif.gate.unit import Unit
from kwhatif.whatif.session import Session


@dataclass
class Context:
    """Everything about the change that a rule may ask.

    ``units`` are its workloads, in the order of their manifests; ``session`` is how things stand once it is rolled
    out and ``before`` how they stood before, which is worked out when it is first asked for. ``margins`` has, by pod,
    by how much its node beat the next best; only rules that say so (``scores``) find anything in there. ``tried`` are
    the pods that a scheduler took up, by ``namespace/name``. ``scale_up`` is what autoscalers added for those without a
    node, if they were asked; the nodes are in the cluster. ``throw`` makes trials that leave to chance what the
    scheduler does, of which autoscalers know nothing.
    """

    units: Sequence[Unit]
    placements: Sequence[Placement]
    session: Session
    owners: Owners
    fidelity: Fidelity
    now: datetime
    make_before: Callable[[], Cluster]
    scale_up: ScaleUp | None = None
    margins: dict[str, int] = field(default_factory=dict)
    tried: dict[str, PodInfo] = field(default_factory=dict)
    throw: Callable[[str, int], Sequence[Outcome]] = lambda topology_key, trials: ()
    _outcomes: dict[tuple[str, int], Sequence[Outcome]] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        return self.session.cluster

    @property
    def setup(self) -> Setup:
        return self.session.setup

    @property
    def snapshot(self) -> Snapshot:
        return self.session.snapshot

    @cached_property
    def before(self) -> Cluster:
        return self.make_before()

    @cached_property
    def _running(self) -> dict[Subject, list[tuple[PodInfo, int]]]:
        mine = {item.pod.key: unit.subject for unit in self.units for item in unit.asked}
        found: dict[Subject, list[tuple[PodInfo, int]]] = {}
        for info, row in self.cluster.pods():
            owner = mine.get(info.key) or self.owners.workload_of(info.pod)
            found.setdefault(owner, []).append((info, row))
        return found

    @cached_property
    def owner(self) -> dict[str, Unit]:
        """The workload of each pod that runs in the end and belongs to one of the change, by pod."""
        return {info.key: unit for unit in self.units for info, _ in self.running(unit)}

    def outcomes(self, topology_key: str, trials: int) -> Sequence[Outcome]:
        """What so many trials of the change come to, with the skew over places that a label tells apart."""
        key = topology_key, trials
        if key not in self._outcomes:
            self._outcomes[key] = self.throw(topology_key, trials)
        return self._outcomes[key]

    def running(self, unit: Unit) -> Sequence[tuple[PodInfo, int]]:
        """All pods of a workload that have a node in the end, old and new ones, and the rows of their nodes."""
        return self._running.get(unit.subject, ())

    def node(self, row: int) -> str:
        """The name of a node."""
        return self.cluster.columns.names[row]

    def new_pods(self, unit: Unit) -> list[PodInfo]:
        """The pods of a workload that were to be scheduled."""
        return [self.tried[each.pod] for each in unit.placements if each.pod in self.tried]

    def outage(self, nodes: Collection[str]) -> tuple[int, list[Stranded]]:
        """What if these nodes were gone once the change is in?"""
        return self._outages.of(nodes)

    def outage_before(self, nodes: Collection[str]) -> tuple[int, list[Stranded]]:
        """What if they were gone without the change?"""
        return self._outages_before.of(nodes)

    @cached_property
    def _outages(self) -> Outages:
        return Outages(self.cluster, self.setup)

    @cached_property
    def _outages_before(self) -> Outages:
        return Outages(self.before, self.setup)
