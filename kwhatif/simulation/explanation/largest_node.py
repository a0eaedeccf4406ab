"""Whether any node could ever hold a pod: what nodes offer beside the pods that never leave them."""

from __future__ import annotations

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_bound_pods import room_if_empty
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.status import Verdicts
from kwhatif.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.results.amounts import format_amount, format_count


def describe_largest_node(pod: PodInfo, cluster: Cluster, verdicts: Verdicts) -> str:
    """``no node would do, even empty: ...``, with what the largest offers; empty if some node could hold the pod.

    Only nodes count that nothing but resources keeps from the pod.
    """
    rows = verdicts.only_blocked_by().get(NodeResourcesFit.name, [])
    axis = cluster.shapes.resources
    offers = {row: room_if_empty(cluster, row) for row in rows}
    for name, amount in pod.shape.requests.items():
        column = axis.column(name)
        best = max(rows, key=lambda row: int(offers[row][column]), default=None)
        if best is None or offers[best][column] >= amount:
            continue
        one = f"node {cluster.columns.names[best]}"
        node = one if len(rows) == 1 else f"the largest of {format_count(len(rows), 'node')}"
        taken = offers[best][column] < cluster.columns.allocatable[best][column]
        offer = f"{format_amount(name, int(offers[best][column]))} {name}"
        return (
            f"no node would do, even empty: {node} offers {offer}{' beside its daemon pods' if taken else ''}, "
            f"the pod requests {format_amount(name, amount)}"
        )
    return ""
