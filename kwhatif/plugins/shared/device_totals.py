"""Extended resources that device classes serve, as the resource plugins see them.

Upstream: plugins/noderesources (fit.go shouldDelegateResourceToDRA, resource_allocation.go
calculateDRAResourceTotals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.memory import once_a_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.framework.allocation import Allocation, ScoredResources
from kwhatif.framework.interface import Handle, Scope


def left_to_devices(name: str, nodes: NodeView) -> BoolArray:
    """bool[n]: nodes where no device plugin serves a resource, so that DynamicResources has to see to it."""
    cluster = nodes.cluster
    if cluster.devices.features.extended_resources_reuse_devices:
        column: Int64Array = cluster.shapes.resources.amounts(nodes.allocatable, name)
        return column <= 0
    found: BoolArray = nodes.of(~nodes_with(cluster, name))
    return found


@once_a_cluster
def nodes_with(cluster: Cluster, resource: str) -> BoolArray:
    """bool[N]: nodes that know a resource, though they may have none of it."""
    every = cluster.columns.nodes
    return np.fromiter((resource in node.status.for_pods for node in every), np.bool_, len(every))


def score_scope(pod: PodInfo, resources: Sequence[tuple[str, int]], handle: Handle) -> Scope:
    """That of scores by amounts: the node's own, unless a resource that is scored for this pod is served by devices."""
    if handle.cluster is None or not handle.features.extended_resources_are_scored_by_devices:
        return Scope.ROW
    serving = handle.cluster.devices.serving
    devices = any(name in serving and pod.shape.requests.get(name) for name, _ in resources)
    return Scope.CLUSTER if devices else Scope.ROW


def with_devices(at: Allocation, resources: ScoredResources, nodes: NodeView, handle: Handle) -> Allocation:
    """The same, with devices counted where no device plugin serves a resource."""
    cluster = nodes.cluster
    serving = cluster.devices.serving
    if not serving or not handle.features.extended_resources_are_scored_by_devices:
        return at
    for k, name in enumerate(resources.names):
        if name not in serving:
            continue
        there, taken = totals(nodes, name)
        counts = (at.capacity[:, k] == 0) & (there > 0)
        if not counts.any():
            continue
        capacity, used, requested = at.capacity.copy(), at.used.copy(), at.requested.copy()
        capacity[:, k] = np.where(counts, there, capacity[:, k])
        used[:, k] = np.where(counts, taken, used[:, k])
        requested[:, k] = np.where(counts, taken + resources.asked[k], requested[:, k])
        at = replace(at, capacity=capacity, used=used, requested=requested)
    return at


def totals(nodes: NodeView, name: str) -> tuple[Int64Array, Int64Array]:
    """int64[n] each: devices of the class that serves a resource, and those of them in use."""
    from kwhatif.devices.ledger import Ledger
    from kwhatif.devices.selection import NO, YES, selection_of

    cluster = nodes.cluster
    ledger = Ledger.of(cluster)
    inventory, size = ledger.inventory, len(cluster)
    own = cluster.devices.serving[name]
    codes = selection_of(inventory, own.name, own.spec.selectors, None).codes
    numbers, rows = inventory.listed
    matching = codes[numbers] == YES
    in_use = (ledger.taken | ledger.shared)[numbers]
    there = np.bincount(rows[matching], minlength=size).astype(np.int64)
    taken = np.bincount(rows[matching & in_use], minlength=size).astype(np.int64)
    broken = (codes[numbers] != YES) & (codes[numbers] != NO)
    there[rows[broken]] = taken[rows[broken]] = 0
    return nodes.of(there), nodes.of(taken)
