"""A time as a value of the API: text that Go reads as one, in the years 1 to 9999.

Upstream: apimachinery/pkg/apis/meta/v1 (time.go, micro_time.go).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from kwhatif.golang.parsing import misread_time

EXAMPLE = 'a time such as "2026-03-01T11:29:02Z"'


_USUAL = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}Z")


class TimestampError(ValueError):
    """A text that is no time."""


class Timestamp(str):
    """The type of fields that hold times, for decoders; the value itself stays a text."""

    __slots__ = ()

    @classmethod
    def from_json(cls, value: object) -> Timestamp:
        """Raises TimestampError."""
        if not isinstance(value, str):
            raise TimestampError
        instant_of(value)
        return cls(value)


@lru_cache(maxsize=65536)
def instant_of(text: str) -> datetime:
    """The time that a text says, in UTC. Raises TimestampError."""
    if _USUAL.fullmatch(text):
        # Of these Python and Go read the same, and a cluster has one in every object.
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            raise TimestampError from None
    if misread_time(text) is not None:
        raise TimestampError
    try:
        return datetime.fromisoformat(text.replace(",", ".")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise TimestampError from None
