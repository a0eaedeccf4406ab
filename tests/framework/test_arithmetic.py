"""Columns computed as Go computes one number at a time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.framework.arithmetic import broken_linear, default_normalize, divide, go_round

small = st.integers(-(10**9), 10**9)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


# --- division


def go_divide(numerator: int, denominator: int) -> int:
    """Towards zero, and 0 for what cannot be divided."""
    if denominator == 0:
        return 0
    quotient = abs(numerator) // abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [
        pytest.param(7, 2, 3, id="down from above zero"),
        pytest.param(-7, 2, -3, id="up from below zero"),
        pytest.param(7, -2, -3, id="up, the other way round"),
        pytest.param(-7, -2, 3, id="down when both are below zero"),
        pytest.param(6, 2, 3, id="what divides evenly"),
        pytest.param(5, 0, 0, id="zero for what cannot be divided"),
    ],
)
def test_division_truncates(numerator: int, denominator: int, expected: int) -> None:
    assert divide(ints(numerator), ints(denominator)).tolist() == [expected]


@given(st.lists(st.tuples(small, st.integers(-20, 20)), max_size=8))
def test_division_of_columns(pairs: list[tuple[int, int]]) -> None:
    numerators, denominators = ints(*(n for n, _ in pairs)), ints(*(d for _, d in pairs))
    found = divide(numerators, denominators)
    assert found.dtype == np.int64
    assert found.tolist() == [go_divide(n, d) for n, d in pairs]


# --- rounding


def go_rounded(value: float) -> int:
    """To the nearest, halves away from zero, without a float in between."""
    exact = Fraction(value)
    nearest = math.floor(abs(exact) + Fraction(1, 2))
    return nearest if exact >= 0 else -nearest


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(0.5, 1, id="a half goes up"),
        pytest.param(1.5, 2, id="every half does"),
        pytest.param(2.5, 3, id="not only to even numbers"),
        pytest.param(-0.5, -1, id="below zero it goes down"),
        pytest.param(-2.5, -3, id="every time"),
        pytest.param(0.49999999999999994, 0, id="the largest number below a half does not"),
        pytest.param(4503599627370497.5, 4503599627370498, id="large halves do"),
        pytest.param(-0.0, 0, id="nothing stays nothing"),
    ],
)
def test_halves_are_rounded_away_from_zero(value: float, expected: int) -> None:
    assert go_round(np.array([value])).tolist() == [expected]


@given(st.lists(st.floats(-1e15, 1e15) | st.integers(-999, 999).map(lambda n: n / 2), max_size=8))
def test_rounding_of_columns(values: list[float]) -> None:
    found = go_round(np.array(values, np.float64))
    assert found.dtype == np.int64
    assert found.tolist() == [go_rounded(value) for value in values]


# --- normalising


def go_normalized(scores: list[int], *, reverse: bool) -> list[int]:
    top = max(scores, default=0)
    if top == 0:
        return [100] * len(scores) if reverse else scores
    shares = [100 * score // top for score in scores]
    return [100 - share for share in shares] if reverse else shares


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        pytest.param([1, 2, 4], False, [25, 50, 100], id="shares of the best"),
        pytest.param([1, 2, 3], False, [33, 66, 100], id="truncated"),
        pytest.param([1, 2, 3], True, [67, 34, 0], id="turned round after they were truncated"),
        pytest.param([0, 0], False, [0, 0], id="no scores at all"),
        pytest.param([0, 0], True, [100, 100], id="no penalties at all"),
        pytest.param([], True, [], id="no nodes"),
    ],
)
def test_scores_are_brought_to_a_hundred(scores: list[int], reverse: bool, expected: list[int]) -> None:
    assert default_normalize(ints(*scores), reverse=reverse).tolist() == expected


@given(st.lists(st.integers(0, 10**9), max_size=8), st.booleans())
def test_normalising_of_columns(scores: list[int], reverse: bool) -> None:
    column = ints(*scores)
    found = default_normalize(column, reverse=reverse)
    assert found.tolist() == go_normalized(scores, reverse=reverse)
    assert column.tolist() == scores


# --- broken lines


def go_broken_line(points: list[tuple[int, int]], at: int) -> int:
    for i, (x, y) in enumerate(points):
        if at <= x:
            if i == 0:
                return points[0][1]
            before_x, before_y = points[i - 1]
            return before_y + go_divide((y - before_y) * (at - before_x), x - before_x)
    return points[-1][1]


shapes = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=6, unique_by=lambda p: p[0])


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        pytest.param([(0, 0), (100, 100)], [0, 20, 50, 100], id="a straight line"),
        pytest.param([(0, 100), (30, 0)], [100, 34, 0, 0], id="falling values are truncated towards the start"),
        pytest.param([(20, 10), (50, 40)], [10, 10, 40, 40], id="flat outside"),
        pytest.param([(50, 7)], [7, 7, 7, 7], id="one point"),
        pytest.param([(0, 0), (20, 100), (50, 10)], [0, 100, 10, 10], id="up and down"),
    ],
)
def test_broken_lines(points: list[tuple[int, int]], expected: list[int]) -> None:
    assert broken_linear(points, ints(0, 20, 50, 100)).tolist() == expected


@given(shapes.map(sorted), st.lists(st.integers(-10, 110), max_size=8))
def test_broken_lines_of_columns(points: list[tuple[int, int]], at: list[int]) -> None:
    assert broken_linear(points, ints(*at)).tolist() == [go_broken_line(points, x) for x in at]
