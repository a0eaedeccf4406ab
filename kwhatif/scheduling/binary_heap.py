"""A binary heap with the operations of Go's container/heap, step by step.

Where keys change while they are in the heap, or the comparison is no total order, the order of removal depends on these
operations. Upstream: container/heap of Go, pkg/scheduler/backend/heap/heap.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def has_lesser_key(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Compares entries by their first element alone."""
    return bool(one[0] < other[0])


class BinaryHeap(Generic[T]):
    """``less`` says whether an item goes before another; ``items`` are there from the start, in any order."""

    def __init__(self, less: Callable[[T, T], bool], items: Iterable[T] = ()) -> None:
        self._less = less
        self._items = list(items)
        for place in range(len(self._items) // 2 - 1, -1, -1):
            self._down(place, len(self._items))

    def __len__(self) -> int:
        return len(self._items)

    def push(self, item: T) -> None:
        self._items.append(item)
        self._up(len(self._items) - 1)

    def pop(self) -> T:
        """The item on top. Raises IndexError."""
        items = self._items
        items[0], items[-1] = items[-1], items[0]
        self._down(0, len(items) - 1)
        return items.pop()

    def _up(self, place: int) -> None:
        items, less = self._items, self._less
        while place > 0:
            parent = (place - 1) // 2
            if not less(items[place], items[parent]):
                break
            items[place], items[parent] = items[parent], items[place]
            place = parent

    def _down(self, place: int, size: int) -> None:
        items, less = self._items, self._less
        while (child := 2 * place + 1) < size:
            if child + 1 < size and less(items[child + 1], items[child]):
                child += 1
            if not less(items[child], items[place]):
                break
            items[place], items[child] = items[child], items[place]
            place = child
