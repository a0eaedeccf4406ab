"""A recording of a cluster's life: the lists, the changes in their order, and the state at a moment of it.

Each kind has a connection of its own, so the lines have no order between kinds; all kinds of one store share one
counter, ``resourceVersion``, which gives the order. A moment is ``day.jsonl.zst@2026-11-20T14:00:00Z``, ``@+2h`` after
the first line, or ``@end``: the state by all lines received by then, and by later ones about older versions. Of each
object only the last text is kept and decoded.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, takewhile

import msgspec

from kwhatif.api.decode import decode_json, describe_value
from kwhatif.api.kinds import Kind
from kwhatif.api.times import parse_time
from kwhatif.errors import InputError
from kwhatif.golang.parsing import SECOND, Duration
from kwhatif.snapshot.read.files import Lines, display_path, lines_that_begin
from kwhatif.snapshot.read.objects import Item, Origin
from kwhatif.snapshot.recording_lines import Head, Line, ObjectMeta, RecordingReader, is_recording, version_of


class Change(msgspec.Struct, frozen=True):
    """An object as it was from ``version`` on, or was last if it was ``deleted`` then; ``at`` is its time."""

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
        return Item(self.raw, self.kind.api_version(), self.kind.kind, self.origin, str(self.origin), self.place)


@dataclass
class Recording(RecordingReader[msgspec.Raw]):
    """The initial objects, and the changes since in their order."""

    start: list[Change] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def on_list(
        self, kind: Kind, version: int, line: Line[msgspec.Raw], items: Sequence[msgspec.Raw], number: int
    ) -> None:
        for i, raw in enumerate(items):
            self.start.append(self._change(kind, raw, line.at, number, f"$.list.items[{i}]"))

    def on_event(
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

    @property
    def starts_at(self) -> float | None:
        """When the first line was written, in seconds; None if there is none."""
        return min((change.at for change in (*self.start, *self.changes)), default=None)

    @cached_property
    def _versions_by_moment(self) -> tuple[list[float], list[int]]:
        """Moments in ascending order, and the highest version recorded by then."""
        ordered = sorted((change.at, change.version) for change in self.changes)
        highest, versions = 0, []
        for _, version in ordered:
            highest = max(highest, version)
            versions.append(highest)
        return [at for at, _ in ordered], versions

    def version_at(self, at: float) -> int:
        """The highest version that had been recorded at a moment."""
        moments, versions = self._versions_by_moment
        place = bisect_right(moments, at)
        return versions[place - 1] if place else self.begins

    def until(self, version: float = math.inf) -> Iterator[Change]:
        """The objects after all changes up to a version, those that existed first at the front."""
        changes: dict[tuple[str, tuple[str, str]], Change] = {}
        for change in chain(self.start, takewhile(lambda change: change.version <= version, self.changes)):
            if change.deleted:
                changes.pop((change.kind.name, change.key), None)
            else:
                changes[change.kind.name, change.key] = change
        yield from changes.values()


def read_recording(lines: Lines) -> Recording:
    """A recording. Raises InputError with the line."""
    recording = Recording(lines.name)
    recording.read(lines, Line[msgspec.Raw])
    recording.changes.sort(key=lambda change: change.version)
    return recording


END = "end"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_EXPECTED = "expected a time such as 2026-03-01T14:00:00Z, +2h or end"


@dataclass(frozen=True)
class Moment:
    """When: seconds ``since`` the first line, or else the time ``at``, both at the end if nothing is said."""

    at: float = math.inf
    since: float | None = None

    @property
    def is_end(self) -> bool:
        return self == Moment()

    def after(self, start: float) -> float:
        """The time, if the recording begins then."""
        return self.at if self.since is None else start + self.since


def moment_of(text: str) -> Moment:
    """The moment behind the ``@``. Raises InputError."""
    if text == END:
        return Moment()
    try:
        if text.startswith("+"):
            return Moment(since=Duration.parse(text) / SECOND)
        if _TIME.fullmatch(text):
            return Moment(at=parse_time(text).timestamp())
    except ValueError as error:
        raise InputError(f"@{text}: {_EXPECTED}: {error}") from None
    raise InputError(f"@{text}: {_EXPECTED}, found {describe_value(text)}")


def recording_in(path: str) -> tuple[Lines, Moment] | None:
    """The lines of a file that is a recording, or has ``@MOMENT`` after its name, and the moment that is meant.

    None of any other file. Raises InputError for a moment that is none, or of a file that is no recording.
    """
    if os.path.exists(path):
        lines = lines_that_begin(path, is_recording)
        return None if lines is None else (lines, Moment())
    file, sign, text = path.rpartition("@")
    if not sign or not os.path.exists(file):
        return None
    lines = lines_that_begin(file, is_recording)
    if lines is None:
        raise InputError(f"@{text}: only a recording has moments, and this is none", source=display_path(file))
    try:
        return lines, moment_of(text)
    except InputError as error:
        raise error.with_source(display_path(file)) from None


class _EventLine(msgspec.Struct):
    object: msgspec.Raw


class _WholeLine(msgspec.Struct):
    event: _EventLine


_Found = tuple[int, int, "bytes | msgspec.Raw", int]
"""Version, number of the line, the text of the line or of the item of a list, and the item's number or -1."""


@dataclass
class RecordedState(RecordingReader[Head]):
    """A cluster at one ``moment``, and when that was; ``cut`` says that the recording has no end."""

    moment: Moment = Moment()
    at: float = 0.0
    _start: float = math.nan
    _end: float = math.nan
    _until: float = math.nan
    _found: dict[tuple[str, str, str], _Found] = field(default_factory=dict)
    _kinds: dict[str, Kind] = field(default_factory=dict)
    _version: int = 0

    def items(self) -> Iterator[Item]:
        """The objects, those that existed first at the front."""
        for (name, _, _), (_, number, text, i) in self._found.items():
            kind, origin = self._kinds[name], Origin(self.source, number, number)
            if i < 0:
                raw, place = decode_json(bytes(text), _WholeLine).event.object, "$.event.object"
            else:
                raw, place = msgspec.Raw(bytes(text)), f"$.list.items[{i}]"
            yield Item(raw, kind.api_version(), kind.kind, origin, str(origin), place)

    def take(self, line: Line[Head], text: bytes, number: int) -> None:
        if math.isnan(self._start):
            self._start = self._end = line.at
            self._until = self.moment.after(line.at)
        self._end = max(self._end, line.at)
        super().take(line, text, number)

    def on_annotation(self, line: Line[Head]) -> None:
        # What is known of the cluster holds for all of the recording.
        if line.at <= self._until or line.cluster is not None:
            super().on_annotation(line)

    def on_list(self, kind: Kind, version: int, line: Line[Head], items: Sequence[msgspec.Raw], number: int) -> None:
        self._version = max(self._version, version)
        for i, raw in enumerate(items):
            metadata, place = decode_json(raw, Head).metadata, f"$.list.items[{i}]"
            self._put(kind, metadata, (version_of(metadata, place), number, raw, i))

    def on_event(self, kind: Kind, obj: Head, line: Line[Head], text: bytes, number: int, *, deleted: bool) -> None:
        metadata = obj.metadata
        version = version_of(metadata, "$.event.object")
        if line.at <= self._until:
            self._version = max(self._version, version)
        elif version > self._version:
            return
        if deleted:
            self._found.pop((kind.name, metadata.namespace, metadata.name), None)
        else:
            self._put(kind, metadata, (version, number, text, -1))

    def _put(self, kind: Kind, metadata: ObjectMeta, location: _Found) -> None:
        if kind.idle:
            return
        self._kinds[kind.name] = kind
        key = (kind.name, metadata.namespace, metadata.name)
        before = self._found.get(key)
        if before is None or before[0] <= location[0]:
            self._found[key] = location

    def settle(self) -> None:
        """All lines have been taken. Raises InputError for a moment beyond their span."""
        start, end, until = self._start, self._end, self._until
        if math.isfinite(until) and not start <= until <= end:
            side = "before it begins" if until < start else "after it ends"
            span = f"{rfc3339(start)} to {rfc3339(end)}, @+0s to @+{Duration.of_seconds(int(end - start))}"
            raise InputError(f"@{rfc3339(until)} is {side}: it spans {span}", source=self.source)
        self.at = min(until, end)


def state_at(lines: Lines, moment: Moment) -> RecordedState:
    """The cluster at a moment of a recording. Raises InputError with the line, and for a moment beyond the span."""
    state = RecordedState(lines.name, moment=moment)
    state.read(lines, Line[Head])
    state.settle()
    return state


def rfc3339(at: float) -> str:
    """A time in seconds as ``2026-03-01T14:00:00Z``."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{at:g} s"
