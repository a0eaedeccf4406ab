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
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.scheduling.node_score_heap import top_of


class Choice(Enum):
    """What decides between nodes that are equally good.

    ONLY: nothing, there is one. HEAP: the rule that follows from the order in which nodes were found, whether or not
    there are several. DRAW: chance, in whose place the first by name stands unless there is a seed. WISH: the caller's
    own preference.
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
        totals: Int64Array,
        prefers: Mapping[str, str],
        randomized: BoolArray | None = None,
        *,
        in_any_order: bool = False,
    ) -> tuple[int, Choice]:
        """The place of one of the best among the ``rows`` intp[n] in the order found, by their ``totals`` int64[n].

        ``prefers`` has for pods, by uid or key, the node to take if it is among the best. ``randomized`` bool[n] are
        the nodes with a random number as second key, since extenders scored them. ``in_any_order``: upstream finds the
        nodes in an order that is another one in each run.
        """
        by_heap = self._cluster.shapes.features.best_node_is_top_of_a_heap and not (self._by_name or in_any_order)
        # The common case needs no list of the best: the top of upstream's heap is the answer.
        if by_heap and not prefers and randomized is None:
            return top_of(totals), Choice.HEAP
        columns = self._cluster.columns
        best = (totals == totals.max()).nonzero()[0]
        if len(best) == 1:
            return int(best[0]), Choice.ONLY
        # A recorded or wished node decides only among equals; it never wins over a better score.
        if prefers:
            preferred = columns.row(prefers.get(pod.uid) or prefers.get(pod.key, ""))
            wished = best[rows[best] == preferred] if preferred is not None else best[:0]
            if len(wished):
                return int(wished[0]), Choice.WISH
        if by_heap:
            # Only nodes that an extender scored have the second key, which is random: these are drawn among.
            drawn = best[:0] if randomized is None else best[randomized[best]]
            if not len(drawn):
                return top_of(totals), Choice.HEAP
            best = drawn
        # Before the heap upstream drew among the best as it met them. Names give an order that is the same wherever the
        # search starts, so that a seed means the same draw.
        ranks = columns.name_rank[rows[best]]
        if self.random is not None:
            return int(best[np.argsort(ranks)[self.random.randrange(len(best))]]), Choice.DRAW
        return int(best[ranks.argmin()]), Choice.DRAW
