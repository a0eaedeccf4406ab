"""Whole numbers as Go reads them."""

from __future__ import annotations

import pytest

from kwhatif.golang.parsing import parse_int


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("+7", 7),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("9" * 5000, None),
        ("0" * 5000 + "7", 7),
        ("", None),
        ("-", None),
        (" 7", None),
        ("1_000", None),
        ("٣", None),
        ("²", None),
    ],
)
def test_a_text_is_a_number_as_far_as_go_takes_it_for_one(text: str, number: int | None) -> None:
    assert parse_int(text) == number
