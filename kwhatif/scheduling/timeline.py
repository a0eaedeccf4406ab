"""The agenda of a simulation, in a total order of (moment, kind, order of entry), and its log: timeline and events."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import IntEnum

import msgspec

from kwhatif.results.place import EventRecord, TimelineEntry


class EntryKind(IntEnum):
    """The order of entries at the same moment."""

    GONE = 0
    ARRIVAL = 1


class Agenda:
    """Functions to call, each at its moment; ``now`` is in seconds from the beginning."""

    def __init__(self) -> None:
        self.now = 0.0
        self._entries: list[tuple[float, EntryKind, int, Callable[[], None]]] = []
        self._count = 0

    def add(self, moment: float, kind: EntryKind, do: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._entries, (moment, kind, self._count, do))

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """An arrival a number of seconds from now."""
        self.add(self.now + seconds, EntryKind.ARRIVAL, do)

    @property
    def next(self) -> float | None:
        """The moment of the next entry."""
        return self._entries[0][0] if self._entries else None

    def run(self, moment: float) -> None:
        """Call what is due at the moment, and what that adds to the agenda for the same moment."""
        self.now = moment
        while self._entries and self._entries[0][0] <= moment:
            heapq.heappop(self._entries)[3]()

    def run_to_end(self) -> None:
        """Call everything, and what is added meanwhile."""
        while (moment := self.next) is not None:
            self.run(moment)


def next_tick(moment: float, tick: float) -> float:
    """The first tick after a moment."""
    return (moment // tick + 1) * tick


class EventLog(msgspec.Struct):
    """Entries and events in their order; ``now`` is their time."""

    now: float = 0.0
    entries: list[TimelineEntry] = []
    events: list[EventRecord] = []

    def say(self, pod: str, what: str, why: str = "", node: str = "") -> None:
        self.entries.append(TimelineEntry(time=self.now, pod=pod, what=what, why=why, node=node))

    def normal(self, pod: str, reason: str, message: str) -> None:
        self._event(pod, "Normal", reason, message)

    def warning(self, pod: str, reason: str, message: str) -> None:
        self._event(pod, "Warning", reason, message)

    def _event(self, pod: str, type_: str, reason: str, message: str) -> None:
        self.events.append(EventRecord(time=self.now, pod=pod, type=type_, reason=reason, message=message))
