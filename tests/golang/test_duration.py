from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.golang.parsing import SECOND, Duration


@pytest.mark.parametrize(
    ("text", "nanoseconds", "printed"),
    [
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("15s", 15 * SECOND, "15s"),
        ("10m", 600 * SECOND, "10m0s"),
        ("1h", 3600 * SECOND, "1h0m0s"),
        ("90m", 5400 * SECOND, "1h30m0s"),
        ("1.5s", 1_500_000_000, "1.5s"),
        ("2.5h", 9000 * SECOND, "2h30m0s"),
        (".5s", 500_000_000, "500ms"),
        ("1.s", SECOND, "1s"),
        ("1h2m3s4ms", 3_723_004_000_000, "1h2m3.004s"),
        ("1500us", 1_500_000, "1.5ms"),
        ("7µs", 7_000, "7µs"),
        ("7μs", 7_000, "7µs"),
        ("12ns", 12, "12ns"),
        ("-3s", -3 * SECOND, "-3s"),
        ("+3s", 3 * SECOND, "3s"),
        ("1s1s", 2 * SECOND, "2s"),
        ("9223372036854775807ns", 2**63 - 1, "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", -(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_is_read_and_printed_as_in_go(text: str, nanoseconds: int, printed: str) -> None:
    duration = Duration.parse(text)
    assert duration == nanoseconds
    assert str(duration) == printed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("abc", 'time: invalid duration "abc"'),
        (".s", 'time: invalid duration ".s"'),
        (" 1s", 'time: invalid duration " 1s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1s5", 'time: missing unit in duration "1s5"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("300000000h", 'time: invalid duration "300000000h"'),
    ],
)
def test_what_is_no_duration_is_refused_in_the_words_of_go(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match="time: ") as caught:
        Duration.parse(text)
    assert str(caught.value) == problem


@given(st.integers(-(2**63), 2**63 - 1))
def test_what_is_printed_is_read_back(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))) == nanoseconds
