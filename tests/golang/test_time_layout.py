"""Moments by layouts as Go writes them."""

from __future__ import annotations

import pytest

from kwhatif.golang.numbers import parse_float
from kwhatif.golang.parsing import parse_int
from kwhatif.golang.time_layout import RFC3339, LayoutError, parse_time


@pytest.mark.parametrize(
    ("layout", "text", "seconds"),
    [
        pytest.param(RFC3339, "1970-01-02T00:00:00Z", 86400, id="RFC 3339 in UTC"),
        pytest.param(RFC3339, "1970-01-01T02:00:00+02:00", 0, id="with an offset"),
        pytest.param(RFC3339, "1970-01-01T00:00:00.5Z", 0.5, id="with a fraction that the layout does not have"),
        pytest.param("2006-01-02", "1970-01-03", 172800, id="a day"),
        pytest.param("Jan 2, 2006 3:04 PM", "Jan 1, 1970 1:05 PM", 47100, id="words and half days"),
    ],
)
def test_a_moment_is_read_by_its_layout(layout: str, text: str, seconds: float) -> None:
    assert parse_time(layout, text) == seconds


@pytest.mark.parametrize("text", ["", "1970-13-01T00:00:00Z", "1970-01-01", "1970-01-01T00:00:00Z and more"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(LayoutError):
        parse_time(RFC3339, text)


def test_numbers_are_read_as_strconv_reads_them() -> None:
    assert [parse_float(text) for text in ("1e3", ".5", "0x1p-2", " 1", "1_0", "1e999")] == [
        1000,
        0.5,
        0.25,
        *[None] * 3,
    ]
    assert [parse_int(text, 32) for text in ("-9", "4000000000", "x", "9" * 5000)] == [-9, None, None, None]
