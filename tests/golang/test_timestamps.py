from __future__ import annotations

import pytest

from kwhatif.golang.parsing import MICROSECONDS, misread_time

AS = 'as "2006-01-02T15:04:05Z07:00": cannot parse'


@pytest.mark.parametrize(
    "text",
    [
        *("2026-11-22T00:01:33Z", "2026-11-22T00:01:33.5Z", "2026-11-22T00:01:33,123456789+01:00"),
        *("2026-11-22T0:01:33Z", "2024-02-29T23:59:59-12:30", "0000-02-29T00:00:00Z"),
    ],
)
def test_a_time_is_one(text: str) -> None:
    assert misread_time(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", f'"yesterday" {AS} "yesterday" as "2006"'),
        ("", f'"" {AS} "" as "2006"'),
        ("2026-11-22", f'"2026-11-22" {AS} "" as "T"'),
        ("2026/11/22T00:01:33Z", f'"2026/11/22T00:01:33Z" {AS} "/11/22T00:01:33Z" as "-"'),
        ("2026-1-22T00:01:33Z", f'"2026-1-22T00:01:33Z" {AS} "1-22T00:01:33Z" as "01"'),
        ("2026-11-22T00:01:33", f'"2026-11-22T00:01:33" {AS} "" as "Z07:00"'),
        ("2026-11-22T00:01:33+0100", f'"2026-11-22T00:01:33+0100" {AS} "+0100" as "Z07:00"'),
        ("2026-13-22T00:01:33Z", '"2026-13-22T00:01:33Z": month out of range'),
        ("2026-11-31T00:01:33Z", '"2026-11-31T00:01:33Z": day out of range'),
        ("2026-11-22T24:01:33Z", '"2026-11-22T24:01:33Z": hour out of range'),
        ("2026-11-22T00:01:33+25:00", '"2026-11-22T00:01:33+25:00": time zone offset hour out of range'),
        ("2026-11-22T00:01:33Z!", '"2026-11-22T00:01:33Z!": extra text: "!"'),
    ],
)
def test_what_is_no_time_is_refused_in_the_words_of_go(text: str, said: str) -> None:
    assert misread_time(text) == f"parsing time {said}"


def test_microseconds_have_six_digits() -> None:
    assert misread_time("2026-11-22T00:01:33.000001Z", MICROSECONDS) is None
    said = 'parsing time "2026-11-22T00:01:33Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
    assert misread_time("2026-11-22T00:01:33Z", MICROSECONDS) == said
