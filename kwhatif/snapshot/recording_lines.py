"""The lines of a recording: their format, a reader, and a writer.

A JSON object a line, with ``at`` (when it was received, in seconds), ``kind`` (``v1/pods``, ``apps/v1/replicasets``),
and a ``list`` or a watch ``event``. ``snapshot record`` also writes cluster-wide information (``cluster``), and gaps of
a kind (``missing``). Lines are compressed and written about once a second, each time as a complete frame (of zstd) or
member (of gzip): a killed run loses what came since, and a file that cannot be written any more ends with the last
complete one.
"""

from __future__ import annotations

import gzip
import re
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, TypeVar

import msgspec
import zstandard

from kwhatif.api.decode import decode_json, describe_value
from kwhatif.api.kinds import KIND_TABLE, Kind
from kwhatif.errors import InputError
from kwhatif.golang.parsing import parse_int
from kwhatif.snapshot.format.atomic_files import AppendOnlyFile
from kwhatif.snapshot.format.model import Metadata
from kwhatif.snapshot.read.files import Lines, Text
from kwhatif.snapshot.read.objects import Origin, inside

_FIRST_LINE = re.compile(
    rb'\s*\{\s*"at"\s*:\s*[0-9.eE+]+\s*,\s*"kind"\s*:\s*"[^"]*"\s*,\s*"(?:list|event|cluster|missing)"'
)
KIND_OF_PATH = {
    f"{form.api_version(version)}/{kind.plural}": kind
    for kind in KIND_TABLE
    for form in kind.forms
    for version in form.versions
}
EVENT_TYPES = ("ADDED", "MODIFIED", "DELETED")

T = TypeVar("T")


class ObjectMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    name: str = ""
    namespace: str = ""


class Head(msgspec.Struct):
    """The identity of an object among those of its kind."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class ListOfObjects(msgspec.Struct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    items: list[msgspec.Raw] = []


class WatchEvent(msgspec.Struct, Generic[T]):
    type: str
    object: T


Seconds = Annotated[float, msgspec.Meta(ge=0, lt=253402300800)]
"""A time since 1970, until 10000, when RFC 3339 ends."""


class WatchGap(msgspec.Struct):
    """A kind was not followed from ``since`` to ``until``, for ``why``; ``lost`` are changes that no later line tells.

    Without an end it was not followed when this was written.
    """

    since: Seconds
    why: str
    until: Seconds | None = None
    lost: bool = True


class Line(msgspec.Struct, Generic[T]):
    """A line of which the object of an event is read as a ``T``."""

    at: Seconds
    kind: str
    list: ListOfObjects | None = None
    event: WatchEvent[T] | None = None
    cluster: Metadata | None = None
    missing: WatchGap | None = None


def is_recording(data: bytes) -> bool:
    """Whether a text is in this form, by its first line."""
    return _FIRST_LINE.match(data) is not None


def lines_of(text: Text) -> Lines:
    """The lines of a text that is all there."""
    return Lines(text.name, [text.data])


def decode_lines(lines: Lines, type_: type[T]) -> Iterator[tuple[int, bytes, T]]:
    """Number, text and value of each line. An incomplete last line is left out, and ``lines`` are ``cut``.

    Raises InputError with the line.
    """
    broken: InputError | None = None
    for number, line in lines:
        if broken is not None:
            raise broken
        try:
            read = decode_json(line, type_)
        except InputError as error:
            broken = InputError(error.problem, source=lines.name, place=f"line {number}: {error.place or '$'}")
            continue
        yield number, line, read
    lines.cut = lines.cut or broken is not None


def version_of(metadata: ObjectMeta, place: str) -> int:
    """The version of an object or a list, which is one counter for all. Raises InputError."""
    text = metadata.resource_version
    version = parse_int(text)
    if version is None:
        problem = f'expected a number such as "1087", found {describe_value(text)}'
        raise InputError(problem, place=f"{place}.metadata.resourceVersion")
    return version


class RecordingInfo:
    """The content of lines of our own: ``cluster``, and what was ``missing`` of which kinds, by their paths."""

    def __init__(self) -> None:
        self.cluster = Metadata()
        self.missing: list[tuple[str, WatchGap]] = []
        self.open: dict[str, WatchGap] = {}
        """Kinds that are not followed at the moment."""

    def add(self, kind: str, cluster: Metadata | None, missing: WatchGap | None) -> None:
        """One of these lines."""
        self.cluster = cluster or self.cluster
        if missing is None:
            return
        if missing.until is None:
            self.open[kind] = missing
        else:
            self.open.pop(kind, None)
            if missing.lost:
                self.missing.append((kind, missing))


@dataclass
class RecordingReader(ABC, Generic[T]):
    """Reads the lines of a recording; the objects of events are read as a ``T``.

    ``kinds`` are those with a list, and its version; ``unread_kinds`` counts lines of unknown kinds. ``cut`` says that
    the last line is incomplete, as after a crash; ``about`` has the recorder's own lines.
    """

    source: str
    kinds: dict[Kind, int] = field(default_factory=dict, init=False)
    unread_kinds: Counter[str] = field(default_factory=Counter, init=False)
    cut: bool = field(default=False, init=False)
    about: RecordingInfo = field(default_factory=RecordingInfo, init=False)

    def read(self, lines: Lines, type_: type[Line[T]]) -> None:
        """Take all lines. Raises InputError with the line."""
        for number, text, line in decode_lines(lines, type_):
            try:
                self.take(line, text, number)
            except InputError as error:
                raise inside(error, str(Origin(lines.name, number, number)), "$") from None
        if not self.kinds:
            raise InputError("a recording without any list: what was there at first is not known", source=lines.name)
        self.cut = lines.cut

    def take(self, line: Line[T], text: bytes, number: int) -> None:
        """Handle one line, whose ``text`` this is. Raises InputError for a line of an unknown form."""
        if line.cluster is not None or line.missing is not None:
            self.on_annotation(line)
            return
        kind, event = KIND_OF_PATH.get(line.kind), line.event
        if kind is None:
            self.unread_kinds[line.kind] += 1
        elif line.list is not None:
            version = self.kinds[kind] = version_of(line.list.metadata, "$.list")
            self.on_list(kind, version, line, line.list.items, number)
        elif event is not None and event.type in EVENT_TYPES:
            self.on_event(kind, event.object, line, text, number, deleted=event.type == "DELETED")
        else:
            other = "neither" if event is None else f"an event of type {describe_value(event.type)}"
            raise InputError(f"expected a list or an event that is one of {', '.join(EVENT_TYPES)}, found {other}")

    def on_annotation(self, line: Line[T]) -> None:
        """A line of our own."""
        self.about.add(line.kind, line.cluster, line.missing)

    @abstractmethod
    def on_list(self, kind: Kind, version: int, line: Line[T], items: Sequence[msgspec.Raw], number: int) -> None:
        """A list of all objects of a kind, as they are at a version."""

    @abstractmethod
    def on_event(self, kind: Kind, obj: T, line: Line[T], text: bytes, number: int, *, deleted: bool) -> None:
        """An object was added, changed or deleted."""


Treat = Callable[[Sequence[bytes]], list[bytes]]
"""Makes other lines of some, as many or fewer. Raises OSError if that cannot go on."""

EVERY = 1.0
"""Seconds between two frames."""

_MOST_WAITING = 8 * 1024**2
_ZSTD_LEVEL, _GZIP_LEVEL = 3, 6


class RecordingWriter:
    """Takes lines from any number of threads. ``failed`` is why nothing can be written any more, ``size`` in bytes.

    Lines are buffered until ``flush``, or until the buffer is full. ``treat`` may change the lines that are written.
    Raises OSError if the file exists already, or cannot be created.
    """

    def __init__(self, path: str, treat: Treat | None = None) -> None:
        self.failed: OSError | None = None
        self._treat = treat
        self._file = AppendOnlyFile(path)
        self._pack = _packer(path)
        self._lines: list[bytes] = []
        self._waiting = 0
        self._taking, self._writing = threading.Lock(), threading.Lock()
        self._closed = False
        self.written = 0
        """How many lines are in the file."""

    @property
    def size(self) -> int:
        return self._file.size

    def add(self, line: Callable[[], bytes]) -> bool:
        """Add a line; it is made when its turn comes, so that the order is that of the times in it.

        False if it is not added, since the file is closed or cannot be written.
        """
        with self._taking:
            if self._closed or self.failed:
                return False
            text = line()
            self._lines.append(text)
            self._waiting += len(text)
            full = self._waiting > _MOST_WAITING
        if full:
            self.flush()
        return True

    def flush(self) -> None:
        """Write the buffer. What cannot be written is dropped, and ``failed`` says why."""
        with self._writing:
            with self._taking:
                lines, self._lines, self._waiting = self._lines, [], 0
            if not lines or self.failed:
                return
            try:
                self._write(lines if self._treat is None else self._treat(lines))
            except OSError as error:
                self.failed = error

    def _write(self, lines: list[bytes]) -> None:
        """Write lines as one frame; where there is no space for all of them, as many as fit."""
        try:
            self._file.append(self._pack(b"".join(lines)))
            self.written += len(lines)
        except OSError:
            half = len(lines) // 2
            if not half:
                raise
            self._write(lines[:half])
            self._write(lines[half:])

    def close(self) -> None:
        """Write the buffer and close."""
        with self._taking:
            self._closed = True
        self.flush()
        self._file.close()

    def remove(self) -> None:
        """Close and delete the file, which has nothing worth keeping."""
        with self._taking:
            self._closed, self._lines = True, []
        with self._writing:
            self._file.remove()


def _packer(path: str) -> Callable[[bytes], bytes]:
    if path.endswith(".zst"):
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress
    if path.endswith(".gz"):
        return lambda data: gzip.compress(data, _GZIP_LEVEL, mtime=0)
    return lambda data: data
