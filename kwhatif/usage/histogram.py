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
    ``total`` are exact. Memory is bounded by how many different values there are, and not by their number or size. The
    default recommender of VPA keeps bins that grow by 5% instead
    (upstream: vertical-pod-autoscaler/pkg/recommender/util/histogram.go).
    """

    __slots__ = ("_bins", "_counts", "_sorted", "_used", "_width", "number", "peak", "total")

    def __init__(self, resource: str) -> None:
        self._width = BIN[resource]
        self._bins: IntArray = np.zeros(16, np.int64)
        self._counts: IntArray = np.zeros(16, np.int64)
        # Bins up to the first of these are in order and occur once; up to the second they are as they came.
        self._sorted = self._used = 0
        self.number = 0
        self.peak = 0
        self.total = 0.0

    @property
    def room(self) -> int:
        """For how many different values there is memory."""
        return len(self._bins)

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
        bins, counts = _count(np.minimum(np.ceil(exact / self._width), MOST_BINS - 1).astype(np.int64))
        if self._used + len(bins) > self.room:
            self._sort()
            # Room for as many again, so that sorting takes no more time than counting did.
            room = max(self.room, 2 * (self._used + len(bins)))
            self._bins, self._counts = (np.resize(column, room) for column in (self._bins, self._counts))
        self._bins[self._used : self._used + len(bins)] = bins
        self._counts[self._used : self._used + len(bins)] = counts
        self._used += len(bins)
        return exact

    def _sort(self) -> None:
        """Put all bins in order, each once."""
        if self._sorted == self._used:
            return
        order = np.argsort(self._bins[: self._used], kind="stable")
        bins, counts = self._bins[order], self._counts[order]
        first = np.flatnonzero(np.concatenate(([True], bins[1:] != bins[:-1])))
        self._sorted = self._used = len(first)
        self._bins[: self._used] = bins[first]
        self._counts[: self._used] = np.add.reduceat(counts, first)

    def percentile(self, percent: float) -> int:
        """The percentile: the least amount that a percentage of the samples does not exceed (nearest rank); 0 without
        samples.
        """
        if not self.number:
            return 0
        rank = max(1, math.ceil(self.number * percent / 100 - 1e-9))
        self._sort()
        place = int(self._bins[np.searchsorted(np.cumsum(self._counts[: self._used]), rank)])
        return min(place * self._width, self.peak) if place < MOST_BINS - 1 else self.peak

    @property
    def mean(self) -> float:
        """The average of all samples."""
        return self.total / self.number if self.number else 0.0


def _count(bins: IntArray) -> tuple[IntArray, IntArray]:
    """The bins that occur, in their order, and how often each does."""
    least = int(bins.min())
    if int(bins.max()) - least > 16 * len(bins):
        return np.unique(bins, return_counts=True)
    # Values of one container lie close together: no need to sort them.
    counts = np.bincount(bins - least)
    filled = np.flatnonzero(counts)
    return filled + least, counts[filled]
