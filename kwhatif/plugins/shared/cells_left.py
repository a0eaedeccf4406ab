"""The free amounts of NUMA cells: what was available, less the requests of pods placed since, node by node.

Upstream: the over-reserving cache of pkg/noderesourcetopology/cache of scheduler-plugins.
"""

from __future__ import annotations

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.plugins.shared.bound_before import bound_before
from kwhatif.plugins.shared.cell_search import amounts_of
from kwhatif.plugins.shared.followed_pods import Following
from kwhatif.plugins.shared.numa_cells import cells_of
from kwhatif.plugins.shared.pod_qos import effective_requests


class CellsLeft:
    """Follows a cluster: a pod's requests are subtracted from every cell of its node, down to zero.

    As the result depends on the order in which pods came, a node that a pod has left is recomputed.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._cells = cluster, cells_of(cluster)
        self._before = bound_before(cluster)
        self._left = self._cells.available.copy()
        self._taken: dict[int, tuple[IntpArray, Int64Array]] = {}
        self._outdated: set[int] = set()
        self._following = Following(cluster, self)

    def of_rows(self, rows: IntpArray) -> Int64Array:
        """int64[n, Z, R]: thousandths that the cells of these nodes have left, to be changed at will."""
        self._following.catch_up()
        for row in self._outdated:
            self._left[row] = self._cells.available[row]
            for info in self._cluster.pods_on[row]:
                self.come(info, row)
        self._outdated.clear()
        left: Int64Array = self._left[rows]
        return left

    def come(self, info: PodInfo, row: int) -> None:
        if info.uid in self._before:
            return
        columns, amounts = self._amounts_of(info)
        left = self._left[row]
        left[:, columns] = np.maximum(left[:, columns] - amounts, 0)

    def leave(self, info: PodInfo, row: int) -> None:
        self._outdated.add(row)

    def _amounts_of(self, info: PodInfo) -> tuple[IntpArray, Int64Array]:
        """Columns of resources and thousandths of them; the same for pods of one shape."""
        amounts = self._taken.get(info.shape.index)
        if amounts is None:
            names = self._cells.names
            requests = amounts_of(effective_requests(info.shape.spec)).items()
            known = [(names[name], amount) for name, amount in requests if name in names]
            amounts = self._taken[info.shape.index] = (
                np.array([column for column, _ in known], np.intp),
                np.array([amount for _, amount in known], np.int64),
            )
        return amounts


@cached_per_cluster
def cells_left_of(cluster: Cluster) -> CellsLeft:
    """What is left in a cluster, which is kept up to date."""
    return CellsLeft(cluster)
