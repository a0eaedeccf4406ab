"""The lines of a recorded stretch of a cluster's life, as whoever reads them needs them.

A JSON object a line, with ``at`` (when it was received, in seconds), ``kind`` (``v1/pods``, ``apps/v1/replicasets``),
and a ``list`` or a watch ``event``. ``snapshot record`` also writes what is known of the ``cluster`` as a whole, and
what of a kind is ``missing``.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, TypeVar

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import TABLE, Kind
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.golang.integers import int64
from kwhatif.snapshot.format.model import Metadata
from kwhatif.snapshot.read.documents import Origin
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.items import inside
from kwhatif.snapshot.read.lines import Lines

_FIRST_LINE = re.compile(
    rb'\s*\{\s*"at"\s*:\s*[0-9.eE+]+\s*,\s*"kind"\s*:\s*"[^"]*"\s*,\s*"(?:list|event|cluster|missing)"'
)
KIND_OF_PATH = {
    f"{form.api_version(version)}/{kind.plural}": kind
    for kind in TABLE
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
    """What tells an object from others of its kind."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class ListOfObjects(msgspec.Struct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    items: list[msgspec.Raw] = []


class WatchEvent(msgspec.Struct, Generic[T]):
    type: str
    object: T


Seconds = Annotated[float, msgspec.Meta(ge=0, lt=253402300800)]
"""A time since 1970, until 10000, when RFC 3339 ends."""


class Missing(msgspec.Struct):
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
    missing: Missing | None = None


def is_recording(data: bytes) -> bool:
    """Whether a text is in this form, by its first line."""
    return _FIRST_LINE.match(data) is not None


def lines_of(text: Text) -> Lines:
    """The lines of a text that is all there."""
    return Lines(text.name, [text.data])


def decoded(lines: Lines, type_: type[T]) -> Iterator[tuple[int, bytes, T]]:
    """Number, text and value of each line. A last line that is not whole is left out, and ``lines`` are ``cut``.

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
    version = int64(text)
    if version is None:
        problem = f'expected a number such as "1087", found {described(text)}'
        raise InputError(problem, place=f"{place}.metadata.resourceVersion")
    return version


class About:
    """What the lines of our own say: of the ``cluster``, and what was ``missing`` of which kinds, by their paths."""

    def __init__(self) -> None:
        self.cluster = Metadata()
        self.missing: list[tuple[str, Missing]] = []
        self.open: dict[str, Missing] = {}
        """Kinds that are not followed at the moment."""

    def add(self, kind: str, cluster: Metadata | None, missing: Missing | None) -> None:
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
class Recorded(ABC, Generic[T]):
    """What the lines of a recording say, whatever is made of its objects; those of events are read as a ``T``.

    ``kinds`` are those of which there is a list, with its version; ``strangers`` counts lines of unknown kinds.
    ``cut`` says that the last line is not whole, as after a crash; ``about`` has what its recorder says besides.
    """

    source: str
    kinds: dict[Kind, int] = field(default_factory=dict, init=False)
    strangers: Counter[str] = field(default_factory=Counter, init=False)
    cut: bool = field(default=False, init=False)
    about: About = field(default_factory=About, init=False)

    def read(self, lines: Lines, type_: type[Line[T]]) -> None:
        """Take all lines. Raises InputError with the line."""
        for number, text, line in decoded(lines, type_):
            try:
                self.take(line, text, number)
            except InputError as error:
                raise inside(error, str(Origin(lines.name, number, number)), "$") from None
        if not self.kinds:
            raise InputError("a recording without any list: what was there at first is not known", source=lines.name)
        self.cut = lines.cut

    def take(self, line: Line[T], text: bytes, number: int) -> None:
        """What a line tells, of which this is the ``text``. Raises InputError for a line of none of the forms."""
        if line.cluster is not None or line.missing is not None:
            self.remark(line)
            return
        kind, event = KIND_OF_PATH.get(line.kind), line.event
        if kind is None:
            self.strangers[line.kind] += 1
        elif line.list is not None:
            version = self.kinds[kind] = version_of(line.list.metadata, "$.list")
            self.listed(kind, version, line, line.list.items, number)
        elif event is not None and event.type in EVENT_TYPES:
            self.told(kind, event.object, line, text, number, deleted=event.type == "DELETED")
        else:
            found = "neither" if event is None else f"an event of type {described(event.type)}"
            raise InputError(f"expected a list or an event that is one of {', '.join(EVENT_TYPES)}, found {found}")

    def remark(self, line: Line[T]) -> None:
        """A line of our own."""
        self.about.add(line.kind, line.cluster, line.missing)

    @abstractmethod
    def listed(self, kind: Kind, version: int, line: Line[T], items: Sequence[msgspec.Raw], number: int) -> None:
        """A list of all objects of a kind, as they are at a version."""

    @abstractmethod
    def told(self, kind: Kind, obj: T, line: Line[T], text: bytes, number: int, *, deleted: bool) -> None:
        """An object came, changed or went."""
