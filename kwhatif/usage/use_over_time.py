"""Simultaneous usage of pods over time, so that a node's sum is one of simultaneous values and not of peaks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kwhatif.usage.histogram import FloatArray, IntArray

MOST_CELLS = 24_000_000
"""The most cells of all pods together. Beyond that steps get twice as long, and a cell has the higher value."""

MOST_STEPS = 2_000_000
"""The most steps between the first and the last sample of all pods: a year in steps of fifteen seconds. Beyond that,
too, steps get longer."""

FIRST_STEP = 15
"""Seconds. Kubelets are not scraped more often by default."""


class _Row:
    """One pod's use of one resource: ``cells`` int32[n] from step ``start`` on, in millicores or mebibytes."""

    __slots__ = ("cells", "start")

    def __init__(self, start: int, cells: np.ndarray[tuple[int], np.dtype[np.int32]]) -> None:
        self.start, self.cells = start, cells

    def coarsen(self, factor: int) -> None:
        """So many steps become one, which has the highest of them."""
        before = self.start % factor
        padded = np.pad(self.cells, (before, -(len(self.cells) + before) % factor))
        self.cells = padded.reshape(-1, factor).max(axis=1)
        self.start //= factor

    @property
    def end(self) -> int:
        """The step after the last one."""
        return self.start + len(self.cells)


class Timeline:
    """The use of each pod in steps of ``step`` seconds; containers of a pod are added up.

    A step without a sample counts as no use: the pod was not there, or it was not scraped.
    """

    def __init__(self) -> None:
        self.step = FIRST_STEP
        self._rows: dict[tuple[str, str], _Row] = {}
        self._now: dict[tuple[str, str], int] = {}
        self._cells = 0
        self._begin: int | None = None
        self._end = 0

    def add(self, pod: str, resource: str, times: FloatArray | None, amounts: FloatArray) -> None:
        """Samples of one container of a pod (``namespace/name``), in their order: seconds, and bins of its histogram.

        Without ``times`` they are of the moment at which the cluster was looked at.
        """
        key = pod, resource
        if times is None:
            self._now[key] = self._now.get(key, 0) + int(amounts.max())
            return
        if not len(times):
            return
        apart = _interval_of(times)
        if not self._rows:
            # Finer steps than samples have would keep nothing but holes.
            while self.step * 2 <= apart:
                self.step *= 2
        row = self._rows.get(key)
        # Room is made before there is anything in it: two samples may be a thousand years apart.
        self._coarsen_for(row, float(times[0]), float(times[-1]))
        steps = (times // self.step).astype(np.int64)
        first, last = int(steps[0]), int(steps[-1])
        self._begin = first if self._begin is None else min(self._begin, first)
        self._end = max(self._end, last + 1)
        cells = np.zeros(last - first + 1, np.int32)
        np.maximum.at(cells, steps - first, np.minimum(amounts, 2**31 - 1).astype(np.int32))
        _carry(cells, steps - first, apart / self.step)
        if row is None:
            self._rows[key] = _Row(first, cells)
            self._cells += len(cells)
        else:
            self._cells -= len(row.cells)
            self._merge(row, first, cells)
            self._cells += len(row.cells)

    @staticmethod
    def _merge(row: _Row, first: int, cells: np.ndarray[tuple[int], np.dtype[np.int32]]) -> None:
        start = min(row.start, first)
        whole = np.zeros(max(row.end, first + len(cells)) - start, np.int64)
        whole[row.start - start : row.end - start] = row.cells
        whole[first - start : first - start + len(cells)] += cells
        row.start, row.cells = start, np.minimum(whole, 2**31 - 1).astype(np.int32)

    def _coarsen_for(self, row: _Row | None, first: float, last: float) -> None:
        """Make steps longer until the samples of another series, from one time to another, have room in a row."""
        factor = 1
        while True:
            step = self.step * factor
            start, end = int(first // step), int(last // step) + 1
            begin = start if self._begin is None else min(start, self._begin // factor)
            own = end - start
            if row is not None:
                own = max(end, -(-row.end // factor)) - min(start, row.start // factor)
            others = self._cells - (len(row.cells) if row else 0)
            if others // factor + own <= MOST_CELLS and max(end, -(-self._end // factor)) - begin <= MOST_STEPS:
                break
            factor *= 2
        if factor == 1:
            return
        self.step *= factor
        for merged_row in self._rows.values():
            merged_row.coarsen(factor)
        self._cells = sum(len(other.cells) for other in self._rows.values())
        if self._rows:
            self._begin = min(other.start for other in self._rows.values())
            self._end = max(other.end for other in self._rows.values())

    def together(self, pods: Iterable[str], resource: str) -> IntArray:
        """What these pods used together, int64[steps]; empty if there are samples of none of them."""
        keys = [(pod, resource) for pod in pods]
        rows = [self._rows[key] for key in keys if key in self._rows]
        untimed = sum(self._now[key] for key in keys if key in self._now and key not in self._rows)
        if not rows:
            return np.array([untimed] if untimed else [], np.int64)
        start = min(row.start for row in rows)
        whole = np.zeros(max(row.end for row in rows) - start, np.int64)
        for row in rows:
            whole[row.start - start : row.end - start] += row.cells
        return whole + untimed


def _interval_of(times: FloatArray) -> float:
    """Seconds from one sample to the next, as most of them have it; 0 for a single one.

    The lower median, which needs no more than a partition: it is asked of every series.
    """
    if len(times) < 2:
        return 0.0
    gaps = times[1:] - times[:-1]
    middle = (len(gaps) - 1) // 2
    gaps.partition(middle)
    return float(gaps[middle])


def _carry(cells: np.ndarray[tuple[int], np.dtype[np.int32]], steps: IntArray, apart: float) -> None:
    """Steps between two samples have what the first one had, where samples are further apart than steps are."""
    if apart <= 1:
        return
    lengths = np.minimum(steps[1:] - steps[:-1], int(np.ceil(apart)))
    begins = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(steps[:-1] - begins, lengths)
    cells[places] = np.repeat(cells[steps[:-1]], lengths)
