"""The heap of scored nodes since 1.35: which of several best nodes is its top, and the order of the others.

The scored nodes are made a heap in place, in the order in which they were found, by their totals alone. So among equal
totals the structure of the heap decides, which depends on that order and the totals only.

Upstream: newSortedNodeScores and nodeScoreHeap in pkg/scheduler/schedule_one.go, over Go's container/heap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.scheduling.binary_heap import BinaryHeap

_DEPTH = 48
"""Heaps are less deep than this."""


def _preorder_keys(size: int) -> Int64Array:
    """int64[size]: for each place of a heap a number that grows as a walk comes by it, a parent before its children and
    the left subtree before the right one; a parent's number is also that of the leftmost places below it.
    """
    numbers = np.arange(1, size + 1, dtype=np.int64)
    depths = np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
    keys: Int64Array = numbers << (_DEPTH - depths)
    return keys


_keys = _preorder_keys(1024)


def top_among(best: IntpArray) -> int:
    """Which of the places of the best totals, in the order found, comes to the top: an index into ``best``.

    ``best`` intp[k] is ascending. A place keeps its node unless a child is strictly better, and of two equal children
    the left one moves up; so it is the first of them that a walk through the heap from its top comes by.
    """
    global _keys
    if best[0] == 0:
        return 0
    if best[-1] >= len(_keys):
        _keys = _preorder_keys(2 * int(best[-1]) + 1)
    # A parent comes before the places below it that have the same number.
    return int(_keys[best].argmin())


class NodeScoreHeap:
    """The heap of scored nodes: rows intp[n] in the order found, with their totals int64[n].

    Nodes are popped when they are needed, and kept, so that all holders share one heap.
    """

    def __init__(self, rows: IntpArray, totals: Int64Array, names: Sequence[str]) -> None:
        self._names = names
        self._found = rows, totals
        self._heap: BinaryHeap[tuple[int, int]] | None = None
        self._popped: list[int] = []

    def __len__(self) -> int:
        return len(self._found[0])

    def node(self, place: int) -> str:
        """The name of the node that is taken from the top after so many others."""
        if self._heap is None:
            rows, totals = self._found
            self._heap = BinaryHeap(_has_greater_total, zip(totals.tolist(), rows.tolist(), strict=True))
        while len(self._popped) <= place:
            self._popped.append(self._heap.pop()[1])
        return self._names[self._popped[place]]


def _has_greater_total(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] > other[0]
