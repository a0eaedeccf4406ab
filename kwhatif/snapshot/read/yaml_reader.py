"""Reads YAML as kubectl's conversion to JSON does, safely.

The parser's events are composed here rather than by the YAML library, for the limits that a foreign file needs: nesting
is bounded, aliases cannot make a huge value of a small file, a key appears once, and no tag makes anything but plain
values. Values shared by aliases are one object, to be read only. kubectl reads YAML 1.1 with go-yaml's rules: ``on``
and ``y`` are true, ``0o17`` and ``017`` are 15, ``1_000`` is a number, while dates and ``12:30`` stay strings.
kustomize reads objects and merge patches otherwise: ``on`` is a string, a date becomes a time, and annotations that
stand twice in ``metadata`` become one mapping.
Upstream: sigs.k8s.io/yaml (YAMLToJSONStrict; yaml.go, goyaml.v2/resolve.go), sigs.k8s.io/kustomize/kyaml
(goyaml.v3/resolve.go).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
import yaml
from yaml import events as ev

from kwhatif import bounds
from kwhatif.api.decode import describe_value, line_and_column
from kwhatif.errors import InputError
from kwhatif.snapshot.read.json_reader import check_number

Scalar = str | int | float | bool | None

_WORDS: dict[str, bool | float | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]+)|(0|[1-9][0-9]*))", re.ASCII)
_BASES = (16, 2, 8, 8)
_FRACTION = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_INT64_DIGITS = 20


def plain(text: str) -> Scalar:
    """The value of an unquoted word, as it arrives in JSON. Infinities and NaN are left to the caller."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    number = _number(text)
    return text if number is None else number


_BOOLEANS = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))
_CLOCK = r"(\d\d?):(\d\d?):(\d\d?)(?:\.(\d+))?"
_DATE = re.compile(rf"(\d{{4}})-(\d\d?)-(\d\d?)(?:[Tt]{_CLOCK}(Z|[+-]\d\d:\d\d)| +{_CLOCK})?", re.ASCII)


def plain_of_kustomize(text: str) -> Scalar:
    """The value of an unquoted word in the objects and merge patches of kustomizations."""
    if isinstance(_WORDS.get(text), bool) and text not in _BOOLEANS:
        return text
    match = _DATE.fullmatch(text)
    return plain(text) if match is None else _time_of(match) or text


def _time_of(match: re.Match[str]) -> str:
    """A date as Go prints it in JSON; empty if there is no such day."""
    clock = match.groups()[3:7] if match[8] else match.groups()[8:]
    try:
        time = datetime(*(int(part or 0) for part in (*match.groups()[:3], *clock[:3])))  # type: ignore[arg-type]
    except ValueError:
        return ""
    fraction = (clock[3] or "")[:9].rstrip("0")
    zone = "Z" if match[8] in (None, "+00:00", "-00:00") else match[8]
    return time.isoformat(timespec="seconds") + f".{fraction}" * bool(fraction) + zone


def _number(text: str) -> int | float | None:
    digits = text if text[0] == "." else text.replace("_", "")
    match = _INTEGER.fullmatch(digits)
    if match:
        sign, *prefixed, decimal = match.groups()
        for base, digits_in_base in zip(_BASES, prefixed, strict=True):
            if digits_in_base:
                return -int(digits_in_base, base) if sign == "-" else int(digits_in_base, base)
        if len(decimal) < _INT64_DIGITS or (len(decimal) == _INT64_DIGITS and int(decimal) < 2**64):
            return int(sign + decimal)
    if not _FRACTION.fullmatch(digits):
        return None
    number = float(digits)
    if math.isinf(number):
        return None
    # JSON has one kind of number: 1.0 and 1e3 arrive as 1 and 1000, written with the shortest digits.
    return int(Decimal(repr(number))) if number.is_integer() and abs(number) < 1e21 else number


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_LONGEST_INTEGER = 3000  # in bits; the next reader may not take more
_LONG_TEXT = 64  # characters
_NO_KEY = object()
_MERGE = object()
_LIMIT = ", the limit of YAML; as JSON it is read many times faster (kubectl prints it with -o json)"
_SEPARATOR = re.compile(rb"^---(?=[ \t\r\n]|$)", re.MULTILINE)
_MOST_BROKEN = 10
_TOO_DEEP = f"lists and mappings are nested more than {bounds.DEPTH} levels deep"


class YamlDocument(msgspec.Struct, frozen=True):
    """One document: number and line (both from 1), value, and the lines of the elements of ``$.items``."""

    number: int
    line: int
    value: Any
    item_lines: tuple[int, ...]


def read_yaml(
    data: bytes,
    source: str,
    duplicates: list[str] | None = None,
    broken: list[InputError] | None = None,
    as_kustomize: bool = False,
) -> Iterator[YamlDocument]:
    """The documents of a YAML stream in order, empty ones left out.

    Of a key that appears twice the last one counts, as kubectl has it, and is added to ``duplicates`` in words; without
    such a list it is an error. What is wrong with a document is added to ``broken``, and the next one is read; without
    such a list, and where there are many of them, it is an error. It may be read ``as_kustomize`` reads it.

    ``data`` is UTF-8 without a byte order mark. Raises InputError that names ``source``, the document, line
    and column.
    """
    if len(data) > bounds.YAML_BYTES:
        raise InputError(f"larger than {bounds.YAML_BYTES:,} bytes{_LIMIT}", source=source)
    stream, rest = _Stream(_Builder(duplicates=duplicates, as_kustomize=as_kustomize)), data
    mark: Any
    while rest:
        try:
            yield from _documents_in(rest, source, stream)
            return
        except _YamlError as error:
            problem, mark = error.error(source, stream.number), error.mark
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            text = " ".join(part for part in (error.problem, error.context) if part)
            if mark and _character(data, mark) == "\t":
                text = "a tab stands where only spaces can"
            # The parser has a bound of its own, which it reaches before its events do.
            deep = "maximum nesting depth" in text
            problem = _YamlError(_TOO_DEEP if deep else f"not valid YAML: {text}", mark).error(source, stream.number)
        except yaml.reader.ReaderError as error:
            line, column = line_and_column(data, error.position)
            text = f"not valid YAML: the character U+{_code(error.character):04X} is not allowed"
            raise InputError(text, source=source, place=f"line {line}, column {column}") from None
        if broken is None or len(broken) >= _MOST_BROKEN or not mark:
            raise problem
        broken.append(problem)
        rest = _documents_from(data, max(mark.line, stream.line + 1))


class _Stream(msgspec.Struct):
    """How far a stream has been read: the builder and the number of the last document, and the line it begins in."""

    builder: _Builder
    number: int = 0
    line: int = -1


def _documents_in(data: bytes, source: str, stream: _Stream) -> Iterator[YamlDocument]:
    for event in yaml.parse(data, Loader=_LOADER):
        if isinstance(event, ev.DocumentStartEvent):
            stream.number += 1
            mark: Any = event.start_mark
            stream.line = mark.line
            check_number(stream.number, source)
            stream.builder = stream.builder.of_next_document()
        elif isinstance(event, ev.DocumentEndEvent):
            builder = stream.builder
            if builder.value is not None:
                yield YamlDocument(stream.number, builder.line, builder.value, tuple(builder.item_lines))
        elif isinstance(event, ev.NodeEvent | ev.CollectionEndEvent):
            stream.builder.take(event)


def _documents_from(data: bytes, line: int) -> bytes:
    """The documents that begin in a line (from 0) or behind it, with empty lines in place of the others."""
    lines = counted = 0
    for match in _SEPARATOR.finditer(data):
        lines += data.count(b"\n", counted, match.start())
        counted = match.start()
        if lines >= line:
            return b"\n" * lines + data[counted:]
    return b""


class _YamlError(Exception):
    """An error and its mark."""

    def __init__(self, problem: str, mark: Any) -> None:
        self.problem, self.mark = problem, mark
        super().__init__(problem)

    def error(self, source: str, number: int) -> InputError:
        place = f"line {self.mark.line + 1}, column {self.mark.column + 1}" if self.mark else ""
        problem = " ".join(self.problem.split())
        return InputError(problem, source=f"{source} document {max(number, 1)}", place=place)


class _Open(msgspec.Struct):
    """A list or mapping that is not complete.

    ``size`` counts the values in it, aliased ones as often as they are used; ``height`` the levels below it.
    """

    value: Any
    anchor: str | None
    mark: Any
    size: int = 1
    height: int = 0
    key: Any = _NO_KEY
    merged: list[Any] | None = None
    lines: dict[str, int] | None = None


class _Builder:
    """Puts the events of one document together, without recursion.

    ``values`` and ``aliased`` count what stands in the whole file, and what its aliases stand for.
    """

    def __init__(
        self, aliased: int = 0, values: int = 0, duplicates: list[str] | None = None, as_kustomize: bool = False
    ) -> None:
        self.value: Any = None
        self.line = 1
        self.item_lines: list[int] = []
        self.aliased, self.values, self._duplicates = aliased, values, duplicates
        self._as_kustomize = as_kustomize
        self._resolve = plain_of_kustomize if as_kustomize else plain
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int, int] | None] = {}  # name: value, size, height

    def of_next_document(self) -> _Builder:
        return _Builder(self.aliased, self.values, self._duplicates, self._as_kustomize)

    def take(self, event: Any) -> None:
        if isinstance(event, ev.CollectionEndEvent):
            self._end()
            return
        self.values += 1
        if self.values > bounds.YAML_VALUES:
            raise _YamlError(f"more than {bounds.YAML_VALUES:,} keys and values{_LIMIT}", event.start_mark)
        if isinstance(event, ev.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, ev.CollectionStartEvent):
            self._start(event)
        else:
            self._alias(event)

    def _scalar(self, event: ev.ScalarEvent) -> None:
        here = self._open[-1] if self._open else None
        if here is not None and here.lines is not None and here.key is _NO_KEY:
            here.key = self._key(event, here)
            return
        value = _value(event, self._resolve)
        size = _size(value)
        if event.anchor:
            self._anchors[event.anchor] = (value, size, 0)
        self._add(value, size, 0, event.start_mark)

    def _key(self, event: ev.ScalarEvent, here: _Open) -> Any:
        if (event.value == "<<" and event.implicit[0] and not event.tag) or event.tag == _CORE + "merge":
            return _MERGE
        value = _value(event, self._resolve)
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, int):
            value = str(value)
        if not isinstance(value, str):
            problem = f"a key must be a string, found {describe_value(value)}: put quotes around it"
            raise _YamlError(problem, event.start_mark)
        size = _size(value)
        if event.anchor:
            self._anchors[event.anchor] = (value, size, 0)
        here.size += size - 1
        self._check_duplicate_key(value, here, event.start_mark)
        return value

    def _check_duplicate_key(self, key: str, here: _Open, mark: Any) -> None:
        lines = here.lines or {}
        if key in lines and not self._is_of_annotations(key):
            problem = f"the key {describe_value(key)} appears twice (first in line {lines[key] + 1})"
            if self._duplicates is None:
                raise _YamlError(problem, mark)
            self._duplicates.append(f"line {mark.line + 1}, column {mark.column + 1}: {problem}: the last one counts")
        lines[key] = mark.line
        here.lines = lines

    def _is_of_annotations(self, key: str) -> bool:
        """Whether kustomize, which writes the annotations of an object anew, does not mind that a key stands twice."""
        path = [*(opened.key for opened in self._open[:-1]), key]
        return self._as_kustomize and path[:2] == ["metadata", "annotations"] and len(path) <= 3

    def _start(self, event: Any) -> None:
        mapping = isinstance(event, ev.MappingStartEvent)
        wanted = "map" if mapping else "seq"
        if event.tag not in (None, "!", _CORE + wanted):
            raise _YamlError(f"the tag {_short(event.tag)} is not supported", event.start_mark)
        if len(self._open) >= bounds.DEPTH:
            raise _YamlError(_TOO_DEEP, event.start_mark)
        outer = self._open[-1] if self._open else None
        if outer is not None and outer.lines is not None and outer.key is _NO_KEY:
            raise _YamlError("a key must be a string, not a list or mapping", event.start_mark)
        if len(self._open) == 2 and self._open[0].key == "items" and self._open[1].lines is None:
            self.item_lines.append(event.start_mark.line + 1)
        if event.anchor:
            self._anchors[event.anchor] = None
        opened = _Open({} if mapping else [], event.anchor, event.start_mark)
        opened.lines = {} if mapping else None
        self._open.append(opened)

    def _end(self) -> None:
        done = self._open.pop()
        for merged in done.merged or ():
            for key, value in merged.items():
                done.value.setdefault(key, value)
        if done.anchor:
            self._anchors[done.anchor] = (done.value, done.size, done.height)
        self._add(done.value, done.size, done.height + 1, done.mark)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise _YamlError(f"the alias *{event.anchor} has no anchor before it", event.start_mark)
        anchor = self._anchors[event.anchor]
        if anchor is None:
            raise _YamlError(f"the anchor &{event.anchor} contains itself", event.start_mark)
        value, size, height = anchor
        if len(self._open) + height >= bounds.DEPTH:
            raise _YamlError(_TOO_DEEP, event.start_mark)
        self.aliased += size
        if self.aliased > bounds.ALIASED_VALUES:
            raise _YamlError(f"its aliases stand for more than {bounds.ALIASED_VALUES:,} values", event.start_mark)
        here = self._open[-1] if self._open else None
        if here is not None and here.lines is not None and here.key is _NO_KEY:
            if not isinstance(value, str):
                raise _YamlError(f"a key must be a string, found {describe_value(value)}", event.start_mark)
            self._check_duplicate_key(value, here, event.start_mark)
            here.key = value
        else:
            self._add(value, size, height, event.start_mark)

    def _add(self, value: Any, size: int, height: int, mark: Any) -> None:
        if not self._open:
            self.value, self.line = value, mark.line + 1
            return
        here = self._open[-1]
        here.size += size
        here.height = max(here.height, height)
        if here.lines is None:
            here.value.append(value)
        elif here.key is _MERGE:
            maps = value if isinstance(value, list) else [value]
            if not all(isinstance(merged, dict) for merged in maps):
                raise _YamlError("<< takes a mapping or a list of mappings", mark)
            here.merged = (here.merged or []) + maps
            here.key = _NO_KEY
        else:
            there = here.value.get(here.key)
            if isinstance(there, dict) and self._is_of_annotations(here.key):
                value = {**value, **there} if isinstance(value, dict) else there
            here.value[here.key] = value
            here.key = _NO_KEY


def _character(data: bytes, mark: Any) -> str:
    line = data.split(b"\n", mark.line + 1)[mark.line : mark.line + 1]
    return line[0].decode("utf-8", "replace")[mark.column : mark.column + 1] if line else ""


def _value(event: ev.ScalarEvent, resolve: Callable[[str], Scalar]) -> Scalar:
    """The value of a scalar, by its tag or, if it is unquoted, by its form."""
    text: str = event.value
    if event.tag in (None, "!"):
        if event.tag == "!" or not event.implicit[0]:
            return text
        value = resolve(text)
    elif event.tag in (_CORE + "str", _CORE + "timestamp"):
        return text
    else:
        value = plain(text)
        kinds = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
        kind: Any = kinds.get(event.tag.removeprefix(_CORE), ())
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise _YamlError(f"{describe_value(text)} cannot be read as {_short(event.tag)}", event.start_mark)
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        raise _YamlError("this number is too large", event.start_mark)
    if isinstance(value, float) and not math.isfinite(value):
        raise _YamlError(f"{describe_value(text)} is not a number in JSON", event.start_mark)
    return value


def _size(value: Scalar) -> int:
    """How many values a scalar counts for: a long text as many, since it would be written out for every alias."""
    return 1 + len(value) // _LONG_TEXT if isinstance(value, str) else 1


def _short(tag: str) -> str:
    return describe_value(tag.replace(_CORE, "!!", 1))


def _code(character: int | str | bytes) -> int:
    """The C and the Python reader differ in how they report a character."""
    return character if isinstance(character, int) else ord(character[:1])
