"""Times as time.Parse reads them by any layout (upstream: time/format.go of Go)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

RFC3339 = "2006-01-02T15:04:05Z07:00"

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
_ALL_MONTHS = (*_MONTHS, "November", "December")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOKEN = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|_2006|__2|_2|002|01|02|03|04|05|06|15|PM|pm"
    r"|Z070000|Z07:00:00|Z0700|Z07:00|Z07|-070000|-07:00:00|-0700|-07:00|-07"
    r"|[.,](?:0+|9+)(?![0-9])|1|2|3|4|5"
)
_TWO, _ONE_OR_TWO = "[0-9]{2}", "[0-9]{1,2}"
_ZONE = r"[+-][0-9]{2}"


class LayoutError(ValueError):
    """The text does not match the layout."""


def parse_time(layout: str, text: str) -> float:
    """Seconds since 1970; without a zone in UTC. Raises LayoutError."""
    seen: dict[str, str] = {}
    rest, at = text, 0
    for token in _TOKEN.finditer(layout):
        rest = _after(rest, layout[at : token.start()])
        rest = _read(token[0], rest, seen)
        at = token.end()
        if token[0] in ("05", "5") and not re.match(r"[.,][09]", layout[at:]):
            # A fraction is read after seconds where the layout has none, too.
            rest = _read("fraction", rest, seen) if re.match(r"[.,][0-9]", rest) else rest
    if _after(rest, layout[at:]):
        raise LayoutError(f"extra text: {rest}")
    return _moment(seen)


def _after(text: str, literal: str) -> str:
    """The text behind what stands in the layout as it is; any run of spaces is as good as another."""
    for char in literal:
        if char == " ":
            text = text.lstrip(" ")
        elif text.startswith(char):
            text = text[1:]
        else:
            raise LayoutError(f"expected {char!r}, found {text[:1]!r}")
    return text


_FORMS: dict[str, tuple[str, str]] = {
    "2006": ("year", "[0-9]{4}"),
    "06": ("short year", _TWO),
    "01": ("month", _TWO),
    "1": ("month", _ONE_OR_TWO),
    "02": ("day", _TWO),
    "2": ("day", _ONE_OR_TWO),
    "_2": ("day", " ?[0-9]{1,2}"),
    "002": ("day of year", "[0-9]{3}"),
    "__2": ("day of year", "[ 0-9]{2}[0-9]"),
    "15": ("hour", _ONE_OR_TWO),
    "03": ("half hour", _TWO),
    "3": ("half hour", _ONE_OR_TWO),
    "04": ("minute", _TWO),
    "4": ("minute", _ONE_OR_TWO),
    "05": ("second", _TWO),
    "5": ("second", _ONE_OR_TWO),
    "PM": ("half", "AM|PM"),
    "pm": ("half", "am|pm"),
    "January": ("month name", "|".join(_ALL_MONTHS)),
    "Jan": ("month name", "|".join(name[:3] for name in _ALL_MONTHS)),
    "Monday": ("weekday", "|".join(_DAYS)),
    "Mon": ("weekday", "|".join(name[:3] for name in _DAYS)),
    "MST": ("zone name", "[A-Z]{3,5}|[+-][0-9]{2}"),
    "fraction": ("fraction", "[.,][0-9]+"),
}
_ZONES = {"07": "", "0700": _TWO, "07:00": f":{_TWO}", "070000": _TWO * 2, "07:00:00": f":{_TWO}:{_TWO}"}


def _read(token: str, text: str, fields: dict[str, str]) -> str:
    if token == "_2006":
        return _read("2006", _after(text, "_"), fields)
    if token[0] in ".,":
        what = "fraction"
        form = f"[.,][0-9]{{{len(token) - 1}}}" if token[1] == "0" else "(?:[.,][0-9]+)?"
    elif token[0] in "Z-":
        what, form = "zone", _ZONE + _ZONES[token[1:]]
        form = f"Z|{form}" if token[0] == "Z" else form
    else:
        what, form = _FORMS[token]
    match = re.match(form, text, re.IGNORECASE if what in ("month name", "weekday") else 0)
    if match is None:
        raise LayoutError(f"cannot parse {text!r} as {token!r}")
    fields[what] = match[0]
    return text[match.end() :]


def _moment(fields: dict[str, str]) -> float:
    number: Callable[[str, str], int] = lambda what, otherwise: int(fields.get(what, otherwise))  # noqa: E731
    year = number("year", "0")
    if "short year" in fields:
        short = number("short year", "0")
        year = short + (1900 if short >= 69 else 2000)
    month = number("month", "1")
    if "month name" in fields:
        month = [name[:3].lower() for name in _ALL_MONTHS].index(fields["month name"][:3].lower()) + 1
    hour = number("hour", "0")
    if "half hour" in fields:
        hour = number("half hour", "0")
        if hour > 12:
            raise LayoutError("hour out of range")
    half = fields.get("half", "").lower()
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    try:
        # Year 0 is one that Go has, and Python not: of its length, 400 years on.
        moment = datetime(
            year or 400, month, number("day", "1"), hour, number("minute", "0"), number("second", "0"), tzinfo=UTC
        )
    except ValueError as error:
        raise LayoutError(str(error)) from None
    if "day of year" in fields:
        moment = moment.replace(month=1, day=1) + timedelta(days=number("day of year", "1") - 1)
    seconds = moment.timestamp() - (0 if year else 400 * 365.2425 * 86400)
    fraction = float(f"0.{fields['fraction'][1:]}") if len(fields.get("fraction", "")) > 1 else 0.0
    return seconds + fraction - _offset(fields.get("zone", "Z"))


def _offset(zone: str) -> int:
    """Seconds east of Greenwich."""
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
    return -seconds if zone[0] == "-" else seconds
