"""Pods of other schedulers, for which the cache of NodeResourceTopologyMatch does not account.

Upstream: pkg/noderesourcetopology (cache/foreign_pods.go, resourcerequests/exclusive.go) of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kwhatif.api.core import PodSpec
from kwhatif.api.quantity import Quantity
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.plugins.shared.cell_search import is_native
from kwhatif.plugins.shared.followed_pods import Following
from kwhatif.plugins.shared.numa_cells import cells_of
from kwhatif.plugins.shared.pod_qos import QosClass, qos_class_of, requests_of


class ForeignPods:
    """Follows a cluster: how many pods of other schedulers are on each node.

    ``only_exclusive``: of them those that have something of what the node's cells list for themselves.
    """

    def __init__(self, cluster: Cluster, schedulers: Collection[str], *, only_exclusive: bool) -> None:
        self._schedulers = schedulers
        self._listed: list[frozenset[str]] | None = None
        if only_exclusive:
            lists = cells_of(cluster).lists
            self._listed = [frozenset(name for cell in cells for name in cell.available) for cells in lists]
        self._number = np.zeros(len(cluster), np.int64)
        self._following = Following(cluster, self)

    def on_rows(self, rows: IntpArray) -> BoolArray:
        """bool[n]: whether there is one on these nodes."""
        self._following.catch_up()
        mask: BoolArray = self._number[rows] > 0
        return mask

    def come(self, info: PodInfo, row: int) -> None:
        self._number[row] += self._is_foreign(info, row)

    def leave(self, info: PodInfo, row: int) -> None:
        self._number[row] -= self._is_foreign(info, row)

    def _is_foreign(self, info: PodInfo, row: int) -> bool:
        spec = info.shape.spec
        if (spec.scheduler_name or "default-scheduler") in self._schedulers:
            return False
        return self._listed is None or _has_for_itself(spec, self._listed[row])


@cached_per_cluster
def foreign_pods_of(cluster: Cluster, schedulers: tuple[str, ...], only_exclusive: bool) -> ForeignPods:
    """Foreign pods of a cluster, which are kept up to date."""
    return ForeignPods(cluster, schedulers, only_exclusive=only_exclusive)


def _has_for_itself(spec: PodSpec, listed: Collection[str]) -> bool:
    qos = qos_class_of(spec)
    sidecars = [
        init_container for init_container in spec.init_containers or () if init_container.restart_policy == "Always"
    ]
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
