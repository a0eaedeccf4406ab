"""Durations as Go reads and prints them: ``10m0s``, ``1.5s``, ``300ms``."""

from __future__ import annotations

import re

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
        invalid = ValueError(f"time: invalid duration {_quoted(text)}")
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
                raise ValueError(f"time: missing unit in duration {_quoted(text)}")
            if unit not in _UNITS:
                raise ValueError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
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


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
