"""Single changes to one node that might let a pod run there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.api.quantity import Quantity
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.units import spell_amount
from kwhatif.framework.verdicts import Verdicts

__all__ = ["cordoned", "roomier"]


def cordoned(cluster: Cluster, verdicts: Verdicts) -> list[int]:
    """Rows of cordoned nodes that nothing else (but the cordon's own taint) keeps the pod off."""
    cordoned = np.zeros(len(cluster), np.bool_)
    others = np.zeros(len(cluster), np.bool_)
    for blocker in verdicts.blockers:
        if blocker.plugin == "NodeUnschedulable":
            cordoned |= blocker.where
        elif blocker.plugin != "TaintToleration":
            others |= blocker.where
    rows = np.flatnonzero(cordoned & ~others)
    return sorted(rows.tolist(), key=cluster.columns.names.__getitem__)


def roomier(pod: PodInfo, cluster: Cluster, rows: Sequence[int], *, most: int) -> Iterator[tuple[str, Node]]:
    """Free what one resource is short of, on the nodes where that is least; or one place for a pod.

    Nodes that could not hold the pod if they were empty are left out: there is nothing to free.
    """
    axis, columns = cluster.shapes.resources, cluster.columns
    found: list[tuple[float, str, str, Node]] = []
    for row in rows:
        node, total = columns.nodes[row], columns.allocatable[row]
        if columns.allowed_pods[row] < 1 or any(a > total[axis.column(n)] for n, a in pod.shape.requests.items()):
            continue
        free = total - cluster.requested[row]
        short = {
            name: asked - int(free[axis.column(name)])
            for name, asked in pod.shape.requests.items()
            if asked > free[axis.column(name)]
        }
        full = int(cluster.pod_count[row] - columns.allowed_pods[row]) + 1
        if full > 0 and not short:
            count = f"{cluster.pod_count[row]} of {columns.allowed_pods[row]}"
            found.append(
                (
                    full,
                    node.name,
                    f"take a pod off node {node.name} ({count} run there)",
                    _more(node, "pods", full),
                )
            )
        elif full <= 0 and len(short) == 1:
            ((name, lack),) = short.items()
            share = lack / int(total[axis.column(name)])
            text = f"free {spell_amount(name, lack)} {name} on node {node.name}"
            found.append((share, node.name, text, _more(node, name, lack)))
    for _, _, text, edited in sorted(found, key=lambda item: item[:2])[:most]:
        yield text, edited


def _more(node: Node, name: str, lack: int) -> Node:
    """The node with that much more to give: the same to the scheduler as that much less in use."""
    allocatable = dict(node.status.for_pods)
    more = Quantity.from_milli(lack) if name == "cpu" else Quantity.from_units(lack)
    allocatable[name] = allocatable[name] + more if name in allocatable else more
    return replace(node, status=replace(node.status, allocatable=allocatable))
