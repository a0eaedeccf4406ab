"""Pods of other schedulers, which make a node's cells another than the cache of NodeResourceTopologyMatch believes.

Upstream: pkg/noderesourcetopology (cache/foreign_pods.go, resourcerequests/exclusive.go) of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kwhatif.api.core import PodSpec
from kwhatif.api.quantity import Quantity
from kwhatif.cluster.cluster import Cluster
from kwhatif.plugins.shared.cell_search import is_native
from kwhatif.plugins.shared.numa_cells import Cell
from kwhatif.plugins.shared.pod_qos import QosClass, qos_class_of, requests_of


def has_foreign_pods(
    cluster: Cluster, row: int, schedulers: Collection[str], cells: Sequence[Cell], *, only_exclusive: bool
) -> bool:
    """Whether a pod of another scheduler runs on the node; ``only_exclusive``: one that has something for itself."""
    foreign = [
        info.shape.spec
        for info in cluster.pods_on[row]
        if (info.shape.spec.scheduler_name or "default-scheduler") not in schedulers
    ]
    if not only_exclusive:
        return bool(foreign)
    listed = {name for cell in cells for name in cell.available}
    return any(_has_for_itself(spec, listed) for spec in foreign)


def _has_for_itself(spec: PodSpec, listed: Collection[str]) -> bool:
    qos = qos_class_of(spec)
    sidecars = [each for each in spec.init_containers or () if each.restart_policy == "Always"]
    return any(
        _is_exclusive(qos, name, amount, listed)
        for container in (*sidecars, *(spec.containers or ()))
        for name, amount in requests_of(container).items()
    )


def _is_exclusive(qos: QosClass, name: str, amount: Quantity, listed: Collection[str]) -> bool:
    if not is_native(name):
        return name in listed
    if qos is not QosClass.GUARANTEED:
        return False
    if name == "cpu":
        return amount.value() > 0 and amount.value() * 1000 == amount.milli_value()
    return (name == "memory" or name.startswith("hugepages-")) and amount.value() > 0
