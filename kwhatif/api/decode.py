"""JSON texts and Python values become typed objects, or an InputError that names the exact place."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from kwhatif.api.mismatch import as_go_reads, place_of
from kwhatif.api.quantity import Quantity
from kwhatif.errors import InputError

T = TypeVar("T")
Json = bytes | bytearray | memoryview | msgspec.Raw
"""UTF-8 encoded JSON."""

_TOO_DEEP = "lists and objects are nested too deeply"
_BYTE = re.compile(r" \(byte (\d+)\)$")
_TRAILING = "trailing characters"


def decode_json(data: Json, type_: type[T]) -> T:
    """Decode JSON into ``type_``: a Struct, a list of Structs, ``dict[str, Raw]`` and so on.

    Unknown fields are ignored and null counts as absent. Raises InputError: for bad syntax its ``place`` is a
    line and column, for a value of the wrong type a path such as ``$.spec.priority``.
    """
    try:
        return cast("T", _decoded(data, type_))
    except msgspec.ValidationError:
        # Either a true misfit or a null: both are rare, so they may take the slow way.
        fitting = as_go_reads(_untyped(data), type_)
    try:
        return cast("T", _decoded(msgspec.json.encode(fitting), type_))
    except msgspec.ValidationError as error:
        raise _unexplained(error) from None


def decode_list(data: Json, item: type[T]) -> list[T]:
    """Decode a JSON array whose items are many and alike; null is an empty one.

    As ``decode_json``, but a misfit costs no more than the one item it is in.
    """
    try:
        return cast("list[T]", _decoded(data, list[item]))  # type: ignore[valid-type]
    except msgspec.ValidationError:
        raws = decode_json(data, list[msgspec.Raw] | None) or []  # type: ignore[arg-type]
    items: list[T] = []
    for i, raw in enumerate(raws):
        try:
            items += decode_json(b"[%b]" % bytes(raw), list[item])  # type: ignore[valid-type]
        except InputError as error:
            raise InputError(error.problem, place=f"$[{i}]{error.place.removeprefix('$[0]')}") from None
    return items


def convert(value: object, type_: type[T]) -> T:
    """Convert plain Python values (dict, list, str, int, float, bool, None) into ``type_``.

    No value is bent into another type: 1 is no string and "1" no integer. Raises InputError with a ``place``.
    """
    try:
        return msgspec.convert(value, type_, dec_hook=_quantity)
    except msgspec.ValidationError:
        fitting = as_go_reads(value, type_)
    except RecursionError:
        raise InputError(_TOO_DEEP) from None
    try:
        return msgspec.convert(fitting, type_, dec_hook=_quantity)
    except msgspec.ValidationError as error:
        raise _unexplained(error) from None


def fits(value: object, type_: Any) -> bool:
    """Whether plain values are of a type as they stand; null in a list or a map is not."""
    try:
        msgspec.convert(value, type_, dec_hook=_quantity)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def line_and_column(data: bytes, offset: int) -> tuple[int, int]:
    """Where a byte stands in a text: line and column in characters, both from 1."""
    start = data.rfind(b"\n", 0, offset) + 1
    return data.count(b"\n", 0, offset) + 1, len(data[start:offset].decode("utf-8", "replace")) + 1


def syntax_error(error: msgspec.DecodeError, data: bytes, start: int = 0) -> InputError:
    """What is wrong with the JSON that begins at byte ``start``, with the line and column."""
    found, trailing = _BYTE.search(str(error)), before_trailing(error)
    if found:
        offset = start + (int(found[1]) if trailing is None else trailing)
        problem = str(error)[: found.start()].removeprefix("JSON is malformed: ")
    else:
        offset, problem = len(data), "the text ends too early"
    line, column = line_and_column(data, offset)
    return InputError(f"not valid JSON: {problem}", place=f"line {line}, column {column}")


def before_trailing(error: msgspec.DecodeError) -> int | None:
    """If the error is only that more follows a complete value: how many bytes lie before what follows."""
    found = _BYTE.search(str(error)) if _TRAILING in str(error) else None
    return int(found[1]) - _TRAILING_SHIFT if found else None


def _trailing_shift() -> int:
    """How far msgspec's number of the byte is from the truth when something follows a complete value."""
    try:
        msgspec.json.decode(b"{}{}")
    except msgspec.DecodeError as error:
        found = _BYTE.search(str(error))
        return int(found[1]) - 2 if found else 0
    return 0


_TRAILING_SHIFT = _trailing_shift()


def _decoded(data: Json, type_: Any) -> Any:
    try:
        return _decoder(type_)(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        raise syntax_error(error, bytes(data)) from None
    except UnicodeDecodeError:
        raise InputError("the JSON text is not valid UTF-8") from None
    except RecursionError:
        raise InputError(_TOO_DEEP) from None


def _untyped(data: Json) -> Any:
    try:
        return _decoded(data, Any)
    except msgspec.ValidationError:
        # All that JSON without a type can be blamed for is a number beyond all ranges.
        value = json.loads(bytes(data), parse_int=_number, parse_float=_number)
        raise InputError("this number is too large", place=place_of(_ENDLESS, value)) from None


def _number(text: str) -> object:
    return 0 if len(text) < 1000 and math.isfinite(float(text)) else _ENDLESS


_ENDLESS = object()
_decoders: dict[Any, Callable[[Json], Any]] = {}
_building = threading.Lock()


def _decoder(type_: Any) -> Callable[[Json], Any]:
    found = _decoders.get(type_)
    if found is None:
        # While a decoder is built, what msgspec notes on the Structs is half done: who built another one of the same
        # Structs at that moment would read it, and crash.
        with _building:
            found = _decoders[type_] = msgspec.json.Decoder(type_, dec_hook=_quantity).decode
    return found


def _quantity(type_: type[Any], value: object) -> object:
    if type_ is Quantity:
        return Quantity.from_json(value)
    raise NotImplementedError(f"no rule reads a {type_.__name__}")


def _unexplained(error: msgspec.ValidationError) -> InputError:
    """msgspec's own words, for a type that ``as_go_reads`` has no rule for."""
    problem, _, place = str(error).partition(" - at ")
    return InputError(problem[:1].lower() + problem[1:].replace("`", ""), place=place.strip("`") or "$")
