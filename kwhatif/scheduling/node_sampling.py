"""How many nodes a search visits, and which: percentageOfNodesToScore with its rotating start, and the race of parallel
workers as a random process.

kube-scheduler hands out the nodes in chunks, in order from where the last search ended, to several workers. Each visits
the nodes of its chunk one by one and then takes the next chunk. The first feasible node too many ends the search; nodes
that others are visiting at that moment are still visited to the end. How the workers' times compare is up to the
machine: here a visit takes a time of exponential distribution, the same for all workers and nodes, so that every worker
with nodes left is as likely as any other to finish one next. One worker begins at once. The others are goroutines that
have to be scheduled first: each begins after a time of exponential distribution, too, whose mean, in visits, is the one
parameter. It is fitted to recordings.

Upstream: findNodesThatPassFilters and numFeasibleNodesToFind in pkg/scheduler/schedule_one.go,
pkg/scheduler/framework/parallelize, and client-go/util/workqueue/parallelizer.go.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heapreplace
from math import isqrt

import numpy as np

from kwhatif.cluster.types import BoolArray, Float64Array, IntpArray

MIN_FEASIBLE_NODES_TO_FIND = 100
"""The least number of feasible nodes to find (minFeasibleNodesToFind)."""
MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND = 5


def nodes_to_find(nodes: int, percentage: int) -> int:
    """How many feasible nodes are enough; percentage 0 lets it fall as the cluster grows."""
    if nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return nodes
    if percentage == 0:
        percentage = max(50 - nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
    return max(nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


def sample(ok: BoolArray, start: int, enough: int) -> tuple[IntpArray, int]:
    """The first ``enough`` places of ``ok`` from ``start`` on, wrapping around, and how many places were visited.

    The search stops at the first feasible node too many, so nodes rejected on the way to it were visited, too.
    """
    return sample_found(np.flatnonzero(ok), len(ok), start, enough)


def sample_found(feasible: IntpArray, size: int, start: int, enough: int) -> tuple[IntpArray, int]:
    """The same of ``size`` places; ``feasible`` intp[k], ascending, are those that are looked for."""
    turn = start if len(feasible) == size else int(feasible.searchsorted(start))
    end = turn + enough
    if end < len(feasible):
        return feasible[turn:end], feasible.item(end) - start
    in_turn = np.concatenate([feasible[turn:], feasible[:turn]])
    if enough < len(feasible):
        return in_turn[:enough], (in_turn.item(enough) - start) % size
    return in_turn, size


BEGINS_AFTER = 1280.0
"""The mean delay of a worker's start behind the first one, in visits."""

Search = Callable[[BoolArray, int, int], tuple[IntpArray, int]]
"""(which nodes pass bool[n], the place where it begins, how many are enough) -> the places found, and how many nodes
were looked at."""


def chunk_size(nodes: int, workers: int) -> int:
    """How many nodes a worker takes at once."""
    return max(1, min(isqrt(nodes), nodes // workers + 1))


class ParallelSearch:
    """A search with ``workers`` goroutines, whose race ``random`` decides; all but one begin late, by ``late`` visits
    on average. ``order`` intp[n] has the places in the order of the scheduler's list; those that came since are last.
    """

    def __init__(
        self,
        random: np.random.Generator,
        workers: int = 16,
        late: float = BEGINS_AFTER,
        order: IntpArray | None = None,
    ) -> None:
        self._random, self._workers, self._late = random, workers, late
        self._order = np.zeros(0, np.intp) if order is None else order

    def __call__(self, ok: BoolArray, start: int, enough: int) -> tuple[IntpArray, int]:
        """The places of ``ok`` that are found, in the order in which they are found, and how many were visited."""
        size = len(ok)
        order = self._order[self._order < size]
        turns = np.roll(np.concatenate([order, np.arange(len(order), size)]), -start)
        in_turn: BoolArray = ok[turns]
        passing_rows = np.flatnonzero(in_turn)
        if not len(passing_rows):
            return passing_rows, size
        begun, done = self._times(size)
        if len(passing_rows) <= enough:
            return turns[passing_rows[done[passing_rows].argsort(kind="stable")]], size
        # The first feasible node too many is not kept, and ends the search.
        end = np.partition(done[passing_rows], enough)[enough]
        kept = passing_rows[done[passing_rows] < end]
        looked_in_vain = int(np.count_nonzero(~in_turn & (begun < end)))
        return turns[kept[done[kept].argsort(kind="stable")]], len(kept) + looked_in_vain

    def _times(self, size: int) -> tuple[Float64Array, Float64Array]:
        """float64[n] each: when the visit of each node begins and when it ends, in the order of the search."""
        chunk = chunk_size(size, self._workers)
        chunks = -(-size // chunk)
        takes: Float64Array = -np.log1p(-self._random.random(chunks * chunk)).reshape(chunks, chunk)
        takes[-1, size - (chunks - 1) * chunk :] = 0.0
        within = np.cumsum(takes, axis=1)
        begins = np.zeros(chunks)
        ready = [0.0, *(self._late * self._random.exponential(size=min(self._workers, chunks) - 1)).tolist()]
        heapify(ready)
        for number, whole in enumerate(within[:, -1].tolist()):
            # The worker that is ready first takes the next chunk.
            begins[number] = ready[0]
            heapreplace(ready, ready[0] + whole)
        ends = np.column_stack([begins, within + begins[:, None]])
        # To the bit: no worker begins before the one before is done.
        return ends[:, :-1].reshape(-1)[:size], ends[:, 1:].reshape(-1)[:size]
