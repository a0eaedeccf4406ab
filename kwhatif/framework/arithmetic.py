"""Arithmetic as Go does it, for columns.

Integer division truncates towards zero, conversion of a float to an integer too, and math.Round rounds halves
away from zero. All callers here divide non-negative numbers, where truncation and numpy's floor agree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kwhatif.cluster.types import Float64Array, Int64Array
from kwhatif.framework.interface import MAX_SCORE


def divide(numerator: Int64Array, denominator: Int64Array) -> Int64Array:
    """int64[n]: numerator / denominator truncated towards zero; 0 where the denominator is 0."""
    safe = np.where(denominator == 0, 1, denominator)
    quotient: Int64Array = np.abs(numerator) // np.abs(safe) * np.sign(numerator) * np.sign(safe)
    return np.where(denominator == 0, 0, quotient)


def go_round(values: Float64Array) -> Int64Array:
    """int64[n]: rounded to the nearest integer, halves away from zero (math.Round)."""
    whole = np.trunc(values)
    away = np.abs(values - whole) >= 0.5
    return (whole + np.copysign(away, values)).astype(np.int64)


def default_normalize(scores: Int64Array, *, reverse: bool) -> Int64Array:
    """int64[n]: 0..max brought to 0..100, turned round for penalties.

    Upstream: pkg/scheduler/framework/plugins/helper/normalize_score.go.
    """
    top = int(scores.max(initial=0))
    if top == 0:
        return np.full(len(scores), MAX_SCORE, np.int64) if reverse else scores
    scaled = MAX_SCORE * scores // top
    return MAX_SCORE - scaled if reverse else scaled


def broken_linear(points: Sequence[tuple[int, int]], at: Int64Array) -> Int64Array:
    """int64[n]: a function given by (x, y) points with straight lines between, flat outside.

    Upstream: pkg/scheduler/framework/plugins/helper/shape_score.go; integer arithmetic, truncated.
    """
    result = np.full(len(at), points[-1][1], np.int64)
    for (x0, y0), (x1, y1) in zip(reversed(points[:-1]), reversed(points[1:]), strict=True):
        run = np.full(len(at), x1 - x0, np.int64)
        result = np.where(at <= x1, y0 + divide((y1 - y0) * (at - x0), run), result)
    return np.where(at <= points[0][0], points[0][1], result)


def stretch_scores(scores: Int64Array) -> Int64Array:
    """int64[n]: from the lowest to the highest brought to 0..100; all 0 where they are equal."""
    if not len(scores):
        return scores
    lowest = int(scores.min())
    run = int(scores.max()) - lowest
    return (scores - lowest) * MAX_SCORE // run if run else np.zeros(len(scores), np.int64)


def invert_costs(costs: Int64Array) -> Int64Array:
    """int64[n]: the dearest is worth 0 and the cheapest 100; all 100 where they are equal and not 0, else all 0."""
    if not len(costs) or not costs.any():
        return costs
    lowest = int(costs.min())
    run = int(costs.max()) - lowest
    if not run:
        return np.full(len(costs), MAX_SCORE, np.int64)
    share = np.float64(MAX_SCORE) * (costs - lowest).astype(np.float64) / np.float64(run)
    return MAX_SCORE - share.astype(np.int64)
