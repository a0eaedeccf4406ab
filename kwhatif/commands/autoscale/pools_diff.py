"""Compares two sets of NodePools, or two catalogues: the machines that Karpenter would buy for the same pods, and their
cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Condition, Node, Pod
from kwhatif.api.node_provisioning import NodeClaim
from kwhatif.autoscaling.karpenter.requirements import NODE_POOL
from kwhatif.commands.autoscale.karpenter_plan import karpenter
from kwhatif.commands.autoscale.karpenter_result import KarpenterResult, MachineCount, PodMove, PodPlan, PoolsDiff
from kwhatif.commands.autoscale.options import ComparePoolsOptions
from kwhatif.commands.autoscale.run import AfterPlacing, answer_after_placing, snapshot_after
from kwhatif.commands.common_options import ManifestFiles
from kwhatif.errors import UsageError
from kwhatif.results.base import Fidelity
from kwhatif.results.place import HOURS_A_MONTH, Placement
from kwhatif.simulation.autoscalers.instance_types_document import read_catalogue
from kwhatif.simulation.autoscalers.node_groups import observation_time_of
from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler, pools_of
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.conclusion import outcome_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.question import Answer
from kwhatif.simulation.scenario import PreparedScenario, Scenario
from kwhatif.simulation.session import Session, pending_pods
from kwhatif.snapshot.format.model import Snapshot

_WAITS = Condition(type="PodScheduled", status="False", reason="Unschedulable")


@dataclass(frozen=True, kw_only=True)
class ComparePools(ComparePoolsOptions, AfterPlacing[PoolsDiff]):
    """What does Karpenter do with other NodePools, or with another catalogue?

    Of files of ``node_pools`` and of each ``catalogue`` there are one or two. Where neither is there twice, one file of
    NodePools is compared with those of the snapshot. With ``rebuild`` it is as if none of Karpenter's nodes were there:
    their pods wait, and all machines are bought anew.
    """

    manifests: ManifestFiles = ()

    def check(self, scenario: Scenario) -> None:
        if scenario.inputs.autoscale:
            raise UsageError("--node-pools, --catalogue and --rebuild go with manifests for both sides alone")
        if not self.catalogue:
            raise UsageError("--node-pools and --rebuild are Karpenter's: they need --catalogue FILE")
        if max(len(self.catalogue), len(self._pools)) != 2:
            raise UsageError("nothing to compare: expected --node-pools once or twice, or --catalogue twice")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[PoolsDiff]:
        (scenario,) = scenarios
        return answer_after_placing(scenario, partial(self._after, scenario))

    def _after(self, scenario: PreparedScenario, run: Run, fidelity: Fidelity) -> PoolsDiff:
        world, placements = snapshot_after(scenario, run), run.placements
        if self.rebuild:
            world, placements = _without_nodes(world, placements)
        a, b = (self._side(side, scenario, world, placements, fidelity) for side in (0, 1))
        known = all(machine.price is not None for side in (a, b) for machine in side.machines)
        difference = (b.price or 0.0) - (a.price or 0.0)
        return PoolsDiff(
            label_a=self._label(0),
            label_b=self._label(1),
            rebuilt=self.rebuild,
            a=a,
            b=b,
            difference=round(difference * HOURS_A_MONTH, 2) if known else None,
            machines=tuple(_count_machines(a, b)),
            moves=tuple(_moves(a, b)),
        )

    def _side(
        self,
        side: int,
        scenario: PreparedScenario,
        world: Snapshot,
        placements: Sequence[Placement],
        fidelity: Fidelity,
    ) -> KarpenterResult:
        files = list(filter(None, [_value_of_side(self._pools, side)])) if self._pools else []
        known = read_catalogue(_value_of_side(self.catalogue, side))
        pools = pools_of(scenario.snapshot, files)
        session, pods = scenario.session.with_snapshot(world), pending_pods(world)
        scaler = Scaler([PoolAutoscaler(known, pools)], self._later, observation_time_of(world, scenario.inputs.now))
        grown = structs.replace(place_pods(session, pods, scaler=scaler), **scenario.refusal_fields)
        after = partial(outcome_of, grown, fidelity)
        return karpenter(
            world,
            placements,
            known,
            pools,
            outcome_after=after,
            scale_up=grown.scale_up,
            now=scenario.inputs.now,
            fidelity=fidelity,
        )

    @staticmethod
    def _later(session: Session, waiting: Sequence[Pod]) -> Snapshot:
        return snapshot_after_run(session.snapshot, session.covered, ExpandedManifests(), Run(session, left=waiting))

    def _label(self, side: int) -> str:
        """The name of a side by what only this side has."""
        given = (("NodePools of", self._pools), ("catalogue", self.catalogue))
        return ", ".join(f"{what} {files[side] or 'the snapshot'}" for what, files in given if len(files) == 2)

    @property
    def _pools(self) -> Sequence[str]:
        """Files of NodePools, "" for those of the snapshot."""
        return ["", *self.node_pools] if len(self.node_pools) == len(self.catalogue) == 1 else self.node_pools


def _value_of_side(values: Sequence[str], side: int) -> str:
    return values[side if len(values) == 2 else 0]


def _without_nodes(world: Snapshot, placements: Sequence[Placement]) -> tuple[Snapshot, list[Placement]]:
    """The cluster without Karpenter's nodes; what ran there waits, but for pods that go with their node."""
    objects = world.objects.copy()
    gone = {node.name for node in objects.list_all(Node) if NODE_POOL in (node.metadata.labels or {})}
    pods = []
    for pod in objects.list_all(Pod):
        if pod.spec.node_name not in gone:
            pods.append(pod)
        elif pod.controller is not None and pod.controller.kind in ("DaemonSet", "Node"):
            continue
        elif (pod.status.phase or "") not in ("Succeeded", "Failed"):
            spec = replace(pod.spec, node_name=None)
            pods.append(replace(pod, spec=spec, status=replace(pod.status, phase="Pending", conditions=[_WAITS])))
    objects.put(Pod, pods)
    objects.put(Node, [node for node in objects.list_all(Node) if node.name not in gone])
    objects.put(NodeClaim, [])
    world = world.copy()
    world.objects = objects
    return world, [placement for placement in placements if placement.node not in gone]


def _count_machines(a: KarpenterResult, b: KarpenterResult) -> list[MachineCount]:
    """The machines of both, by NodePool, type and capacity type."""
    counts: dict[tuple[str, str, str], list[float]] = {}
    for side, result in enumerate((a, b)):
        for machine in result.machines:
            row = counts.setdefault((machine.node_pool, machine.type, machine.capacity_type), [0, 0, 0.0, 0.0])
            row[side] += 1
            row[2 + side] += machine.cost or 0.0
    return [
        MachineCount(
            node_pool=pool,
            type=type_,
            capacity_type=kind,
            a=int(row[0]),
            b=int(row[1]),
            cost_a=round(row[2], 2),
            cost_b=round(row[3], 2),
        )
        for (pool, type_, kind), row in sorted(counts.items())
    ]


def _moves(a: KarpenterResult, b: KarpenterResult) -> list[PodMove]:
    before = {pod.pod: _home(pod, a) for pod in a.pods}
    after = {pod.pod: _home(pod, b) for pod in b.pods}
    return [
        PodMove(pod=pod, a=before.get(pod, "-"), b=after.get(pod, "-"))
        for pod in sorted(before.keys() | after.keys())
        if before.get(pod) != after.get(pod)
    ]


def _home(pod: PodPlan, result: KarpenterResult) -> str:
    """Where a pod runs then; equal machines are not distinguished."""
    if pod.machine is not None:
        machine = result.machines[pod.machine - 1]
        return f"new {machine.type} ({machine.capacity_type}) of {pod.node_pool}"
    return pod.node or ("no NodePool can help" if pod.outcome == "helpless" else "left alone")
