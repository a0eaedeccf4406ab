"""Decoding of JSON and plain Python values into typed objects, or an InputError that names the exact place.

The fast decoder stops at the first misfit with a terse message. To explain it the same value is walked once more,
slowly; null is read as Go does: as if the field were absent, or as the zero value in a list or a map. Upstream: Go's
encoding/json as sigs.k8s.io/json applies it.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.api.timestamps import EXAMPLE, Timestamp, TimestampError
from kwhatif.errors import InputError

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SHOWN = 60


def as_go_reads(value: object, type_: Any) -> object:
    """``value`` without its nulls, ready for conversion to ``type_``. Raises InputError at the first misfit."""
    return _fit(value, _type_info(type_), "$")


def step(key: str) -> str:
    """One step of a place: ``.name``, or ``["example.com/name"]`` for a key that is no plain word."""
    return f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{_quote_text(key)}]"


def place_of(part: object, value: object) -> str:
    """The path at which this very object stands within a value, ``$`` if nowhere."""
    rest = [("$", value)]
    while rest:
        place, here = rest.pop()
        if here is part:
            return place
        if isinstance(here, dict):
            rest += [(place + step(key), item) for key, item in here.items()]
        elif isinstance(here, list):
            rest += [(f"{place}[{i}]", item) for i, item in enumerate(here)]
    return "$"


def describe_value(value: object) -> str:
    """A value in a message, on one line: ``"abc"``, ``the number 5``, ``a list``."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            digits = "too long to show" if isinstance(value, int) and value.bit_length() > 200 else value
            return f"the number {digits}"
        case str():
            return _quote_text(value)
        case list():
            return "a list"
        case dict():
            return "an object"
    return f"a {type(value).__name__}"


@lru_cache(maxsize=256)
def _type_info(type_: Any) -> inspect.Type:
    return inspect.type_info(type_)


def _quote_text(text: str) -> str:
    if len(text) > _SHOWN:
        text = text[: _SHOWN - 1] + "…"
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _misfit(expected: str, value: object, place: str) -> InputError:
    return InputError(f"expected {expected}, found {describe_value(value)}", place=place)


def _fit(value: object, want: inspect.Type, place: str) -> object:
    match want:
        case inspect.Metadata():
            return _fit(value, want.type, place)
        case inspect.UnionType():
            return _fit_union(value, want, place)
        case inspect.StructType():
            return _fit_struct(value, want, place)
        case inspect.DictType():
            return _fit_dict(value, want, place)
        case inspect.ListType():
            if not isinstance(value, list):
                raise _misfit("a list", value, place)
            return [_fit_element(item, want.item_type, f"{place}[{i}]") for i, item in enumerate(value)]
        case inspect.StrType():
            if not isinstance(value, str):
                raise _misfit("a string", value, place)
        case inspect.BoolType():
            if not isinstance(value, bool):
                raise _misfit("true or false", value, place)
        case inspect.IntType():
            _check_int(value, want, place)
        case inspect.FloatType():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise _misfit("a number", value, place)
        case inspect.CustomType(cls=cls) if cls is Quantity:
            try:
                Quantity.from_json(value)
            except QuantityError:
                raise _misfit('a quantity such as "500m" or "1Gi"', value, place) from None
        case inspect.CustomType(cls=cls) if cls is Timestamp:
            try:
                Timestamp.from_json(value)
            except TimestampError:
                raise _misfit(EXAMPLE, value, place) from None
    return value


def _fit_union(value: object, want: inspect.UnionType, place: str) -> object:
    choices = [choice for choice in want.types if not isinstance(choice, inspect.NoneType)]
    if value is None and len(choices) < len(want.types):
        return None
    misfits = []
    for choice in choices:
        try:
            return _fit(value, choice, place)
        except InputError as misfit:
            misfits.append(misfit)
    if len(misfits) == 1:
        raise misfits[0]
    expected = " or ".join(misfit.problem.removeprefix("expected ").split(", found ")[0] for misfit in misfits)
    raise _misfit(expected, value, place)


def _fit_struct(value: object, want: inspect.StructType, place: str) -> object:
    if not isinstance(value, dict):
        raise _misfit("an object", value, place)
    fitting = {}
    for field in want.fields:
        item = value.get(field.encode_name)
        if item is not None:
            fitting[field.encode_name] = _fit(item, field.type, place + step(field.encode_name))
        elif field.required:
            raise InputError(f"the field {field.encode_name} is missing", place=place)
    return fitting


def _fit_dict(value: object, want: inspect.DictType, place: str) -> object:
    if not isinstance(value, dict):
        raise _misfit("an object", value, place)
    fitting = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _misfit("a string as key", key, place)
        fitting[key] = _fit_element(item, want.value_type, place + step(key))
    return fitting


def _fit_element(value: object, want: inspect.Type, place: str) -> object:
    """An element of a list or map, where null is the zero value of the type."""
    return _zero(want) if value is None else _fit(value, want, place)


def _zero(want: inspect.Type) -> object:
    match want:
        case inspect.StructType() | inspect.DictType():
            return {}
        case inspect.ListType():
            return []
        case inspect.StrType():
            return ""
        case inspect.BoolType():
            return False
        case inspect.IntType() | inspect.FloatType():
            return 0
    return None


def _check_int(value: object, want: inspect.IntType, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _misfit("an integer", value, place)
    if (want.ge is not None and value < want.ge) or (want.le is not None and value > want.le):
        raise _misfit(f"an integer {in_range(want.ge, want.le)}", value, place)


def in_range(least: int | None, most: int | None) -> str:
    """``from 1 to 5``, ``of at least 1``."""
    if most is None:
        return f"of at least {least}"
    return f"of at most {most}" if least is None else f"from {least} to {most}"


T = TypeVar("T")
Json = bytes | bytearray | memoryview | msgspec.Raw
"""UTF-8 encoded JSON."""

ENDS_EARLY = "the text ends too early"
"""The problem of JSON that was cut."""

_TOO_DEEP = "lists and objects are nested too deeply"
_BYTE = re.compile(r" \(byte (\d+)\)$")
_TRAILING = "trailing characters"


def decode_json(data: Json, type_: type[T]) -> T:
    """Decode JSON into ``type_``: a Struct, a list of Structs, ``dict[str, Raw]`` and so on.

    Unknown fields are ignored and null counts as absent. Raises InputError: for bad syntax its ``place`` is a
    line and column, for a value of the wrong type a path such as ``$.spec.priority``.
    """
    try:
        return cast("T", _decode_bytes(data, type_))
    except msgspec.ValidationError:
        # Either a true misfit or a null: both are rare, so they may take the slow way.
        fitting = as_go_reads(_decode_untyped(data), type_)
    try:
        return cast("T", _decode_bytes(msgspec.json.encode(fitting), type_))
    except msgspec.ValidationError as error:
        raise _convert_msgspec_error(error) from None


def decode_list(data: Json, item: type[T]) -> list[T]:
    """Decode a JSON array whose items are many and alike; null is an empty one.

    As ``decode_json``, but a misfit costs no more than the one item it is in.
    """
    try:
        return cast("list[T]", _decode_bytes(data, list[item]))  # type: ignore[valid-type]
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
        return msgspec.convert(value, type_, dec_hook=_read_own)
    except msgspec.ValidationError:
        fitting = as_go_reads(value, type_)
    except RecursionError:
        raise InputError(_TOO_DEEP) from None
    try:
        return msgspec.convert(fitting, type_, dec_hook=_read_own)
    except msgspec.ValidationError as error:
        raise _convert_msgspec_error(error) from None


def fits(value: object, type_: Any) -> bool:
    """Whether plain values are of a type as they stand; null in a list or a map is not."""
    try:
        msgspec.convert(value, type_, dec_hook=_read_own)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def line_and_column(data: bytes, offset: int) -> tuple[int, int]:
    """Where a byte stands in a text: line and column in characters, both from 1."""
    start = data.rfind(b"\n", 0, offset) + 1
    return data.count(b"\n", 0, offset) + 1, len(data[start:offset].decode("utf-8", "replace")) + 1


def syntax_error(error: msgspec.DecodeError, data: bytes, start: int = 0) -> InputError:
    """The syntax error in the JSON that begins at byte ``start``, with line and column."""
    match, trailing = _BYTE.search(str(error)), before_trailing(error)
    if match:
        offset = start + (int(match[1]) if trailing is None else trailing)
        problem = str(error)[: match.start()].removeprefix("JSON is malformed: ")
    else:
        offset, problem = len(data), ENDS_EARLY
    line, column = line_and_column(data, offset)
    return InputError(f"not valid JSON: {problem}", place=f"line {line}, column {column}")


def before_trailing(error: msgspec.DecodeError) -> int | None:
    """If the error is only that more follows a complete value: the length of that value in bytes."""
    match = _BYTE.search(str(error)) if _TRAILING in str(error) else None
    return int(match[1]) - _TRAILING_SHIFT if match else None


def _trailing_shift() -> int:
    """By how much msgspec's byte offset is off when something follows a complete value."""
    try:
        msgspec.json.decode(b"{}{}")
    except msgspec.DecodeError as error:
        match = _BYTE.search(str(error))
        return int(match[1]) - 2 if match else 0
    return 0


_TRAILING_SHIFT = _trailing_shift()


def _decode_bytes(data: Json, type_: Any) -> Any:
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


def _decode_untyped(data: Json) -> Any:
    try:
        return _decode_bytes(data, Any)
    except msgspec.ValidationError:
        # Of untyped JSON only a number out of every range is refused.
        value = json.loads(bytes(data), parse_int=_number, parse_float=_number)
        raise InputError("this number is too large", place=place_of(_ENDLESS, value)) from None


def _number(text: str) -> object:
    return 0 if len(text) < 1000 and math.isfinite(float(text)) else _ENDLESS


_ENDLESS = object()
_decoders: dict[Any, Callable[[Json], Any]] = {}
_building = threading.Lock()


def _decoder(type_: Any) -> Callable[[Json], Any]:
    decoder = _decoders.get(type_)
    if decoder is None:
        # While a decoder is built, the caches that msgspec keeps on the Structs are incomplete: a second thread that
        # built a decoder of the same Structs at that moment would read them, and crash.
        with _building:
            decoder = _decoders[type_] = msgspec.json.Decoder(type_, dec_hook=_read_own).decode
    return decoder


def _read_own(type_: type[Any], value: object) -> object:
    """A value of a type with a reader of its own, such as a quantity."""
    if type_ is Quantity:
        return Quantity.from_json(value)
    if type_ is Timestamp:
        return Timestamp.from_json(value)
    raise NotImplementedError(f"no rule reads a {type_.__name__}")


def _convert_msgspec_error(error: msgspec.ValidationError) -> InputError:
    """msgspec's own words, for a type that ``as_go_reads`` has no rule for."""
    problem, _, place = str(error).partition(" - at ")
    return InputError(problem[:1].lower() + problem[1:].replace("`", ""), place=place.strip("`") or "$")
