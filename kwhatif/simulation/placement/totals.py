"""Totals of placements, and what is allocated by pool."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from kwhatif.api.core import Node
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.types import IntpArray
from kwhatif.results.place import Allocation, Cause, Placement, Pool, Totals
from kwhatif.simulation.node_pools import pool_of

_OF_NODES = re.compile(r"0/\d+ nodes are available: ")
_NUMBER = re.compile(r"(?:^|, )\d+ ")


def totals(placements: Sequence[Placement], cluster: Cluster) -> Totals:
    """Count ``placements`` that have led to this ``cluster``."""
    outcomes = Counter(placement.outcome for placement in placements)
    causes = Counter(cause(placement.reason) for placement in placements if not placement.good)
    pools: dict[str, list[int]] = {}
    nodes = cluster.objects.list_all(Node)
    known = cluster.objects.share(pool_of, (Node.__name__,), lambda: {node.name: pool_of(node) for node in nodes})
    for row, node in enumerate(cluster.columns.nodes):
        pool = known.get(node.name)
        pools.setdefault(pool_of(node) if pool is None else pool, []).append(row)
    ranked = sorted(causes.items(), key=lambda entry: (-entry[1], entry[0]))
    return Totals(
        pods=len(placements),
        placed=outcomes["placed"],
        autoscaled=outcomes["autoscaled"],
        skipped=outcomes["skipped"],
        unplaced=sum(causes.values()),
        causes=tuple(Cause(reason=reason, pods=number) for reason, number in ranked),
        pools=tuple(_pool(name, np.array(rows, np.intp), cluster) for name, rows in sorted(pools.items())),
    )


def cause(reason: str) -> str:
    """A failure message's reasons without their numbers, which differ from pod to pod; else the reason itself.

    ``0/6 nodes are available: 2 Insufficient cpu, 4 node(s) were unschedulable.`` is ``Insufficient cpu, node(s) were
    unschedulable``.
    """
    found = _OF_NODES.match(reason)
    if found is None:
        return reason
    # What preemption says comes after a full stop.
    reasons = reason[found.end() :].partition(". ")[0].removesuffix(".")
    return ", ".join(sorted(filter(None, _NUMBER.split(reasons))))


def _pool(name: str, rows: IntpArray, cluster: Cluster) -> Pool:
    columns, pods = cluster.columns, int(cluster.pod_count[rows].sum())
    amounts = [
        (resource, int(columns.allocatable[rows, column].sum()), int(cluster.requested[rows, column].sum()))
        for column, resource in enumerate(cluster.shapes.resources.names)
    ]
    amounts.append(("pods", int(columns.allowed_pods[rows].sum()), pods))
    return Pool(
        pool=name,
        nodes=len(rows),
        pods=pods,
        resources=tuple(
            Allocation(resource=resource, allocatable=has, requested=asked)
            for resource, has, asked in amounts
            if has or asked
        ),
    )
