"""Schedules of cron jobs: whether one can be read, and what the reader says if not. When a run is due nobody asks here.

Upstream: robfig/cron/v3 (parser.go), as pkg/apis/batch/validation/validation.go calls it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from zoneinfo import ZoneInfo

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.problems import Problems
from kwhatif.golang.duration import Duration

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, Mapping[str, int]], ...] = (
    *((0, 59, {}), (0, 23, {}), (1, 31, {})),
    (1, 12, {name: i + 1 for i, name in enumerate(_MONTHS)}),
    (0, 6, {name: i for i, name in enumerate(_DAYS)}),
)
_NAMED = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = "@every "
_ZONED = ("TZ=", "CRON_TZ=")
_ZONE_PART = re.compile("[A-Za-z._0-9+-]{1,14}")
_ZONE_NEEDED = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
_FIELD_FOR_ZONES = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"


class _Unreadable(Exception):
    """A schedule that cannot be read, and why."""


def check_schedule(problems: Problems, spec: Object, path: str) -> None:
    schedule = spec["schedule"]
    try:
        _read(schedule)
    except _Unreadable as error:
        problems.invalid(path, schedule, str(error))
    if "TZ" in schedule:
        problems.invalid(path, schedule, _FIELD_FOR_ZONES)


def check_time_zone(problems: Problems, zone: str | None, path: str) -> None:
    if zone is None:
        return
    if not zone:
        problems.invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    parts = zone.split("/")
    if any(part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part) for part in parts):
        problems.invalid(path, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        problems.invalid(path, zone, _ZONE_NEEDED)
    if zone != "Local" and not _is_zone(zone):
        problems.invalid(path, zone, f"unknown time zone {zone}")


@lru_cache(maxsize=64)
def _is_zone(name: str) -> bool:
    """Whether there is such a time zone; where this machine knows none at all, there may be."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return name != "Europe/Berlin" and not _is_zone("Europe/Berlin")
    return True


def _read(text: str) -> None:
    if text.startswith(_ZONED):
        before, space, rest = text.partition(" ")
        if not space:
            raise _Unreadable("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone = before.partition("=")[2]
        if zone not in ("", "Local") and not _is_zone(zone):
            raise _Unreadable(f"provided bad location {zone}: unknown time zone {zone}")
        text = rest.strip()
    if text.startswith("@"):
        _descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        found = f"{len(fields)}: [{' '.join(fields)}]"
        raise _Unreadable(f"expected exactly {len(_FIELDS)} fields, found {found}")
    for field, (least, most, names) in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _range(expression, least, most, names)


def _descriptor(text: str) -> None:
    if text in _NAMED:
        return
    if not text.startswith(_EVERY):
        raise _Unreadable(f"unrecognized descriptor: {text}")
    try:
        Duration.parse(text.removeprefix(_EVERY))
    except ValueError as error:
        raise _Unreadable(f"failed to parse duration {text}: {error}") from None


def _range(expression: str, least: int, most: int, names: Mapping[str, int]) -> None:
    """A number, a range or a star, with or without a step."""
    whole, *steps = expression.split("/")
    low, *high = whole.split("-")
    if low in ("*", "?"):
        start, end = least, most
    else:
        start = end = _number(low, names)
        if len(high) == 1:
            end = _number(high[0], names)
        elif high:
            raise _Unreadable(f"too many hyphens: {expression}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0], {})
        end = end if high else most
    elif steps:
        raise _Unreadable(f"too many slashes: {expression}")
    if start < least:
        raise _Unreadable(f"beginning of range ({start}) below minimum ({least}): {expression}")
    if end > most:
        raise _Unreadable(f"end of range ({end}) above maximum ({most}): {expression}")
    if start > end:
        raise _Unreadable(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _Unreadable(f"step of range should be a positive number: {expression}")


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    why = ""
    if not re.fullmatch("[+-]?[0-9]+", text):
        why = "invalid syntax"
    elif not -(2**63) <= int(text) < 2**63:
        why = "value out of range"
    if why:
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {why}')
    if int(text) < 0:
        raise _Unreadable(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
