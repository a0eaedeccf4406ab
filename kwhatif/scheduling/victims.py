"""Pods by node in order of importance, as a matrix: what preemption works on.

Upstream: pkg/scheduler/util/utils.go (MoreImportantPod).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray


@dataclass(frozen=True, slots=True)
class Claim:
    """Pods that would have to leave a node, and how many of these evictions break a budget."""

    victims: tuple[PodInfo, ...]
    violations: int


def by_importance(pods: Sequence[PodInfo]) -> list[PodInfo]:
    """Higher priority first, then the one that started earlier.

    Upstream takes the present moment for a pod that has not started, anew in every comparison, which makes the
    later of two such pods the more important one.
    """
    order = sorted(
        range(len(pods)),
        key=lambda i: (-pods[i].priority, pods[i].start, -i if pods[i].start == NEVER_STARTED else i),
    )
    return [pods[i] for i in order]


class VictimTable:
    """All pods of a cluster, a row a node, the most important first; follows the cluster's journal."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        # Rows that are dealt anew take another table.
        self.columns = cluster.columns
        self._pods: list[list[PodInfo] | None] = [None] * len(cluster)
        self._width = 8
        self._shapes = np.zeros((len(cluster), self._width), np.intp)
        self._starts = np.zeros((len(cluster), self._width), np.int64)
        self._count = np.zeros(len(cluster), np.intp)
        self._seen = len(cluster.journal)

    def pods(self, row: int) -> list[PodInfo]:
        """The pods of one node, the most important first."""
        found = self._pods[row]
        if found is None:
            found = self._pods[row] = by_importance(self.cluster.pods_on[row])
            if len(found) > self._width:
                self._widen(len(found))
            self._shapes[row, : len(found)] = [info.shape.index for info in found]
            self._starts[row, : len(found)] = [info.start for info in found]
            self._count[row] = len(found)
        return found

    def on(self, rows: IntpArray) -> tuple[IntpArray, BoolArray]:
        """intp[n, P] shape numbers and bool[n, P] which of the places are taken."""
        for row in self.cluster.changed(self._seen):
            self._pods[row] = None
        self._seen = len(self.cluster.journal)
        pods = self._pods
        for row in rows.tolist():
            if pods[row] is None:
                self.pods(row)
        count = self._count[rows]
        width = int(count.max(initial=1))
        return self._shapes[rows, :width], np.arange(width) < count[:, None]

    def starts(self, rows: IntpArray, width: int) -> Int64Array:
        """int64[n, width] start times of the pods that ``on`` gave for the same rows."""
        return self._starts[rows, :width]

    def _widen(self, least: int) -> None:
        more = max(2 * self._width, least) - self._width
        self._width += more
        self._shapes = np.pad(self._shapes, ((0, 0), (0, more)))
        self._starts = np.pad(self._starts, ((0, 0), (0, more)))
