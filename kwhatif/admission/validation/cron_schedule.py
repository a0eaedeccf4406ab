"""Schedules and time zones of cron jobs.

Upstream: pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

import re

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.problems import Problems
from kwhatif.golang.cron import CronError, is_zone, parse

_ZONE_PART = re.compile("[A-Za-z._0-9+-]{1,14}")
_ZONE_NEEDED = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
_FIELD_FOR_ZONES = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"


def check_schedule(problems: Problems, spec: Object, path: str) -> None:
    schedule = spec["schedule"]
    try:
        parse(schedule)
    except CronError as error:
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
    if zone != "Local" and not is_zone(zone):
        problems.invalid(path, zone, f"unknown time zone {zone}")
