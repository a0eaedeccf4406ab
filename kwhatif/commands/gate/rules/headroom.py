"""Every pool that the change puts pods into keeps a share of its resources free."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Annotated

from msgspec import Meta

from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.results.amounts import format_amount, format_count
from kwhatif.results.gate import Finding, Subject
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, added_nodes
from kwhatif.simulation.node_pools import pool_of


class HeadroomParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    percent: Annotated[float, Meta(ge=0, le=100, description="The share that has to stay free.")] = 10
    resources: Annotated[tuple[str, ...], Meta(description="Of these resources.")] = ("cpu", "memory")
    pool_label: Annotated[
        str, Meta(description="The node label that names the pool. Default: the labels of well-known providers.")
    ] = ""


class Headroom(Rule[HeadroomParameters]):
    name = "headroom"
    purpose = "Every pool of nodes that gets pods keeps a share of its resources free."
    details = "Checks the pools that get pods, without cordoned nodes."
    parameters = HeadroomParameters

    def threshold(self) -> str:
        return f"at least {self.given.percent:g}% of {', '.join(self.given.resources)} free in every pool"

    def check(self, context: Context) -> Iterator[Finding]:
        cluster = context.cluster
        columns, amounts = cluster.columns, cluster.shapes.resources.amounts
        pools: dict[str, list[int]] = {}
        for row, node in enumerate(columns.nodes):
            if not node.spec.unschedulable:
                pools.setdefault(pool_of(node, self.given.pool_label), []).append(row)
        touched = {
            columns.row(placement.node)
            for unit in context.units
            if self.given.selects(unit)
            for placement in unit.placements
            if placement.node
        }
        least = 100.0
        for pool, rows in sorted(pools.items()):
            if touched.isdisjoint(rows):
                continue
            self.checked += 1
            for resource in self.given.resources:
                whole = int(amounts(columns.allocatable, resource)[rows].sum())
                free = whole - int(amounts(cluster.requested, resource)[rows].sum())
                if not whole:
                    continue
                share = _percent(free, whole)
                least = min(least, share)
                if free * 100 >= whole * self.given.percent:
                    continue
                was = whole - int(amounts(context.before.requested, resource)[rows].sum())
                called = f"pool {pool}" if pool else "nodes of no pool"
                yield self.finding(
                    Subject(kind="Pool", name=pool or "<none>"),
                    f"{called}: {share:g}% of {resource} left",
                    f"Of {format_amount(resource, whole)} {resource} on {format_count(len(rows), 'node')}, "
                    f"{format_amount(resource, free)} ({share:g}%) stay free; it was {format_amount(resource, was)} "
                    f"({_percent(was, whole):g}%). At least {self.given.percent:g}% should.",
                    about=resource,
                    numbers={
                        "pool": pool,
                        "resource": resource,
                        "freePercent": share,
                        "freePercentBefore": _percent(was, whole),
                        "percent": self.given.percent,
                        "free": free,
                        "allocatable": whole,
                    },
                )
        nobody = [name for name in self.given.resources if not amounts(columns.allocatable, name).any()]
        text = f"; no node has {', '.join(nobody)}" if nobody else ""
        self.summary = f"{format_count(self.checked, 'pool')}, the least left is {least:g}%" if self.checked else ""
        self.summary += text

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        """As many nodes like one of the pool as keep its share free."""
        columns, said = context.cluster.columns, finding.numbers
        pool, resource, share = str(said["pool"]), str(said["resource"]), self.given.percent / 100
        of_node = context.cluster.shapes.resources.amounts(columns.allocatable, resource)
        for row, node in enumerate(columns.nodes):
            open_ = not node.spec.unschedulable and of_node[row] > 0
            if pool_of(node, self.given.pool_label) == pool and open_ and share < 1:
                lacks = share * int(said["allocatable"]) - int(said["free"])
                yield added_nodes(max(1, ceil(lacks / (int(of_node[row]) * (1 - share)))), node.name)
                return


def _percent(part: float, whole: float) -> float:
    """The share of a whole, in percent with one decimal; of nothing, none is left."""
    return round(100 * part / whole, 1) if whole else 0.0
