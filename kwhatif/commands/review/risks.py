"""What would leave pods without a node once a change is in: lost nodes and zones, upgrades of pools, next rollouts.

Each is tried as its own command does it, on the cluster that the change leaves behind, and where it harms, on the
cluster without the change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as replace_fields
from functools import cached_property, partial

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod, PodStatus
from kwhatif.commands.capacity.capacity import room_for
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.proposal import RolledOutChange
from kwhatif.commands.outage.effects import FailureEffects
from kwhatif.commands.outage.failures import NODE, ZONE, NodeFailure
from kwhatif.commands.review.commands import Commands
from kwhatif.commands.review.result import Risk
from kwhatif.commands.upgrade.replacement import Replacement, replace_pool
from kwhatif.commands.upgrade.replacing_nodes import NodeChanges, add_new_nodes
from kwhatif.commands.upgrade.result import Obstacle
from kwhatif.commands.upgrade.strategies import plan_of
from kwhatif.fleet.forks import run_in_forks
from kwhatif.results.amounts import format_count
from kwhatif.simulation.autoscaler_selection import find_autoscalers
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.node_pools import pool_of, pool_selector_of, zone_of
from kwhatif.simulation.placement.autoscalers import Autoscalers
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.deployment import surge_of

Trial = Callable[[], Risk | None]
"""Tries one thing, and says what it leaves without a node."""

MOST_NODES = 20
"""Of the nodes with pods of the change, so many with the most are lost one by one."""

MOST_UPGRADED = 100
"""Larger pools are not upgraded."""


class RiskSearch(msgspec.Struct, dict=True):
    """Looks for what the change makes worse; ``after`` is the snapshot with it. ``examined`` says what was tried, and
    what was not.
    """

    rolled_out: RolledOutChange
    after: Snapshot
    context: Context
    commands: Commands
    processes: int | None = None
    examined: list[str] = []

    def risks(self) -> tuple[Risk, ...]:
        """What leaves pods without a node, the worst first."""
        if not self._pods_by_node:
            return ()
        outages, upgrades, rollouts = list(self._outages()), list(self._upgrades()), list(self._rollouts())
        # What takes longest comes first.
        tried = run_in_forks([*upgrades, *outages, *rollouts], self.processes)
        risks = [risk for risk in tried if risk is not None]
        worse = [risk for risk in risks if risk.after > (risk.before or 0)]
        if len(worse) < len(risks):
            same = len(risks) - len(worse)
            self.examined.append(f"{same} of these {'is' if same == 1 else 'are'} as bad without the change")
        return tuple(sorted(worse, key=lambda risk: ((risk.before or 0) - risk.after, -risk.after, risk.name)))

    @cached_property
    def _pods_by_node(self) -> Counter[str]:
        """How many pods of the change each node has in the end, those under its disruption budgets among them."""
        units = (*self.context.units, *self.context.units_under_changed_budgets)
        running = (row for unit in units for _, row in self.context.running(unit))
        return Counter(self.context.node(row) for row in running)

    @cached_property
    def _after(self) -> Session:
        return self.rolled_out.proposal.session.with_snapshot(self.after, imagined=True)

    @cached_property
    def _before(self) -> Session:
        return self.context.session.with_snapshot(self.rolled_out.proposal.before, imagined=True)

    def _autoscalers_of(self, session: Session) -> Autoscalers | None:
        """The autoscalers of the change, if any, as they begin on the cluster of a session."""
        proposal = self.rolled_out.proposal
        if proposal.autoscalers is None:
            return None
        settled = replace_fields(proposal.with_snapshot(session.snapshot), expanded=ExpandedManifests())
        return find_autoscalers(settled, Notes()).without_orders()

    # --- lost nodes and zones

    def _outages(self) -> Iterator[Trial]:
        nodes = {node.name: node for node in self._after.cluster.columns.given}
        zones: dict[str, list[str]] = {}
        for name, node in nodes.items():
            zones.setdefault(zone_of(node), []).append(name)
        touched = {zone_of(nodes[name]) for name in self._pods_by_node if name in nodes} - {""}
        failures = [NodeFailure(ZONE, zone, tuple(sorted(zones[zone]))) for zone in sorted(touched) if len(zones) > 1]
        most = sorted(self._pods_by_node, key=lambda name: (-self._pods_by_node[name], name))[:MOST_NODES]
        failures += [NodeFailure(NODE, name, (name,)) for name in most]
        lost = f"{format_count(len(most), 'node')}"
        if len(most) < len(self._pods_by_node):
            lost = f"{len(most)} of {format_count(len(self._pods_by_node), 'node')}"
        self.examined.append(
            f"the loss of each of {lost} and {format_count(len(failures) - len(most), 'zone')} with pods of the change"
        )
        return (partial(self._outage, node_failure) for node_failure in failures)

    @cached_property
    def _effects(self) -> FailureEffects:
        return FailureEffects(self._after, autoscalers=self._autoscalers_of(self._after))

    @cached_property
    def _effects_before(self) -> FailureEffects:
        return FailureEffects(self._before, autoscalers=self._autoscalers_of(self._before))

    def _outage(self, node_failure: NodeFailure) -> Risk | None:
        failure = self._effects.failure_of(node_failure)
        if not failure.stuck:
            return None
        workloads = [
            hit.workload for hit in failure.hits if hit.pending or hit.uncreated or hit.waiting or hit.homeless
        ]
        return Risk(
            kind="zone" if failure.kind == ZONE else "node",
            name=failure.name,
            before=self._effects_before.failure_of(node_failure).stuck,
            after=failure.stuck,
            what=f"{format_count(failure.stuck, 'pod')} of {format_count(len(workloads), 'workload')} "
            f"{'finds' if failure.stuck == 1 else 'find'} no other node",
            command=self.commands.outage(failure.kind, failure.name),
        )

    # --- upgrades

    def _upgrades(self) -> Iterator[Trial]:
        pools: dict[tuple[str, str], list[Node]] = {}
        for node in self.context.cluster.columns.given:
            pools.setdefault((pool_of(node), pool_selector_of(node)), []).append(node)
        for (pool, selector), nodes in sorted(pools.items()):
            if not pool or self._pods_by_node.keys().isdisjoint(node.name for node in nodes):
                continue
            if len(nodes) > MOST_UPGRADED:
                self.examined.append(f"not the upgrade of pool {pool}: it has {len(nodes)} nodes")
                continue
            self.examined.append(f"the upgrade of pool {pool} by one node more at a time")
            yield partial(self._upgrade, pool, selector, nodes)

    def _upgrade(self, pool: str, selector: str, nodes: list[Node]) -> Risk | None:
        done = _upgrade_pool(self._after, nodes)
        obstacles = _obstacles(done)
        if not obstacles:
            return None
        return Risk(
            kind="upgrade",
            name=pool,
            before=self._hindering_before(nodes),
            after=len({obstacle.pod for obstacle in obstacles}),
            what=f"{done.phase} on {obstacles[0].pod}: {obstacles[0].reason}",
            command=self.commands.upgrade(selector),
        )

    def _hindering_before(self, nodes: list[Node]) -> int:
        """How many pods hinder the upgrade of these nodes without the change; autoscalers add some for it alone."""
        there = {node.name for node in self._before.cluster.columns.given}
        nodes = [node for node in nodes if node.name in there]
        return len({obstacle.pod for obstacle in _obstacles(_upgrade_pool(self._before, nodes))}) if nodes else 0

    # --- the next rollout

    def _rollouts(self) -> Iterator[Trial]:
        """Deployments of the change whose next update would find no room for all pods of its surge."""
        looked = 0
        for unit in self.context.units:
            running = self.context.running(unit)
            stored = self.rolled_out.proposal.expanded.world.get(
                unit.subject.kind, unit.subject.namespace, unit.subject.name
            )
            if unit.subject.kind != "Deployment" or not running or stored is None or not (surge := surge_of(stored)):
                continue
            looked += 1
            yield partial(self._rollout, f"{unit.subject.namespace}/{unit.subject.name}", running[-1][0].pod, surge)
        if looked:
            self.examined.append(f"room for the surge of the next update of {format_count(looked, 'Deployment')}")

    def _rollout(self, name: str, pod: Pod, surge: int) -> Risk | None:
        autoscalers = self._autoscalers_of(self._after)
        scaler = None if autoscalers is None else autoscalers()
        fits = room_for(self._after.sandbox(), _next_of(pod), (), surge, scaler)
        if fits >= surge:
            return None
        return Risk(
            kind="rollout",
            name=name,
            after=surge - fits,
            what=f"its next update finds room for {fits} of {format_count(surge, 'surge pod')}",
            command=self.commands.gate,
        )


def _upgrade_pool(session: Session, nodes: list[Node]) -> Replacement:
    """The pool with one node more at a time; ``nodes`` are those of the pool."""
    draft = Draft(session.snapshot)
    names = add_new_nodes(draft, nodes, NodeChanges())
    plan = plan_of("surge", len(nodes), len({zone_of(node) for node in nodes}))
    return replace_pool(session.with_snapshot(draft.snapshot), names, plan)


def _obstacles(upgrade: Replacement) -> Sequence[Obstacle]:
    return upgrade.obstacles() if upgrade.phase != "done" else []


def _next_of(pod: Pod) -> PodToSchedule:
    """A pod of the same template that nobody is evicted for."""
    spec = replace(pod.spec, node_name=None, preemption_policy="Never")
    return PodToSchedule(replace(pod, spec=spec, status=PodStatus()), pod.key)
