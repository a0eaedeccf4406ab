"""Cron schedules: parsing with upstream's errors, and when a run is due.

Upstream: robfig/cron/v3 (parser.go, spec.go).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from kwhatif.golang.parsing import Duration, parse_int

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, Mapping[str, int]], ...] = (
    *((0, 59, {}), (0, 23, {}), (1, 31, {})),
    (1, 12, {name: i + 1 for i, name in enumerate(_MONTHS)}),
    (0, 6, {name: i for i, name in enumerate(_DAYS)}),
)
_NAMED = {
    **dict.fromkeys(("@yearly", "@annually"), "0 0 1 1 *"),
    **dict.fromkeys(("@daily", "@midnight"), "0 0 * * *"),
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_ZONED = ("TZ=", "CRON_TZ=")


class CronError(ValueError):
    """A schedule that cannot be read, and why."""


class Schedule(msgspec.Struct, frozen=True):
    """The minutes, hours, days, months and weekdays (Sunday is 0) at which a run is due.

    ``any_day``: one of the two kinds of days is a star, so both count; else one is enough.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool

    def due(self, moment: datetime) -> bool:
        """Whether a run is due in this minute."""
        return moment.minute in self.minutes and moment.hour in self.hours and self.due_on(moment)

    def due_on(self, moment: datetime) -> bool:
        """Whether a run may be due on this day."""
        if moment.month not in self.months:
            return False
        day, weekday = moment.day in self.days, (moment.weekday() + 1) % 7 in self.weekdays
        return (day and weekday) if self.any_day else (day or weekday)


@lru_cache(maxsize=64)
def is_zone(name: str) -> bool:
    """Whether there is such a time zone; where this machine knows none at all, there may be."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return name != "Europe/Berlin" and not is_zone("Europe/Berlin")
    return True


def parse(text: str) -> Schedule | None:
    """The schedule; None for one that counts from its start (``@every 1h``). Raises CronError."""
    if text.startswith(_ZONED):
        before, space, rest = text.partition(" ")
        if not space:
            raise CronError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone = before.partition("=")[2]
        if zone not in ("", "Local") and not is_zone(zone):
            raise CronError(f"provided bad location {zone}: unknown time zone {zone}")
        text = rest.strip()
    if text.startswith("@"):
        return _descriptor(text)
    fields = text.split()
    if len(fields) != len(_FIELDS):
        count = f"{len(fields)}: [{' '.join(fields)}]"
        raise CronError(f"expected exactly {len(_FIELDS)} fields, found {count}")
    minutes, hours, days, months, weekdays = (
        frozenset(n for term in filter(None, field.split(",")) for n in _range(term, least, most, names))
        for field, (least, most, names) in zip(fields, _FIELDS, strict=True)
    )
    starred = any(term.startswith(("*", "?")) for place in (2, 4) for term in fields[place].split(","))
    return Schedule(minutes, hours, days, months, weekdays, starred)


def _descriptor(text: str) -> Schedule | None:
    if text in _NAMED:
        return parse(_NAMED[text])
    if not text.startswith(_EVERY):
        raise CronError(f"unrecognized descriptor: {text}")
    try:
        Duration.parse(text.removeprefix(_EVERY))
    except ValueError as error:
        raise CronError(f"failed to parse duration {text}: {error}") from None
    return None


def _range(expression: str, least: int, most: int, names: Mapping[str, int]) -> range:
    """The values of a number, a range or a star, with or without a step."""
    whole, *steps = expression.split("/")
    low, *high = whole.split("-")
    if low in ("*", "?"):
        start, end = least, most
    else:
        start = end = _number(low, names)
        if len(high) == 1:
            end = _number(high[0], names)
        elif high:
            raise CronError(f"too many hyphens: {expression}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0], {})
        end = end if high else most
    elif steps:
        raise CronError(f"too many slashes: {expression}")
    if start < least:
        raise CronError(f"beginning of range ({start}) below minimum ({least}): {expression}")
    if end > most:
        raise CronError(f"end of range ({end}) above maximum ({most}): {expression}")
    if start > end:
        raise CronError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise CronError(f"step of range should be a positive number: {expression}")
    return range(start, end + 1, step)


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    number = parse_int(text)
    if number is None:
        why = "value out of range" if re.fullmatch("[+-]?[0-9]+", text) else "invalid syntax"
        raise CronError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {why}')
    if number < 0:
        raise CronError(f"negative number ({number}) not allowed: {text}")
    return number
