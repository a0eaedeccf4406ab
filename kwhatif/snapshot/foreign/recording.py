"""A recorded stretch of a cluster's life as a whole: first a list of each kind, then what the watches told.

Each kind has a connection of its own, so the lines have no order between kinds; all kinds of one store share one
counter, ``resourceVersion``, and that is the order in which it was.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, takewhile

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import Kind
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.snapshot.foreign.recording_lines import (
    EVENT_TYPES,
    KIND_OF_PATH,
    About,
    Head,
    Line,
    decoded,
    version_of,
)
from kwhatif.snapshot.read.documents import Origin
from kwhatif.snapshot.read.items import Item, inside
from kwhatif.snapshot.read.lines import Lines

_Line = Line[msgspec.Raw]


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
class Recording:
    """What was there at first, and the changes since in the order in which they were made.

    ``kinds`` are those of which there is a list, with its version; ``strangers`` counts lines of unknown kinds.
    ``cut`` says that the last line is not whole, as after a crash; ``about`` has what its recorder says besides.
    """

    source: str
    start: list[Change] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    kinds: dict[Kind, int] = field(default_factory=dict)
    strangers: dict[str, int] = field(default_factory=dict)
    cut: bool = False
    about: About = field(default_factory=About)

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
    for number, _, read in decoded(lines, _Line):
        origin = Origin(lines.name, number, number)
        try:
            _add(recording, read, origin)
        except InputError as error:
            raise inside(error, str(origin), "$") from None
    if not recording.kinds:
        raise InputError("a recording without any list: what was there at first is not known", source=lines.name)
    recording.cut = lines.cut
    recording.changes.sort(key=lambda change: change.version)
    return recording


def _add(recording: Recording, line: _Line, origin: Origin) -> None:
    if line.cluster is not None or line.missing is not None:
        recording.about.add(line.kind, line.cluster, line.missing)
        return
    kind = KIND_OF_PATH.get(line.kind)
    if kind is None:
        recording.strangers[line.kind] = recording.strangers.get(line.kind, 0) + 1
        return
    if line.list is not None:
        recording.kinds[kind] = version_of(line.list.metadata, "$.list")
        for i, raw in enumerate(line.list.items):
            recording.start.append(_change(line, kind, raw, origin, f"$.list.items[{i}]", deleted=False))
    elif line.event is not None and line.event.type in EVENT_TYPES:
        deleted = line.event.type == "DELETED"
        recording.changes.append(_change(line, kind, line.event.object, origin, "$.event.object", deleted=deleted))
    else:
        raise unexpected(None if line.event is None else line.event.type)


def unexpected(event: str | None) -> InputError:
    """The error for a line that is neither a list nor an event of a known type."""
    found = "neither" if event is None else f"an event of type {described(event)}"
    return InputError(f"expected a list or an event that is one of {', '.join(EVENT_TYPES)}, found {found}")


def _change(line: _Line, kind: Kind, raw: msgspec.Raw, origin: Origin, place: str, *, deleted: bool) -> Change:
    metadata = decode_json(raw, Head).metadata
    version = version_of(metadata, place)
    return Change(version, line.at, kind, raw, (metadata.namespace, metadata.name), deleted, origin, place)
