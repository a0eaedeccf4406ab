"""Texts become documents: the values of a JSON or YAML stream, each with the place it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.json_reader import check_keys, read_json
from kwhatif.snapshot.read.unrendered import TEMPLATE, is_template
from kwhatif.snapshot.read.yaml_reader import read_yaml

_LOOKS_LIKE_JSON = re.compile(rb"[ \t\r\n]*+[\[{]")
_JSON_NAME = re.compile(r"\.json(\.gz|\.zst)?$")
_YAML_NAME = re.compile(r"\.ya?ml(\.gz|\.zst)?$")
_TRY_YAML_UP_TO = 8 * 1024**2


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an object came from: file, number and line of the document (from 1), index in a list (from 0).

    For an object in a YAML list ``line`` is its own. Prints like ``web.yaml document 2 (line 14)``; where
    nothing stands before the object, like ``web.yaml``.
    """

    file: str
    document: int = 1
    line: int = 1
    index: int | None = None

    def __str__(self) -> str:
        first = (self.document, self.line) == (1, 1)
        where = self.file if first else f"{self.file} document {self.document} (line {self.line})"
        return where if self.index is None else f"{where} items[{self.index}]"


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document as its raw text, or a YAML document as plain Python values."""

    origin: Origin
    value: msgspec.Raw | Any
    item_lines: tuple[int, ...] = ()

    @property
    def source(self) -> str:
        """What messages call this document."""
        return str(self.origin)


def read_documents(text: Text, *, strictly: bool = False) -> list[Document]:
    """All documents of a text that hold something. Raises InputError; ``strictly``, also for a key that comes twice.

    YAML in which one does is always refused.

    What begins with a bracket is JSON, as kubectl has it; if it is not sound JSON it may still be YAML that
    begins with one, unless its name ends in .json.
    """
    if not _LOOKS_LIKE_JSON.match(text.data):
        return _yaml(text)
    try:
        documents = list(read_json(text.data, text.name))
    except InputError as error:
        if _JSON_NAME.search(text.name) or len(text.data) > _TRY_YAML_UP_TO:
            raise
        try:
            return _yaml(text)
        except InputError:
            if _YAML_NAME.search(text.name):
                raise
            raise error from None
    for document in documents if strictly else ():
        check_keys(document.value, text.name)
    return [Document(Origin(text.name, d.number, d.line), d.value) for d in documents]


def _yaml(text: Text) -> list[Document]:
    try:
        read = list(read_yaml(text.data, text.name))
    except InputError as error:
        if not is_template(text.data):
            raise
        raise InputError(TEMPLATE, source=error.source, place=error.place) from None
    return [Document(Origin(text.name, d.number, d.line), d.value, d.item_lines) for d in read]
