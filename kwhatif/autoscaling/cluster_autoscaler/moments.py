"""Moments as integers: nanoseconds since 1970, as Go compares them."""

from __future__ import annotations

from kwhatif.cluster.shapes import start_time

ZERO = -62_135_596_800_000_000_000
"""What Go takes for a time that is not told: the first of January of the year 1."""


def moment(text: str | None) -> int:
    """A time stamp of the API; ``ZERO`` where there is none. Raises ValueError."""
    return start_time(text) if text else ZERO
