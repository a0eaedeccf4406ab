"""A recorded stretch of a cluster's life as a whole: first a list of each kind, then what the watches told.

Each kind has a connection of its own, so the lines have no order between kinds; all kinds of one store share one
counter, ``resourceVersion``, and that is the order in which it was.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, takewhile

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import Kind
from kwhatif.snapshot.foreign.recording_lines import Head, Line, Recorded, version_of
from kwhatif.snapshot.read.documents import Origin
from kwhatif.snapshot.read.items import Item
from kwhatif.snapshot.read.lines import Lines


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it was from ``version`` on, or was last if it was ``deleted`` then; ``at`` is when that was told."""

    version: int
    at: float
    kind: Kind
    raw: msgspec.Raw
    key: tuple[str, str]
    deleted: bool
    origin: Origin
    place: str

    @property
    def item(self) -> Item:
        return Item(self.raw, self.kind.api_version(), self.kind.name, self.origin, str(self.origin), self.place)


@dataclass
class Recording(Recorded[msgspec.Raw]):
    """What was there at first, and the changes since in the order in which they were made."""

    start: list[Change] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def listed(
        self, kind: Kind, version: int, line: Line[msgspec.Raw], items: Sequence[msgspec.Raw], number: int
    ) -> None:
        for i, raw in enumerate(items):
            self.start.append(self._change(kind, raw, line.at, number, f"$.list.items[{i}]"))

    def told(
        self, kind: Kind, obj: msgspec.Raw, line: Line[msgspec.Raw], text: bytes, number: int, *, deleted: bool
    ) -> None:
        self.changes.append(self._change(kind, obj, line.at, number, "$.event.object", deleted=deleted))

    def _change(
        self, kind: Kind, raw: msgspec.Raw, at: float, number: int, place: str, *, deleted: bool = False
    ) -> Change:
        metadata, origin = decode_json(raw, Head).metadata, Origin(self.source, number, number)
        version = version_of(metadata, place)
        return Change(version, at, kind, raw, (metadata.namespace, metadata.name), deleted, origin, place)

    @property
    def begins(self) -> int:
        """The version from which on every kind is known."""
        return max(self.kinds.values(), default=0)

    @cached_property
    def _told(self) -> tuple[list[float], list[int]]:
        """Moments in ascending order, and the highest version told by then."""
        ordered = sorted((change.at, change.version) for change in self.changes)
        highest, versions = 0, []
        for _, version in ordered:
            highest = max(highest, version)
            versions.append(highest)
        return [at for at, _ in ordered], versions

    def version_at(self, at: float) -> int:
        """The highest version that had been told at a moment."""
        moments, versions = self._told
        place = bisect_right(moments, at)
        return versions[place - 1] if place else self.begins

    def until(self, version: float = math.inf) -> Iterator[Change]:
        """The objects that are there once all changes up to a version are made, those that were first there first."""
        found: dict[tuple[str, tuple[str, str]], Change] = {}
        for change in chain(self.start, takewhile(lambda change: change.version <= version, self.changes)):
            if change.deleted:
                found.pop((change.kind.name, change.key), None)
            else:
                found[change.kind.name, change.key] = change
        yield from found.values()


def read_recording(lines: Lines) -> Recording:
    """A recording. Raises InputError with the line."""
    recording = Recording(lines.name)
    recording.read(lines, Line[msgspec.Raw])
    recording.changes.sort(key=lambda change: change.version)
    return recording
