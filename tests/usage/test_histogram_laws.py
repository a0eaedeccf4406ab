"""Distributions and what is kept of time, against the plain definitions."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.usage import use_over_time
from kwhatif.usage.histogram import Histogram
from kwhatif.usage.use_over_time import Timeline

MILLI = st.lists(st.integers(0, 64_000), min_size=1, max_size=60)


@given(MILLI, st.floats(0.1, 100))
def test_a_percentile_is_the_nearest_rank_to_the_millicore(samples: list[int], percent: float) -> None:
    histogram = Histogram("cpu")
    histogram.add(np.array(samples, np.float64))
    rank = max(1, math.ceil(len(samples) * percent / 100 - 1e-9))
    assert histogram.percentile(percent) == sorted(samples)[rank - 1]
    assert histogram.peak == max(samples)


@given(MILLI, MILLI)
def test_what_comes_in_pieces_counts_as_what_comes_at_once(first: list[int], second: list[int]) -> None:
    pieces, whole = Histogram("memory"), Histogram("memory")
    for part in (first, second):
        pieces.add(np.array(part, np.float64) * 1e6)
    whole.add(np.array([*first, *second], np.float64) * 1e6)
    for percent in (1, 50, 90, 100):
        assert pieces.percentile(percent) == whole.percentile(percent)
    assert (pieces.number, pieces.peak) == (whole.number, whole.peak)


@given(st.integers(0, 2**45))
def test_peaks_beyond_all_bins_are_exact(amount: int) -> None:
    histogram = Histogram("memory")
    histogram.add(np.array([amount], np.float64))
    assert histogram.peak == histogram.percentile(90) == amount


@given(st.lists(st.lists(st.integers(0, 5000), min_size=4, max_size=4), min_size=1, max_size=5))
def test_pods_are_added_up_at_the_same_times(pods: list[list[int]]) -> None:
    timeline, times = Timeline(), np.arange(4, dtype=np.float64) * 60 + 6000
    for number, samples in enumerate(pods):
        timeline.add(f"a/{number}", "cpu", times, np.array(samples, np.float64))
    names = [f"a/{number}" for number in range(len(pods))]
    assert timeline.together(names, "cpu").tolist() == np.sum(pods, axis=0).tolist()


@settings(max_examples=30)
@given(st.lists(st.integers(0, 5000), min_size=2, max_size=40), st.integers(0, 50))
def test_coarser_steps_keep_the_highest(samples: list[int], first: int) -> None:
    timeline = Timeline()
    timeline.add(
        "a/1", "cpu", np.arange(len(samples), dtype=np.float64) * 60 + first * 60, np.array(samples, np.float64)
    )
    most, use_over_time.MOST_CELLS = use_over_time.MOST_CELLS, 4
    try:
        timeline.add("a/2", "cpu", np.array([first * 60.0]), np.array([0.0]))
    finally:
        use_over_time.MOST_CELLS = most
    assert timeline.together(["a/1"], "cpu").max() == max(samples)
