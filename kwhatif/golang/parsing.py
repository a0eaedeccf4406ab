"""Durations, RFC 3339 times, integers and base64 as Go's standard library reads them, with its errors.

Upstream: time/format.go, strconv/atoi.go (ParseInt) and encoding/base64 (StdEncoding) of Go;
apimachinery/pkg/apis/meta/v1 (time.go, micro_time.go) for the two layouts of times.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from typing import Any

from kwhatif.golang.formatting import go_quote

SECOND = 1_000_000_000
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?")
_MAX = 2**63
_DIGITS_AT_MOST = 1000
"""Python reads no number of many more."""


class Duration(int):
    """A length of time in nanoseconds (an int64); ``str()`` is Go's spelling.

    Upstream: Go's time.ParseDuration and time.Duration.String, behind meta/v1/duration.go.
    """

    @classmethod
    def of_seconds(cls, seconds: int) -> Duration:
        return cls(seconds * SECOND)

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Read ``text``. Raises ValueError with Go's words."""
        invalid = ValueError(f"time: invalid duration {_quote(text)}")
        rest = text[1:] if text[:1] in ("+", "-") else text
        if rest == "0":
            return cls(0)
        total = 0
        if not rest:
            raise invalid
        while rest:
            number = _PART.match(rest)
            whole, fraction = (number[1], number[2] or "") if number else ("", "")
            if (not whole and fraction in ("", ".")) or len(whole + fraction) > _DIGITS_AT_MOST:
                raise invalid
            rest = rest[len(whole) + len(fraction) :]
            unit = re.split(r"[.0-9]", rest, maxsplit=1)[0]
            rest = rest[len(unit) :]
            if not unit:
                raise ValueError(f"time: missing unit in duration {_quote(text)}")
            if unit not in _UNITS:
                raise ValueError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
            scale = _UNITS[unit]
            digits = fraction[1:]
            total += int(whole or "0") * scale + int(digits or "0") * scale // 10 ** len(digits)
            if total > _MAX:
                raise invalid
        if text.startswith("-"):
            return cls(-total)
        if total == _MAX:
            raise invalid
        return cls(total)

    @property
    def seconds(self) -> float:
        return int(self) / SECOND

    def __str__(self) -> str:
        sign, left = ("-", -int(self)) if self < 0 else ("", int(self))
        if left == 0:
            return "0s"
        if left < SECOND:
            unit, scale = next((u, s) for u, s in (("ms", 10**6), ("µs", 10**3), ("ns", 1)) if left >= s)
            return f"{sign}{_decimal(left, scale)}{unit}"
        minutes, left = divmod(left, 60 * SECOND)
        hours, minutes = divmod(minutes, 60)
        text = f"{_decimal(left, SECOND)}s"
        if hours:
            return f"{sign}{hours}h{minutes}m{text}"
        return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"

    __repr__ = __str__


def _decimal(amount: int, scale: int) -> str:
    """``amount / scale`` exactly, without trailing zeros; ``scale`` is a power of ten."""
    whole, part = divmod(amount, scale)
    digits = str(part).zfill(len(str(scale)) - 1).rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


SECONDS = "2006-01-02T15:04:05Z07:00"
MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"

_PARTS = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00|[^0-9]")
_READ = {
    **{part: re.compile(f"[0-9]{{{len(part)}}}") for part in ("2006", "01", "02", "04", "05")},
    "15": re.compile("[0-9]{1,2}"),
    ".000000": re.compile("[.,][0-9]{6}"),
    "Z07:00": re.compile("Z|[+-][0-9]{2}:[0-9]{2}"),
}
_FRACTION = re.compile("[.,][0-9]+")
_LIMITS = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


def misread_time(text: str, layout: str = SECONDS) -> str | None:
    """time.Parse's error for a text that is no time; None for one that is."""
    rest, values = text, {}
    for part in _PARTS.findall(layout):
        match = _READ.get(part, re.compile(re.escape(part))).match(rest)
        if match is None:
            return f"{_parsing(text)} as {go_quote(layout)}: cannot parse {go_quote(rest)} as {go_quote(part)}"
        values[part], end = match[0], match.end()
        if part == "05" and layout == SECONDS and (fraction := _FRACTION.match(rest, end)):
            end = fraction.end()  # a fraction is read where the layout has none, too
        rest = rest[end:]
        wrong = _beyond(part, match[0])
        if wrong:
            return f"{_parsing(text)}: {wrong} out of range"
    if rest:
        return f"{_parsing(text)}: extra text: {go_quote(rest)}"
    if not 1 <= int(values["02"]) <= monthrange(int(values["2006"]) or 4, int(values["01"]))[1]:
        return f"{_parsing(text)}: day out of range"
    return None


def _parsing(text: str) -> str:
    return f"parsing time {go_quote(text)}"


def _beyond(part: str, text: str) -> str:
    """What a part exceeds, such as ``month``."""
    if part == "Z07:00" and text != "Z":
        hours, minutes = int(text[1:3]), int(text[4:])
        return "time zone offset hour" if hours > 24 else "time zone offset minute" if minutes > 60 else ""
    if part not in _LIMITS:
        return ""
    what, least, most = _LIMITS[part]
    return "" if least <= int(text) <= most else what


_INTEGER = re.compile("[+-]?0*([0-9]+)")


def parse_int(text: str, bits: int = 64) -> int | None:
    """strconv.ParseInt(text, 10, bits), and Atoi; None for what is no such number, however long it is."""
    match = _INTEGER.fullmatch(text)
    if match is None or len(match[1]) > _DIGITS_AT_MOST:
        return None
    number = -int(match[1]) if text[0] == "-" else int(match[1])
    return number if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) else None


def parse_int_error(text: str, function: str = "Atoi") -> str:
    """Why a text is no int64, in the words of a ``function`` of strconv."""
    why = "value out of range" if _INTEGER.fullmatch(text) else "invalid syntax"
    return f"strconv.{function}: parsing {go_quote(text)}: {why}"


def finite(value: Any) -> float | None:
    """A number, or the number that a text spells; None for what is none, is not finite, or is too large."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None


_SPACE = re.compile("[\r\n]*")


def misread_base64(text: str) -> str | None:
    """The decoder's error for a text; None for one that is base64. Line ends do not count."""
    at = _first_wrong(text)
    return None if at is None else f"illegal base64 data at input byte {at}"


def _first_wrong(text: str) -> int | None:
    whole = re.compile("(?:[\r\n]*[A-Za-z0-9+/]){4}")
    at = 0
    while match := whole.match(text, at):
        at = match.end()
    at = _over(text, at)
    if at == len(text):
        return None
    # The last four characters, which padding may fill up.
    held = 0
    while at < len(text) and re.match("[A-Za-z0-9+/]", text[at]):
        held, at = held + 1, _over(text, at + 1)
    if at == len(text):
        return at - held
    if text[at] != "=" or held < 2:
        return at
    at = _over(text, at + 1)
    if held == 2:
        if at == len(text) or text[at] != "=":
            return at if at == len(text) else at - 1
        at = _over(text, at + 1)
    return None if at == len(text) else at


def _over(text: str, at: int) -> int:
    """The place after line ends."""
    match = _SPACE.match(text, at)
    return match.end() if match else at
