"""Whether the free resources of all nodes together cover a group's minResources.

Upstream: CheckClusterResource in pkg/coscheduling/core/core.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kwhatif.api.core import ResourceList
from kwhatif.api.quantity import Quantity
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.pod_requests import is_scalar
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array

_COUNTED = ("cpu", "memory", "ephemeral-storage")


def resource_gap(cluster: Cluster, needed: ResourceList, members: int, own: Iterable[tuple[PodInfo, int]]) -> str:
    """The missing resources, as Go prints a map of quantities; empty if there is enough.

    Nodes are added up in the scheduler's order until there is enough, and those with a negative amount count; ``own``
    are pods of the group with their rows, whose requests count as free. ``members`` is how many pods there must be room
    for.
    """
    wanted = {**needed, "pods": Quantity.from_units(members)}
    own = list(own)
    gaps = {}
    for name, amount in sorted(wanted.items()):
        left = _left(cluster, name, own)
        power = -3 if name == "cpu" else 0
        need = -(-amount.nano() // 10 ** (9 + power))
        if len(left) and bool((np.cumsum(left) >= need).any()):
            continue
        if need > 0 or not len(left):
            gaps[name] = _as_go_prints(amount, left, power)
    return f"map[{' '.join(f'{name}:{gap}' for name, gap in gaps.items())}]" if gaps else ""


def _left(cluster: Cluster, name: str, own: list[tuple[PodInfo, int]]) -> Int64Array:
    """int64[n]: what nodes have left, in the order in which the scheduler lists them."""
    rows, resources, table = cluster.node_order, cluster.shapes.resources, cluster.shapes
    if name == "pods":
        left = cluster.columns.allowed_pods - cluster.pod_count
        for _, row in own:
            left[row] += 1
        return left[rows]
    if name not in _COUNTED and not is_scalar(name):
        return np.zeros(len(rows), np.int64)
    has = resources.amounts(cluster.columns.allocatable, name)
    left = has - resources.amounts(cluster.requested, name)
    for info, row in own:
        left[row] += int(resources.amounts(table.requests[info.shape.index][None, :], name)[0])
    if name not in _COUNTED:
        listed = [name in node.status.for_pods for node in cluster.columns.nodes]
        left = np.where(np.array(listed, np.bool_), left, 0)
    return left[rows]


def _as_go_prints(amount: Quantity, amounts: Int64Array, power: int) -> str:
    """``{{4014 -3} {<nil>}  DecimalSI}``: the number, the power of ten it counts in, and the form it was given in."""
    exponent = min(amount.exponent, power) if amounts.any() else amount.exponent
    rest = amount.nano() - int(amounts.sum()) * 10 ** (9 + power)
    return f"{{{{{rest // 10 ** (9 + exponent)} {exponent}}} {{<nil>}}  {amount.form}}}"
