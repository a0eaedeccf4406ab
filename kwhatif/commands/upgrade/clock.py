"""Simulated time: an agenda in the order of time, then of insertion."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Clock:
    """``now`` is in seconds from the beginning."""

    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        """An event a number of seconds from now."""
        self._count += 1
        heapq.heappush(self._planned, (self.now + seconds, self._count, happen))

    def run(self) -> None:
        """Run everything on the agenda, and what is added meanwhile."""
        while self._planned:
            self.now, _, happen = heapq.heappop(self._planned)
            happen()
