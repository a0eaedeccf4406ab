"""RFC 3339 as Go's time.Parse reads it, and what it says of texts that are none.

Upstream: time/format.go of Go; apimachinery/pkg/apis/meta/v1 (time.go, micro_time.go) for the two layouts.
"""

from __future__ import annotations

import re
from calendar import monthrange

from kwhatif.golang.spelling import go_quote

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
    """What time.Parse says of a text that is no time; None for one that is."""
    rest, told = text, {}
    for part in _PARTS.findall(layout):
        found = _READ.get(part, re.compile(re.escape(part))).match(rest)
        if found is None:
            return f"{_parsing(text)} as {go_quote(layout)}: cannot parse {go_quote(rest)} as {go_quote(part)}"
        told[part], end = found[0], found.end()
        if part == "05" and layout == SECONDS and (fraction := _FRACTION.match(rest, end)):
            end = fraction.end()  # a fraction is read where the layout has none, too
        rest = rest[end:]
        wrong = _beyond(part, found[0])
        if wrong:
            return f"{_parsing(text)}: {wrong} out of range"
    if rest:
        return f"{_parsing(text)}: extra text: {go_quote(rest)}"
    if not 1 <= int(told["02"]) <= monthrange(int(told["2006"]) or 4, int(told["01"]))[1]:
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
