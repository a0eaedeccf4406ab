"""The pods of a change do not block the upgrade of a pool of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kwhatif.api.core import Node
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import one_more_replica
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.commands.upgrade.replacement import Replacement, replace_pool
from kwhatif.commands.upgrade.replacing_nodes import NodeChanges, add_new_nodes
from kwhatif.commands.upgrade.strategies import plan_of
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, looser_budget
from kwhatif.simulation.node_pools import pool_of
from kwhatif.snapshot.format.model import Snapshot

ZONE = "topology.kubernetes.io/zone"


class PoolUpgradeParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    strategy: Annotated[
        Literal["surge", "gke-surge", "gke-blue-green", "eks", "aks", "capi", "karpenter"],
        Meta(description="The service that replaces the nodes, as in kwhatif upgrade."),
    ] = "surge"
    pool_label: Annotated[
        str, Meta(description="The node label that names the pool. Default: the labels of well-known providers.")
    ] = ""


class PoolUpgrade(Rule[PoolUpgradeParameters]):
    name = "pool-upgrade"
    purpose = "The nodes of a pool can be replaced unattended, whatever runs there."
    details = "Replaces the nodes of every pool with pods of the change, after the change."
    parameters = PoolUpgradeParameters
    kinds_without_pods: ClassVar[frozenset[str]] = frozenset({"PodDisruptionBudget"})

    def threshold(self) -> str:
        return f"no pod of the change blocks the upgrade of a pool ({self.given.strategy})"

    def check(self, context: Context) -> Iterator[Finding]:
        units = [*self.units(context), *filter(self.given.selects, context.units_under_changed_budgets)]
        self.checked = 0
        snapshot = context.snapshot_after
        pools: dict[str, list[Node]] = {}
        for node in context.cluster.columns.given:
            pools.setdefault(pool_of(node, self.given.pool_label), []).append(node)
        owners = {info.key: unit for unit in units for info, _ in context.running(unit)}
        touched = {context.node(row) for unit in units for _, row in context.running(unit)}
        for pool, nodes in sorted(pools.items()):
            if touched.isdisjoint(node.name for node in nodes):
                continue
            self.checked += 1
            upgrade = self._upgrade(context, snapshot, nodes)
            seen: set[str] = set()
            for obstacle in upgrade.obstacles() if upgrade.phase != "done" else ():
                unit = owners.get(obstacle.pod)
                if unit is None or str(unit.subject) in seen:
                    continue
                seen.add(str(unit.subject))
                yield self.finding_about(
                    unit,
                    f"the upgrade of pool {pool or '<none>'} {upgrade.phase} on it",
                    f"{obstacle.pod} cannot be evicted from {obstacle.node}: {obstacle.reason}",
                    about=pool,
                    numbers={"pool": pool, "replaced": sum(node.deleted is not None for node in upgrade.nodes())},
                    pod=obstacle.pod,
                )
        self.summary = f"{format_count(self.checked, 'pool')} simulated"

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        pods = (info.pod for info, _ in context.cluster.pods() if info.key == finding.pod)
        yield from (looser_budget(budget) for pod in pods for budget in context.budgets_of(pod))
        yield from one_more_replica(context, finding.subject)

    def _upgrade(self, context: Context, snapshot: Snapshot, nodes: Sequence[Node]) -> Replacement:
        zones = len({(node.metadata.labels or {}).get(ZONE) for node in nodes})
        draft = Draft(snapshot)
        names = add_new_nodes(draft, nodes, NodeChanges())
        plan = plan_of(self.given.strategy, len(nodes), zones)
        return replace_pool(context.session.with_snapshot(draft.snapshot), names, plan)
