"""What evictions would come to on each node, kept from one preemptor to the next that looks alike.

A preemptor changes one node. Of the others it stays true which pods would have to leave, as long as no filter asks
where pods on other nodes are and nobody is nominated there.
"""

from __future__ import annotations

import numpy as np

from kwhatif.api.others import PodDisruptionBudget
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.framework.diagnosis import Answers
from kwhatif.scheduling.candidate_nodes import NONE, Candidates


class Tried:
    """Nodes where evictions have been tried for pods that ``evaluation`` is about, under the same budgets.

    ``_place`` intp[N] says where in ``_found`` a node is: NOWHERE if it would not do, UNKNOWN if it was not tried since
    it changed.
    """

    def __init__(self, evaluation: Answers, cluster: Cluster) -> None:
        self.evaluation = evaluation
        self._cluster = cluster
        self._budgets = list(cluster.objects.of(PodDisruptionBudget))
        self._place: IntpArray = np.full(len(cluster), _UNKNOWN, np.intp)
        self._found = NONE
        self._seen = len(cluster.journal)

    def catch_up(self) -> None:
        """Forget the nodes that have changed, and all of them where budgets are others."""
        self.forget(np.array(self._cluster.changed(self._seen), np.intp))
        self._seen = len(self._cluster.journal)
        budgets = self._cluster.objects.of(PodDisruptionBudget)
        if self._budgets != budgets:
            self._budgets = list(budgets)
            self._place[:] = _UNKNOWN

    def forget(self, rows: IntpArray) -> None:
        self._place[rows] = _UNKNOWN

    def unknown(self, rows: IntpArray) -> BoolArray:
        """bool[n]: which of these nodes have to be tried."""
        unknown: BoolArray = self._place[rows] == _UNKNOWN
        return unknown

    def keep(self, rows: IntpArray, found: Candidates) -> None:
        """These nodes were tried, and those that were found would do."""
        self._place[rows] = _NOWHERE
        if len(self._found) + len(found) > 2 * len(self._place):
            kept = np.flatnonzero(self._place >= 0)
            self._found = self._found.part(self._place[kept])
            self._place[kept] = np.arange(len(kept))
        self._place[found.rows] = len(self._found) + np.arange(len(found))
        self._found = self._found.plus(found)

    def among(self, rows: IntpArray) -> Candidates:
        """Those of the nodes that would do, all of which have been tried."""
        places = self._place[rows]
        return self._found.part(places[places >= 0])


_UNKNOWN, _NOWHERE = -2, -1
