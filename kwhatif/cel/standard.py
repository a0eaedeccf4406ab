"""The standard functions and those of the strings extension: sizes, conversions, strings, optional values, times,
format.

Upstream: github.com/google/cel-go/common/stdlib, common/types (each type's ConvertToType), ext/strings.go (version 2)
and ext/formatting.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from math import ceil, isfinite
from typing import Any
from zoneinfo import ZoneInfo

from kwhatif.cel.declarations import Overload, define, per_character, regex_cost, size_of, twice_per_character, weight
from kwhatif.cel.patterns import search
from kwhatif.cel.values import Duration, Fault, Optional, Timestamp, TypeValue, UInt, name_of
from kwhatif.golang.parsing import Duration as GoDuration


def text_of(value: Any) -> str:
    """What ``string(value)`` is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Timestamp):
        whole, rest = divmod(value.nanos, 1_000_000_000)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=whole)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"
    if isinstance(value, Duration):
        return f"{_double(value.nanos / 1_000_000_000)}s"
    if isinstance(value, TypeValue):
        return value.name
    return str(value)


def _double(value: float) -> str:
    """The shortest form that reads back as the same number (Go: %g)."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    text = repr(value)
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if exponent < -4 or exponent >= 21:
        mantissa, _, power = f"{value!r}".partition("e")
        if not power:
            mantissa, _, power = f"{value:e}".partition("e")
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa.removesuffix('.0')}e{int(power):+03d}"
    return format(value, "f").rstrip("0").rstrip(".") if "e" in text else text.removesuffix(".0")


PRECISION_AT_MOST = 1_000_000
"""Go formats no number with more digits."""

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?([a-zA-Z])|)")


def format_string(text: str, args: list[Any]) -> str:
    """``text.format(args)``. Raises Fault."""
    left = iter(range(len(args)))

    def one(clause: re.Match[str]) -> str:
        if clause[0] == "%%":
            return "%"
        if not clause[2]:
            raise Fault("could not parse formatting clause: unexpected end of string")
        place = next(left, None)
        if place is None:
            raise Fault(f"index {len(args)} out of range")
        return _clause(clause[2], clause[1], args[place])

    return _CLAUSE.sub(one, text)


def room_to_format(text: str, args: list[Any]) -> int:
    """How long ``formatted`` may become."""
    digits = [int(clause[1]) for clause in _CLAUSE.finditer(text) if clause[1] and len(clause[1]) <= 7]
    return weight(text, args) + sum(count for count in digits if count <= PRECISION_AT_MOST)


def _clause(verb: str, precision: str | None, value: Any) -> str:
    if precision and (len(precision) > 7 or int(precision) > PRECISION_AT_MOST):
        raise Fault(f"precision {precision[:20]} is out of range")
    digits, kind = int(precision) if precision else 6, name_of(value)
    whole = kind in ("int", "uint")
    match verb:
        case "s":
            return _plain(value)
        case "d" | "e" | "f" if kind == "double" and not math.isfinite(value):
            return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
        case "d" if whole:
            return str(int(value))
        case "f" if kind in ("int", "uint", "double"):
            return format(float(value), f".{digits}f")
        case "e" if kind in ("int", "uint", "double"):
            return format(float(value), f".{digits}e")
        case "b" if whole or kind == "bool":
            return format(int(value), "b")
        case "o" if whole:
            return format(int(value), "o")
        case "x" | "X":
            if whole:
                return format(int(value), verb)
            if kind in ("string", "bytes"):
                hexadecimal: str = (value.encode() if kind == "string" else value).hex()
                return hexadecimal.upper() if verb == "X" else hexadecimal
        case "d" | "f" | "e" | "b" | "o":
            pass
        case _:
            raise Fault(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    raise Fault(f"error during formatting: no formatting function for %{verb} of type {kind}")


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_plain(key)}: {_plain(value[key])}' for key in sorted(value, key=_plain))}}}"
    if value is None:
        return "null"
    return value.decode(errors="replace") if isinstance(value, bytes) else text_of(value)


_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def quote_string(text: str) -> str:
    """``strings.quote(text)``."""
    body = "".join(_QUOTED.get(letter, "\\" + letter if letter in '"\\' else letter) for letter in text)
    return f'"{body}"'


def _out_of(value: object, kind: str) -> Fault:
    return Fault(f"type conversion error from '{name_of(value)}' to '{kind}'")


def _to_int(value: Any) -> int:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?[0-9]{1,99}", value) or not -(2**63) <= int(value) < 2**63:
            raise _out_of(value, "int")
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
            raise _out_of(value, "uint")
        return UInt(value)
    if (isinstance(value, float) and not isfinite(value)) or not 0 <= int(value) < 2**64:
        raise Fault("unsigned integer overflow")
    return UInt(value)


def _to_double(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise _out_of(value, "double") from None


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


def duration_of(text: Any) -> Duration:
    """What ``duration(text)`` is. Raises Fault."""
    if isinstance(text, Duration):
        return text
    try:
        return Duration(int(GoDuration.parse(text)))
    except ValueError:
        raise _out_of(text, "google.protobuf.Duration") from None


def timestamp_of(value: Any) -> Timestamp:
    """What ``timestamp(value)`` is. Raises Fault."""
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int):
        return Timestamp.from_nanos(int(value) * 1_000_000_000)
    whole, dot, rest = value.partition(".")
    digits = re.match(r"[0-9]*", rest)[0] if dot else ""  # type: ignore[index]
    try:
        if "T" not in whole.upper():
            raise ValueError
        moment = datetime.fromisoformat(whole + rest[len(digits) :])
        if moment.tzinfo is None:
            raise ValueError
    except ValueError:
        raise _out_of(value, "google.protobuf.Timestamp") from None
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return Timestamp(seconds * 1_000_000_000 + int((digits or "0").ljust(9, "0")[:9]))


_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)")


def _zone(name: str) -> tzinfo:
    """``Europe/Berlin`` or ``+02:00``."""
    if offset := _OFFSET.fullmatch(name):
        span = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-span if offset[1] == "-" else span)
    try:
        return ZoneInfo(name or "UTC")
    except (OSError, ValueError, KeyError):
        raise Fault(f"unknown time zone {name}") from None


def _of_moment(part: Callable[[datetime], int]) -> Callable[..., int]:
    """A part of a timestamp, in a time zone if one is named."""

    def run(stamp: Timestamp, zone: str = "UTC") -> int:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=stamp.nanos // 1000)
        try:
            return part(moment.astimezone(_zone(zone)))
        except (OverflowError, ValueError):
            raise Fault("timestamp overflow") from None

    return run


_GETTERS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: (moment.weekday() + 1) % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}
_SPANS = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9, "getMilliseconds": 10**6}


def _whole(amount: int, unit: int) -> int:
    """How many units, towards zero."""
    return amount // unit if amount >= 0 else -(-amount // unit)


# --- strings


def _char_at(text: str, index: int) -> str:
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


def _join(parts: list[Any], separator: str = "") -> str:
    if any(not isinstance(part, str) for part in parts):
        raise Fault("no such overload")
    return separator.join(parts)


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


def _room_to_join(texts: list[Any], separator: str = "") -> int:
    return weight(texts) + len(separator) * len(texts)


def _room_to_replace(text: str, old: str, new: str, times: int = -1) -> int:
    occurrences = text.count(old)
    return len(text) + len(new) * (occurrences if times < 0 else min(occurrences, times))


def definitions() -> Iterator[tuple[str, Overload]]:
    """Functions of the language, and those of cel-go's strings and optional values."""
    sized = "string bytes list(A) map(A,B)"
    yield from define("size(T) -> int", len, T=sized)
    yield from define("T.size() -> int", len, T=sized)
    yield from define("matches(string, string) -> bool", search, regex_cost)
    yield from define("string.matches(string) -> bool", search, regex_cost)
    yield from define("string.contains(string) -> bool", lambda text, part: part in text, _contains_cost)
    yield from define("string.startsWith(string) -> bool", str.startswith, per_character)
    yield from define("string.endsWith(string) -> bool", str.endswith, per_character)
    yield from define("int(T) -> int", _to_int, T="int uint double string Timestamp")
    yield from define("uint(T) -> uint", _to_uint, T="uint int double string")
    yield from define("double(T) -> double", _to_double, T="double int uint string")
    yield from define("bool(T) -> bool", _to_bool, T="bool string")
    yield from define("string(T) -> string", _to_string, T="string bool int uint double Timestamp Duration IP CIDR")
    yield from define("string(bytes) -> string", _to_string, per_character)
    yield from define("bytes(bytes) -> bytes", bytes)
    yield from define("bytes(string) -> bytes", str.encode, per_character)
    yield from define("duration(T) -> Duration", duration_of, T="Duration string")
    yield from define("timestamp(T) -> Timestamp", timestamp_of, T="Timestamp string int")
    yield from define("dyn(A) -> dyn", lambda value: value)
    yield from define("type(A) -> type", lambda value: TypeValue(name_of(value)))
    yield from define("string.charAt(int) -> string", _char_at)
    for more in ("", ", int"):
        yield from define(f"string.indexOf(string{more}) -> int", _index_of, per_character)
        yield from define(f"string.lastIndexOf(string{more}) -> int", _last_index_of, per_character)
        yield from define(
            f"string.replace(string, string{more}) -> string", str.replace, twice_per_character, _room_to_replace
        )
        yield from define(f"string.split(string{more}) -> list(string)", _split, twice_per_character)
        yield from define(f"string.substring(int{more}) -> string", _substring, per_character)
    for more in ("", "string"):
        yield from define(f"list(string).join({more}) -> string", _join, room=_room_to_join)
    yield from define("string.lowerAscii() -> string", _lower, per_character)
    yield from define("string.upperAscii() -> string", _upper, per_character)
    yield from define("string.trim() -> string", str.strip, per_character)
    yield from define("string.format(list(dyn)) -> string", format_string, per_character, room_to_format)
    yield from define("strings.quote(string) -> string", quote_string, per_character)
    yield from define("optional.of(A) -> optional(A)", Optional)
    yield from define("optional.none() -> optional(A)", lambda: Optional(there=False))
    yield from define(
        "optional.ofNonZeroValue(A) -> optional(A)",
        lambda value: Optional(there=False) if _zero(value) else Optional(value),
    )
    yield from define("optional(A).hasValue() -> bool", lambda optional: optional.there)
    yield from define("optional(A).value() -> A", _value)
    for name, part in _GETTERS.items():
        yield from define(f"Timestamp.{name}() -> int", _of_moment(part))
        yield from define(f"Timestamp.{name}(string) -> int", _of_moment(part))
    for name, unit in _SPANS.items():
        yield from define(f"Duration.{name}() -> int", lambda span, unit=unit: _whole(span.nanos, unit))
