"""What a simulation writes down: the timeline, and the events that the cluster would show."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the timeline: at ``time`` seconds, this happened to a pod, for this reason."""

    time: float
    pod: str
    what: str
    why: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class KubeEvent:
    """An event as the cluster would show it."""

    time: float
    pod: str
    type: str
    reason: str
    message: str


@dataclass(slots=True)
class Diary:
    """Entries and events in the order in which things happened; ``now`` is what they are dated with."""

    now: float = 0.0
    entries: list[Entry] = field(default_factory=list)
    events: list[KubeEvent] = field(default_factory=list)

    def say(self, pod: str, what: str, why: str = "", node: str = "") -> None:
        self.entries.append(Entry(self.now, pod, what, why, node))

    def normal(self, pod: str, reason: str, message: str) -> None:
        self.events.append(KubeEvent(self.now, pod, "Normal", reason, message))

    def warning(self, pod: str, reason: str, message: str) -> None:
        self.events.append(KubeEvent(self.now, pod, "Warning", reason, message))
