"""Functions that every expression has: sizes, conversions, strings, optional values, times.

Upstream: github.com/google/cel-go/common/stdlib, common/types and ext/strings.go (version 2).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from math import ceil, isfinite
from typing import Any

from kwhatif.cel.faults import Fault
from kwhatif.cel.formatting import formatted, quoted, text_of
from kwhatif.cel.kinds import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    A,
    B,
    Kind,
    list_of,
    map_of,
    optional_of,
)
from kwhatif.cel.operators import size_of
from kwhatif.cel.overloads import Overload, Table, one, per_character, regex_cost, twice_per_character
from kwhatif.cel.patterns import search
from kwhatif.cel.values import Duration, Optional, Timestamp, TypeValue, UInt, name_of

__all__ = ["standard_functions"]


def _out_of(value: object, kind: str) -> Fault:
    return Fault(f"type conversion error from '{name_of(value)}' to '{kind}'")


def _to_int(value: Any) -> int:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?[0-9]{1,99}", value) or not -(2**63) <= int(value) < 2**63:
            raise Fault(f"type conversion error from 'string' to 'int': {value}")
        return int(value)
    if isinstance(value, Timestamp):
        return value.nanos // 1_000_000_000
    if isinstance(value, float) and not (isfinite(value) and -(2**63) < value < 2**63):
        raise Fault("integer overflow")
    if not -(2**63) <= int(value) < 2**63:
        raise Fault("integer overflow")
    return int(value)


def _to_uint(value: Any) -> UInt:
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]{1,99}", value) or int(value) >= 2**64:
            raise Fault(f"type conversion error from 'string' to 'uint': {value}")
        return UInt(value)
    if (isinstance(value, float) and not isfinite(value)) or not 0 <= int(value) < 2**64:
        raise Fault("unsigned integer overflow")
    return UInt(value)


def _to_double(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise Fault(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from None


def _to_bool(value: Any) -> bool:
    if isinstance(value, str):
        if value in ("1", "t", "T", "true", "TRUE", "True"):
            return True
        if value in ("0", "f", "F", "false", "FALSE", "False"):
            return False
        raise _out_of(value, "bool")
    return bool(value)


def _to_string(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Fault("invalid UTF-8 in bytes, cannot convert to string") from None
    return text_of(value)


_DURATION = re.compile(r"([0-9]{1,99}(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def _to_duration(text: Any) -> Duration:
    if isinstance(text, Duration):
        return text
    body = text[1:] if text[:1] in ("+", "-") else text
    found = list(_DURATION.finditer(body))
    if body != "0" and (not body or "".join(part[0] for part in found) != body):
        raise Fault(f'time: invalid duration "{text}"')
    nanos = 0
    for part in found:
        whole, _, fraction = part[1][:99].partition(".")
        unit = _UNITS[part[2]]
        nanos += int(whole or 0) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
    if nanos >= 2**63:
        raise Fault(f'time: invalid duration "{text}"')
    return Duration(-nanos if text.startswith("-") else nanos)


def _to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int):
        return Timestamp(int(value) * 1_000_000_000)
    whole, dot, rest = value.partition(".")
    digits = re.match(r"[0-9]*", rest)[0] if dot else ""  # type: ignore[index]
    try:
        if "T" not in whole.upper():
            raise ValueError
        moment = datetime.fromisoformat(whole + rest[len(digits) :])
        if moment.tzinfo is None:
            raise ValueError
    except ValueError:
        raise Fault(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse') from None
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return Timestamp(seconds * 1_000_000_000 + int((digits or "0").ljust(9, "0")[:9]))


def _moment(stamp: Timestamp) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=stamp.nanos // 1000)


_GETTERS = {
    "getFullYear": lambda stamp: _moment(stamp).year,
    "getMonth": lambda stamp: _moment(stamp).month - 1,
    "getDate": lambda stamp: _moment(stamp).day,
    "getDayOfMonth": lambda stamp: _moment(stamp).day - 1,
    "getDayOfWeek": lambda stamp: (_moment(stamp).weekday() + 1) % 7,
    "getDayOfYear": lambda stamp: _moment(stamp).timetuple().tm_yday - 1,
}
_OF_BOTH = {"getHours": (3600 * 10**9, 24), "getMinutes": (60 * 10**9, 60), "getSeconds": (10**9, 60)}


def _part(unit: int, most: int) -> tuple[Any, Any]:
    """A part of a timestamp, and the same of a duration, which counts on beyond ``most``."""
    return (lambda stamp: stamp.nanos // unit % most), (lambda span: int(span.nanos / unit))


# --- strings


def _at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise Fault(f"index out of range: {index}")
    return text[index : index + 1]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if not 0 <= start <= len(text):
        raise Fault(f"index out of range: {start}")
    if end is None:
        return text[start:]
    if not 0 <= end <= len(text):
        raise Fault(f"index out of range: {end}")
    if start > end:
        raise Fault(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if part and not 0 <= start <= len(text):
        raise Fault(f"index out of range: {start}")
    return start if not part else text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if last is not None and part and not 0 <= last <= len(text):
        raise Fault(f"index out of range: {last}")
    if not part:
        return len(text) if last is None else last
    return text.rfind(part) if last is None else text.rfind(part, 0, last + len(part))


def _joined(parts: list[Any], separator: str = "") -> str:
    if any(not isinstance(part, str) for part in parts):
        raise Fault("no such overload")
    return separator.join(parts)


def _replaced(text: str, old: str, new: str, times: int = -1) -> str:
    return text.replace(old, new, times)


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if most == 1:
        return [text]
    if not separator:
        return list(text) if most < 0 or most >= len(text) else [*text[: most - 1], text[most - 1 :]]
    return text.split(separator, most - 1 if most > 0 else -1)


def _lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _upper(text: str) -> str:
    return "".join(letter.upper() if letter.isascii() else letter for letter in text)


def _contains_cost(text: str, part: str) -> int:
    return ceil(size_of(text) / 10) * ceil(size_of(part) / 10)


# --- optional values


def _value(optional: Optional) -> Any:
    if not optional.there:
        raise Fault("optional.none() dereference")
    return optional.value


def _zero(value: Any) -> bool:
    return value is None or (isinstance(value, bool | int | float | str | bytes | list | dict) and not value)


def _member(params: tuple[Kind, ...], result: Kind, run: Any, cost: Any = one) -> Overload:
    return Overload(params, result, run, member=True, cost=cost)


def standard_functions() -> Table:
    """Function -> overloads."""
    maybe = optional_of(A)
    table: Table = {
        "size": [Overload((kind,), INT, len, member) for kind in _SIZED for member in (False, True)],
        "matches": [Overload((STRING, STRING), BOOL, search, member, regex_cost) for member in (False, True)],
        "contains": [_member((STRING, STRING), BOOL, lambda text, part: part in text, _contains_cost)],
        "startsWith": [_member((STRING, STRING), BOOL, str.startswith, per_character)],
        "endsWith": [_member((STRING, STRING), BOOL, str.endswith, per_character)],
        "int": [Overload((kind,), INT, _to_int) for kind in (INT, UINT, DOUBLE, STRING, TIMESTAMP)],
        "uint": [Overload((kind,), UINT, _to_uint) for kind in (UINT, INT, DOUBLE, STRING)],
        "double": [Overload((kind,), DOUBLE, _to_double) for kind in (DOUBLE, INT, UINT, STRING)],
        "bool": [Overload((kind,), BOOL, _to_bool) for kind in (BOOL, STRING)],
        "string": [
            Overload((kind,), STRING, _to_string, cost=per_character if kind is BYTES else one)
            for kind in (STRING, BOOL, INT, UINT, DOUBLE, BYTES, TIMESTAMP, DURATION)
        ],
        "bytes": [
            Overload((BYTES,), BYTES, bytes),
            Overload((STRING,), BYTES, lambda text: text.encode(), cost=per_character),
        ],
        "duration": [Overload((kind,), DURATION, _to_duration) for kind in (DURATION, STRING)],
        "timestamp": [Overload((kind,), TIMESTAMP, _to_timestamp) for kind in (TIMESTAMP, STRING, INT)],
        "dyn": [Overload((A,), DYN, lambda value: value)],
        "type": [Overload((A,), TYPE, lambda value: TypeValue(name_of(value)))],
        "charAt": [_member((STRING, INT), STRING, _at)],
        "indexOf": [
            _member((STRING, STRING), INT, _index_of, per_character),
            _member((STRING, STRING, INT), INT, _index_of, per_character),
        ],
        "lastIndexOf": [
            _member((STRING, STRING), INT, _last_index_of, per_character),
            _member((STRING, STRING, INT), INT, _last_index_of, per_character),
        ],
        "join": [_member((list_of(STRING),), STRING, _joined), _member((list_of(STRING), STRING), STRING, _joined)],
        "lowerAscii": [_member((STRING,), STRING, _lower, per_character)],
        "upperAscii": [_member((STRING,), STRING, _upper, per_character)],
        "trim": [_member((STRING,), STRING, str.strip, per_character)],
        "replace": [
            _member((STRING, STRING, STRING), STRING, _replaced, twice_per_character),
            _member((STRING, STRING, STRING, INT), STRING, _replaced, twice_per_character),
        ],
        "split": [
            _member((STRING, STRING), list_of(STRING), _split, twice_per_character),
            _member((STRING, STRING, INT), list_of(STRING), _split, twice_per_character),
        ],
        "substring": [
            _member((STRING, INT), STRING, _substring, per_character),
            _member((STRING, INT, INT), STRING, _substring, per_character),
        ],
        "format": [_member((STRING, list_of(DYN)), STRING, formatted, per_character)],
        "strings.quote": [Overload((STRING,), STRING, quoted, cost=per_character)],
        "optional.of": [Overload((A,), maybe, Optional)],
        "optional.none": [Overload((), maybe, lambda: Optional(there=False))],
        "optional.ofNonZeroValue": [
            Overload((A,), maybe, lambda value: Optional(there=False) if _zero(value) else Optional(value))
        ],
        "hasValue": [_member((maybe,), BOOL, lambda optional: optional.there)],
        "value": [_member((maybe,), A, _value)],
    }
    for name, run in _GETTERS.items():
        table[name] = [_member((TIMESTAMP,), INT, run)]
    for name, (unit, most) in _OF_BOTH.items():
        of_stamp, of_span = _part(unit, most)
        table[name] = [_member((TIMESTAMP,), INT, of_stamp), _member((DURATION,), INT, of_span)]
    return table


_SIZED = (STRING, BYTES, list_of(A), map_of(A, B))
