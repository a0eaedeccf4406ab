"""The choice among several best nodes, by version.

Upstream: selectHost in pkg/scheduler/schedule_one.go until 1.34, and newSortedNodeScores since.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from random import Random

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.scheduling.node_score_heap import top_among


class Choice(Enum):
    """What decides between nodes that are equally good.

    ONLY: there was one best node. HEAP: the rule that follows from the order in which nodes were found. DRAW: chance,
    in whose place the first by name stands unless there is a seed. WISH: the caller's own preference.
    """

    ONLY = "only"
    HEAP = "heap"
    DRAW = "draw"
    WISH = "wish"


class HostSelection:
    """The choice of one profile's scheduler. With ``by_name`` the first by name is taken, whatever the version says.

    ``random`` draws where chance decides; without it the first by name stands for any.
    """

    def __init__(self, cluster: Cluster, *, by_name: bool = False, random: Random | None = None) -> None:
        self._cluster, self._by_name = cluster, by_name
        self.random = random

    def select(
        self,
        pod: PodInfo,
        rows: IntpArray,
        best: IntpArray,
        prefers: Mapping[str, str],
        randomized: BoolArray | None = None,
        *,
        in_any_order: bool = False,
    ) -> tuple[int, Choice]:
        """One of the ``best`` places intp[k], ascending, among the ``rows`` intp[n] in the order found.

        ``prefers`` has for pods, by uid or key, the node to take if it is among the best. ``randomized`` bool[n] are
        the nodes with a random number as second key, since extenders scored them. ``in_any_order``: upstream finds the
        nodes in an order that is another one in each run.
        """
        if len(best) == 1:
            return int(rows[best[0]]), Choice.ONLY
        columns = self._cluster.columns
        if prefers:
            preferred = columns.row(prefers.get(pod.uid) or prefers.get(pod.key, ""))
            if preferred is not None and preferred in rows[best]:
                return preferred, Choice.WISH
        if not self._by_name and self._cluster.shapes.features.best_node_is_top_of_a_heap and not in_any_order:
            drawn = best[:0] if randomized is None else best[randomized[best]]
            if not len(drawn):
                return int(rows[best[top_among(best)]]), Choice.HEAP
            best = drawn
        ranks = columns.name_rank[rows[best]]
        if self.random is not None:
            return int(rows[best[np.argsort(ranks)[self.random.randrange(len(best))]]]), Choice.DRAW
        return int(rows[best[ranks.argmin()]]), Choice.DRAW
