"""A heap the plain way, as Go's container/heap makes and empties one: what the faster one is held against."""

from __future__ import annotations

from collections.abc import Sequence


def emptied(totals: Sequence[int]) -> list[int]:
    """The places of nodes with these totals in the order in which a heap of them is emptied."""
    heap = list(enumerate(totals))

    def down(at: int, size: int) -> None:
        while True:
            left = 2 * at + 1
            if left >= size:
                return
            better = left
            if left + 1 < size and heap[left + 1][1] > heap[left][1]:
                better = left + 1
            if not heap[better][1] > heap[at][1]:
                return
            heap[at], heap[better] = heap[better], heap[at]
            at = better

    for start in reversed(range(len(heap) // 2)):
        down(start, len(heap))
    order = []
    while heap:
        heap[0], heap[-1] = heap[-1], heap[0]
        down(0, len(heap) - 1)
        order.append(heap.pop()[0])
    return order
