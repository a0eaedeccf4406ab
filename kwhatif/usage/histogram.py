"""Histogram of a container's usage: exact counts in bins of fixed width, of bounded size however many samples there
are.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

MILLICORE, MEBIBYTE = 1, 1024**2
BIN = {"cpu": MILLICORE, "memory": MEBIBYTE}
"""Resource -> width of a bin, in millicores or bytes."""

MOST_BINS = 1 << 20
"""A thousand cores, or a tebibyte: what lies above is counted in the last bin, and its peak is exact all the same."""


class Histogram:
    """Samples of one container of one workload and one resource: in millicores, or in bytes.

    A sample is rounded up to its bin, so that a percentile is exact to the millicore, or to the mebibyte; ``peak`` and
    ``total`` are exact. Memory is bounded by the largest sample, not by their number. The default recommender of VPA
    keeps bins that grow by 5% instead (upstream: vertical-pod-autoscaler/pkg/recommender/util/histogram.go).
    """

    __slots__ = ("_counts", "_width", "number", "peak", "total")

    def __init__(self, resource: str) -> None:
        self._width = BIN[resource]
        self._counts: IntArray = np.zeros(16, np.int64)
        self.number = 0
        self.peak = 0
        self.total = 0.0

    def add(self, values: FloatArray) -> FloatArray:
        """Count samples, float64[n], each of which is finite and not negative; the same in whole millicores or bytes,
        rounded up.
        """
        if not len(values):
            return values
        # What is finer than a billionth of a core is an accident of binary fractions: 1.1 cores are 1100 millicores.
        exact: FloatArray = np.ceil(values.round(6))
        self.number += len(values)
        self.total += float(values.sum())
        self.peak = max(self.peak, int(exact.max()))
        bins = np.minimum(np.ceil(exact / self._width), MOST_BINS - 1).astype(np.int64)
        counts = np.bincount(bins)
        if len(counts) > len(self._counts):
            grown: IntArray = np.zeros(max(len(counts), 3 * len(self._counts) // 2), np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        self._counts[: len(counts)] += counts
        return exact

    def percentile(self, percent: float) -> int:
        """The percentile: the least amount that a percentage of the samples does not exceed (nearest rank); 0 without
        samples.
        """
        if not self.number:
            return 0
        rank = max(1, math.ceil(self.number * percent / 100 - 1e-9))
        place = int(np.searchsorted(np.cumsum(self._counts), rank))
        return min(place * self._width, self.peak) if place < MOST_BINS - 1 else self.peak

    @property
    def mean(self) -> float:
        """The average of all samples."""
        return self.total / self.number if self.number else 0.0
