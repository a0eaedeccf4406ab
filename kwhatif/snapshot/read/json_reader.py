"""Reads a stream of JSON documents, as kubectl accepts it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from kwhatif import bounds
from kwhatif.api.decode import before_trailing, step, syntax_error
from kwhatif.errors import InputError

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*+")
_CHUNK = 16 * 1024**2


class JsonDocument(msgspec.Struct, frozen=True):
    """One document: its number and line, both from 1, and its text, whose syntax is sound."""

    number: int
    line: int
    value: msgspec.Raw


def read_json(data: bytes, source: str) -> Iterator[JsonDocument]:
    """The documents of a JSON stream; ``data`` is UTF-8.

    Raises InputError that names ``source`` and the line and column of what is wrong, or says it is too deep.
    """
    _check_depth(data, source)
    view, start, number, line, counted = memoryview(data), 0, 0, 1, 0
    while (begin := _after_space(data, start)) < len(data):
        line += data.count(b"\n", counted, begin)
        counted = begin
        number += 1
        check_number(number, source)
        try:
            value = msgspec.json.decode(view[begin:], type=msgspec.Raw)
            start = len(data)
        except msgspec.DecodeError as error:
            length = before_trailing(error)
            if length is None:
                raise syntax_error(error, data, begin).with_source(source) from None
            start = begin + length
            value = msgspec.Raw(view[begin:start])
        except RecursionError:
            raise _too_deep(source) from None
        yield JsonDocument(number, line, value)


def check_number(number: int, source: str) -> None:
    """Raises InputError if a file holds too many documents."""
    if number > bounds.DOCUMENTS:
        raise InputError(f"holds more than {bounds.DOCUMENTS:,} documents", source=source)


def check_keys(value: msgspec.Raw, source: str) -> None:
    """Raises InputError for a duplicate key in an object, which kubectl's strict decoding refuses."""
    # Numbers are left as they are spelt: the reader of a field knows how large it may be.
    decoded = json.loads(bytes(value), object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
    place = _twice(decoded, "$")
    if place:
        raise InputError("this key appears twice", source=source, place=place)


class _Pairs(list[tuple[str, Any]]):
    """An object with all its keys."""


def _twice(value: Any, place: str) -> str:
    """The place of the first duplicate key, empty if there is none."""
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value:
            inner = place + step(key)
            key_twice = inner if key in seen else _twice(item, inner)
            seen.add(key)
            if key_twice:
                return key_twice
    elif isinstance(value, list):
        return next(filter(None, (_twice(item, f"{place}[{i}]") for i, item in enumerate(value))), "")
    return ""


def _after_space(data: bytes, start: int) -> int:
    match = _SPACE.match(data, start)
    return match.end() if match else start


def _check_depth(data: bytes, source: str) -> None:
    """Refuse deep nesting before anything recurses into it, and text that is mostly brackets, which takes most memory.

    Brackets inside strings do not count.
    """
    brackets = data.translate(None, delete=_NOT_BRACKETS)
    for outside in (True, False):
        deep = _depth(brackets) > bounds.DEPTH
        number = len(brackets) // 2
        if not deep and (number < bounds.MANY or number * bounds.BYTES_EACH < len(data)):
            return
        if outside:
            brackets = _STRING.sub(b"", data).translate(None, delete=_NOT_BRACKETS)
    if deep:
        raise _too_deep(source)
    raise InputError(f"holds {number:,} lists and mappings and hardly any text, as no manifest would", source=source)


def _depth(text: bytes) -> int:
    brackets = np.frombuffer(text, dtype=np.uint8)
    deepest = depth = 0
    for start in range(0, len(brackets), _CHUNK):
        chunk = brackets[start : start + _CHUNK]
        steps = np.where((chunk == ord("[")) | (chunk == ord("{")), np.int8(1), np.int8(-1))
        depths = depth + np.cumsum(steps, dtype=np.int32)
        deepest, depth = max(deepest, int(depths.max())), int(depths[-1])
    return deepest


def _too_deep(source: str) -> InputError:
    problem = f"lists and objects are nested more than {bounds.DEPTH} levels deep"
    return InputError(problem, source=source, place="$")
