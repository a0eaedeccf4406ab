"""A recorded stretch of a cluster's life: first a list of each kind, then what the API server's watches told.

A JSON object a line, with ``at`` (when it was received, in seconds), ``kind`` (``v1/pods``, ``apps/v1/replicasets``),
and either a ``list`` or a watch ``event``. Each kind has a connection of its own, so the lines have no order between
kinds; all kinds of one store share one counter, ``resourceVersion``, and that is the order in which it was.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, takewhile

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import TABLE, Kind
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.snapshot.read.documents import Origin
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.items import Item, inside

_FIRST_LINE = re.compile(rb'\s*\{\s*"at"\s*:\s*[0-9.eE+]+\s*,\s*"kind"\s*:\s*"[^"]*"\s*,\s*"(?:list|event)"')
_KINDS = {kind.api_version(version) + "/" + kind.plural: kind for kind in TABLE for version in kind.versions}
_EVENT_TYPES = ("ADDED", "MODIFIED", "DELETED")


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    name: str = ""
    namespace: str = ""


class _Head(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _List(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    items: list[msgspec.Raw] = []


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Line(msgspec.Struct):
    at: float
    kind: str
    list: _List | None = None
    event: _Event | None = None


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
    ``cut`` says that the last line is not whole, as after a crash.
    """

    source: str
    start: list[Change] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    kinds: dict[Kind, int] = field(default_factory=dict)
    strangers: dict[str, int] = field(default_factory=dict)
    cut: bool = False

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


def is_recording(text: Text) -> bool:
    """Whether a text is in this form, by its first line."""
    return _FIRST_LINE.match(text.data) is not None


def read_recording(text: Text) -> Recording:
    """A recording. Raises InputError with the line."""
    recording = Recording(text.name)
    lines = text.data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        origin = Origin(text.name, number, number)
        try:
            read = decode_json(line, _Line)
        except InputError as error:
            if number == len(lines):
                recording.cut = True
                break
            raise InputError(error.problem, source=text.name, place=f"line {number}: {error.place or '$'}") from None
        try:
            _add(recording, read, origin)
        except InputError as error:
            raise inside(error, str(origin), "$") from None
    if not recording.kinds:
        raise InputError("a recording without any list: what was there at first is not known", source=text.name)
    recording.changes.sort(key=lambda change: change.version)
    return recording


def _add(recording: Recording, line: _Line, origin: Origin) -> None:
    kind = _KINDS.get(line.kind)
    if kind is None:
        recording.strangers[line.kind] = recording.strangers.get(line.kind, 0) + 1
        return
    if line.list is not None:
        recording.kinds[kind] = _version(line.list.metadata, "$.list")
        for i, raw in enumerate(line.list.items):
            recording.start.append(_change(line, kind, raw, origin, f"$.list.items[{i}]", deleted=False))
    elif line.event is not None and line.event.type in _EVENT_TYPES:
        deleted = line.event.type == "DELETED"
        recording.changes.append(_change(line, kind, line.event.object, origin, "$.event.object", deleted=deleted))
    else:
        found = "neither" if line.event is None else f"an event of type {described(line.event.type)}"
        raise InputError(f"expected a list or an event that is one of {', '.join(_EVENT_TYPES)}, found {found}")


def _change(line: _Line, kind: Kind, raw: msgspec.Raw, origin: Origin, place: str, *, deleted: bool) -> Change:
    metadata = decode_json(raw, _Head).metadata
    version = _version(metadata, place)
    return Change(version, line.at, kind, raw, (metadata.namespace, metadata.name), deleted, origin, place)


def _version(metadata: _Metadata, place: str) -> int:
    text = metadata.resource_version
    if not (text.isascii() and text.isdigit()):
        problem = f'expected a number such as "1087", found {described(text)}'
        raise InputError(problem, place=f"{place}.metadata.resourceVersion")
    return int(text)
