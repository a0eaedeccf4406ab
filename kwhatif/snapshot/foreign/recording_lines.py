"""The lines of a recorded stretch of a cluster's life, as whoever reads them needs them.

A JSON object a line, with ``at`` (when it was received, in seconds), ``kind`` (``v1/pods``, ``apps/v1/replicasets``),
and a ``list`` or a watch ``event``. ``snapshot record`` also writes what is known of the ``cluster`` as a whole, and
what of a kind is ``missing``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import TABLE
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.golang.integers import int64
from kwhatif.snapshot.format.model import Metadata
from kwhatif.snapshot.read.files import Text
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


class Missing(msgspec.Struct):
    """A kind was not followed from ``since`` to ``until``, for ``why``; ``lost`` are changes that no later line tells.

    Without an end it was not followed when this was written.
    """

    since: float
    why: str
    until: float | None = None
    lost: bool = True


class Line(msgspec.Struct, Generic[T]):
    """A line of which the object of an event is read as a ``T``."""

    at: float
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
