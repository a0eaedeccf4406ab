"""The heap of scored nodes since 1.35: which of several best nodes is its top, and the order of the others.

The scored nodes are made a heap in place, in the order in which they were found, by their totals alone. So among equal
totals the structure of the heap decides, which depends on that order and the totals only.

Upstream: newSortedNodeScores and nodeScoreHeap in pkg/scheduler/schedule_one.go, over Go's container/heap.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.scheduling.binary_heap import BinaryHeap


def top_of(totals: Int64Array) -> int:
    """The place of the node that comes to the top, of totals int64[n] in the order found, of which there are some.

    A place keeps its node unless a child is strictly better, and of two equal children the left one moves up; so it is
    the first of the best that a walk through the heap from its top comes by.
    """
    walk = _walk(len(totals))
    return walk.item(totals.take(walk).argmax())


@lru_cache(maxsize=256)
def _walk(size: int) -> IntpArray:
    """intp[size]: the places of a heap, a parent before its children and the left subtree before the right one."""
    whole = _whole_walk(size.bit_length())
    order: IntpArray = whole[whole < size]
    order.flags.writeable = False
    return order


@cache
def _whole_walk(depth: int) -> IntpArray:
    """The walk through a heap of which every level down to this depth is full."""
    numbers = np.arange(1, 2**depth, dtype=np.int64)
    depths = np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
    # Moved to one depth, a parent has the number of the leftmost places below it, before which it stands.
    order: IntpArray = np.argsort(numbers << (depth - depths), kind="stable")
    return order


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
        """The name of the node that is popped after a number of others."""
        if self._heap is None:
            rows, totals = self._found
            self._heap = BinaryHeap(_has_greater_total, zip(totals.tolist(), rows.tolist(), strict=True))
        while len(self._popped) <= place:
            self._popped.append(self._heap.pop()[1])
        return self._names[self._popped[place]]


def _has_greater_total(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] > other[0]
