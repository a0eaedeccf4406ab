"""What is going to happen when: a total order on (moment, kind, order of entry), so that runs are reproducible."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import IntEnum


class Kind(IntEnum):
    """What happens first when several things happen at one moment."""

    GONE = 0
    ARRIVAL = 1


class Agenda:
    """Things to do, each at its moment."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, Kind, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, moment: float, kind: Kind, do: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._entries, (moment, kind, self._count, do))

    @property
    def next(self) -> float | None:
        """The moment of the next entry."""
        return self._entries[0][0] if self._entries else None

    def run(self, moment: float) -> None:
        """Do what is due at the moment, and what that puts on the agenda for the same moment."""
        while self._entries and self._entries[0][0] <= moment:
            heapq.heappop(self._entries)[3]()


def next_tick(moment: float, tick: float) -> float:
    """The first tick after a moment."""
    return (moment // tick + 1) * tick
