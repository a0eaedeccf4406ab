"""What a simulation writes down: the timeline, and the events that the cluster would show."""

from __future__ import annotations

from dataclasses import dataclass, field

from kwhatif.results.place import EventRecord, TimelineEntry


@dataclass(slots=True)
class Diary:
    """Entries and events in the order in which things happened; ``now`` is what they are dated with."""

    now: float = 0.0
    entries: list[TimelineEntry] = field(default_factory=list)
    events: list[EventRecord] = field(default_factory=list)

    def say(self, pod: str, what: str, why: str = "", node: str = "") -> None:
        self.entries.append(TimelineEntry(time=self.now, pod=pod, what=what, why=why, node=node))

    def normal(self, pod: str, reason: str, message: str) -> None:
        self._event(pod, "Normal", reason, message)

    def warning(self, pod: str, reason: str, message: str) -> None:
        self._event(pod, "Warning", reason, message)

    def _event(self, pod: str, type_: str, reason: str, message: str) -> None:
        self.events.append(EventRecord(time=self.now, pod=pod, type=type_, reason=reason, message=message))
