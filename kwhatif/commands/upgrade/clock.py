"""Simulated time: things that happen, in the order of their time, then in the order in which they were planned."""

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
        """Something happens so many seconds from now."""
        self._count += 1
        heapq.heappush(self._planned, (self.now + seconds, self._count, happen))

    def run(self) -> None:
        """Let everything happen that is planned, and what is planned meanwhile."""
        while self._planned:
            self.now, _, happen = heapq.heappop(self._planned)
            happen()
