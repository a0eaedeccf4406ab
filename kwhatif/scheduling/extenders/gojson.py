"""Answers of extenders, read as Go's encoding/json reads them, and refused in its words.

Names of fields match whatever their case, null is the zero value, unknown fields and whatever follows the first
value are ignored. Upstream: json.NewDecoder(...).Decode in pkg/scheduler/extender.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

from kwhatif.golang.spelling import go_quote

__all__ = ["At", "GoJsonError", "Reader", "integer", "list_of", "map_of", "parse", "plain", "struct", "text"]

T = TypeVar("T")


class GoJsonError(Exception):
    """What encoding/json would say."""


class _Number(str):
    """A number as it was spelt."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """An object's fields in their order, repeated ones and all."""


@dataclass(frozen=True, slots=True)
class At:
    """Where in the Go types a value belongs: the innermost struct, and the fields that lead there."""

    struct: str = ""
    fields: tuple[str, ...] = ()

    def mismatch(self, value: object, go_type: str, *, spelt: bool = False) -> NoReturn:
        what = _kind(value) + (f" {value}" if spelt and isinstance(value, _Number) else "")
        into = f"struct field {self.struct}.{'.'.join(self.fields)}" if self.struct else "value"
        raise GoJsonError(f"json: cannot unmarshal {what} into Go {into} of type {go_type}")


Reader = Callable[[Any, At], T]
"""Makes a value of what was parsed; None stands for null."""


def _kind(value: object) -> str:
    match value:
        case _Object():
            return "object"
        case list():
            return "array"
        case bool():
            return "bool"
        case _Number():
            return "number"
    return "string"


# --- texts


def parse(data: bytes) -> Any:
    """The first value of a text, to be handed to a reader. Raises GoJsonError."""
    spelt = data.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not spelt:
        raise GoJsonError("EOF")
    try:
        return _DECODER.raw_decode(spelt)[0]
    except json.JSONDecodeError as error:
        raise GoJsonError(_syntax(error.msg, spelt, error.pos)) from None
    except RecursionError:
        raise GoJsonError("exceeded max depth") from None


def _constant(name: str) -> NoReturn:
    where = "in numeric literal" if name[0] == "-" else "looking for beginning of value"
    raise GoJsonError(f"invalid character {_char(name.lstrip('-'))} {where}")


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_constant)
_WHERE = {
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
    "Expecting value": "looking for beginning of value",
}


def _syntax(problem: str, spelt: str, position: int) -> str:
    """Python's complaint about a text, as Go has it."""
    rest = spelt[position:]
    if problem.startswith("Expecting"):
        rest = rest.lstrip(" \t\r\n")
    if problem.startswith("Unterminated string") or not rest:
        return "unexpected EOF"
    if problem == "Expecting value":
        for literal in ("true", "false", "null"):
            if rest[0] == literal[0]:
                return _bad_literal(rest, literal)
        if rest[0] == "-":
            return f"invalid character {_char(rest[1:])} in numeric literal" if rest[1:] else "unexpected EOF"
    if problem == "Expecting ',' delimiter":
        where = "after object key:value pair" if _inside_object(spelt[:position]) else "after array element"
    else:
        where = _WHERE.get(problem.rstrip(": "), "looking for beginning of value")
    if problem.startswith("Invalid \\"):
        rest = rest[1:] or rest
    return f"invalid character {_char(rest)} {where}"


def _bad_literal(rest: str, literal: str) -> str:
    for found, wanted in zip(rest, literal, strict=False):
        if found != wanted:
            return f"invalid character {_char(found)} in literal {literal} (expecting '{wanted}')"
    return "unexpected EOF"


def _char(rest: str) -> str:
    """The first character in Go's single quotes; Go looks at bytes."""
    char = chr(rest[0].encode("utf-8")[0])
    if char == "'":
        return "'\\''"
    return "'\"'" if char == '"' else f"'{go_quote(char)[1:-1]}'"


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def _inside_object(before: str) -> bool:
    """Whether a text ends inside an object rather than inside a list."""
    open_ones: list[str] = []
    for char in _STRING.sub("", before):
        if char in "{[":
            open_ones.append(char)
        elif char in "}]" and open_ones:
            open_ones.pop()
    return bool(open_ones) and open_ones[-1] == "{"


# --- readers


def text(value: Any, at: At) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, _Number):
        at.mismatch(value, "string")
    return value


_INTEGER = re.compile(r"-?[0-9]+")


def integer(value: Any, at: At) -> int:
    if value is None:
        return 0
    if not isinstance(value, _Number):
        at.mismatch(value, "int64")
    if len(value) > 20 or not _INTEGER.fullmatch(value) or not -(2**63) <= int(value) < 2**63:
        at.mismatch(value, "int64", spelt=True)
    return int(value)


def list_of(item: Reader[T], go_type: str) -> Reader[list[T] | None]:
    """A list; None for null."""

    def read(value: Any, at: At) -> list[T] | None:
        if value is None:
            return None
        if not isinstance(value, list) or isinstance(value, _Object):
            at.mismatch(value, go_type)
        return [item(each, at) for each in value]

    return read


def map_of(item: Reader[T], go_type: str) -> Reader[dict[str, T]]:
    """An object with keys of its own; empty for null."""

    def read(value: Any, at: At) -> dict[str, T]:
        if value is None:
            return {}
        if not isinstance(value, _Object):
            at.mismatch(value, go_type)
        return {key: item(each, at) for key, each in value}

    return read


def struct(name: str, fields: Mapping[str, Reader[Any]], go_type: str = "") -> Reader[dict[str, Any] | None]:
    """A Go struct: values by field, zero where nothing is said; None for null."""
    folded = {field.lower(): field for field in fields}

    def read(value: Any, at: At) -> dict[str, Any] | None:
        if value is None:
            return None
        if not isinstance(value, _Object):
            at.mismatch(value, go_type or f"v1.{name}")
        found = {field: reader(None, at) for field, reader in fields.items()}
        for key, each in value:
            field = key if key in fields else folded.get(key.lower())
            if field is not None:
                found[field] = fields[field](each, replace(at, struct=name, fields=(*at.fields, field)))
        return found

    return read


def plain(value: Any, at: At) -> Any:
    """The value as dicts, lists, strings, numbers."""
    match value:
        case _Object():
            return {key: plain(each, at) for key, each in value}
        case list():
            return [plain(each, at) for each in value]
        case _Number():
            return int(value) if len(value) < 4000 and _INTEGER.fullmatch(value) else float(value)
    return value
