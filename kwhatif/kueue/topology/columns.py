"""What the leaves of a topology have and what is used there: a row a leaf, a column a resource, int64."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kwhatif.kueue.amounts import Requests, clamp

Int64Array = npt.NDArray[np.int64]
Mark = tuple[int, int, Int64Array, Int64Array]


class LeafColumns:
    """Amounts by leaf and resource. No sum goes beyond the ends of an int64: it stays there.

    ``free`` is what the nodes have without pods that Kueue does not place, ``left`` what neither these nor workloads
    with a topology use. ``version`` is another one whenever that changes, and known of each leaf is its last change.
    ``content`` is that version again, where all is as it was in an earlier one.
    """

    def __init__(self, rooms: Iterable[Requests]) -> None:
        rooms = list(rooms)
        names = dict.fromkeys(name for room in rooms for name in room)
        self._column = {name: column for column, name in enumerate(names)}
        self.free = np.zeros((len(rooms), len(names)), np.int64)
        for row, room in enumerate(rooms):
            for name, amount in room.items():
                self.free[row, self._column[name]] = amount
        self.version = self.content = 0
        self._last_change = np.zeros(len(rooms), np.int64)
        self._used = np.zeros_like(self.free)
        self.left = self.free.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> LeafColumns:
        made = copy.copy(self)
        made._column = dict(self._column)
        made.free, made._used, made.left = self.free.copy(), self._used.copy(), self.left.copy()
        made._last_change = self._last_change.copy()
        return made

    def column_of(self, name: str) -> int | None:
        """The column of a resource; None if no leaf has any."""
        return self._column.get(name)

    def take(self, row: int, requests: Requests) -> None:
        """Take room for a pod that Kueue does not place."""
        for name, amount in requests.items():
            column = self._column_for(name)
            self.free[row, column] = clamp(int(self.free[row, column]) - amount)
            self._count_left(row, column)

    def use(self, row: int, requests: Requests, count: int) -> None:
        """Count what so many pods of a workload use; a negative count no longer."""
        for name, amount in requests.items():
            column = self._column_for(name)
            self._used[row, column] = clamp(int(self._used[row, column]) + amount * count)
            self._count_left(row, column)

    def left_in(self, row: int, name: str) -> int:
        """What is left of a resource in a leaf."""
        column = self._column.get(name)
        return 0 if column is None else int(self.left[row, column])

    def changed_since(self, version: int) -> npt.NDArray[np.intp]:
        """The rows of which something else is left than there was in that version."""
        return np.flatnonzero(self._last_change > version)

    def mark(self) -> Mark:
        """What is used now, to go back to."""
        return self.version, self.content, self._used.copy(), self.left.copy()

    def go_back(self, mark: Mark) -> None:
        """Forget what was counted since the mark. Columns that came since then hold nothing."""
        version, content, used, left = mark
        if version == self.version:
            return
        self.version += 1
        self.content = content
        self._last_change[self.changed_since(version)] = self.version
        there = used.shape[1]
        self._used[:, :there], self.left[:, :there] = used, left
        for column in range(there, self._used.shape[1]):
            self._used[:, column] = 0
            self.left[:, column] = self.free[:, column]

    def _column_for(self, name: str) -> int:
        column = self._column.get(name)
        if column is None:
            column = self._column[name] = len(self._column)
            nothing = np.zeros((len(self.free), 1), np.int64)
            self.free, self._used, self.left = (
                np.hstack((array, nothing)) for array in (self.free, self._used, self.left)
            )
        return column

    def _count_left(self, row: int, column: int) -> None:
        self.version += 1
        self.content = self.version
        self._last_change[row] = self.version
        self.left[row, column] = clamp(int(self.free[row, column]) - int(self._used[row, column]))
