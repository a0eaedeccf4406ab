"""How full should a node be? The three answers that resource scorers give.

Upstream: plugins/noderesources (least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kwhatif.cluster.types import Int64Array
from kwhatif.framework.allocation import Allocation, ScoredResources
from kwhatif.framework.arithmetic import broken_linear, go_round
from kwhatif.framework.interface import MAX_SCORE

MAX_SHAPE_SCORE = 10
"""Points of a RequestedToCapacityRatio shape go from 0 to 10."""

Rate = Callable[[Allocation, ScoredResources], Int64Array]


def least_allocated(at: Allocation, resources: ScoredResources) -> Int64Array:
    """int64[n]: the emptier, the better. Upstream: least_allocated.go."""
    share = (at.capacity - at.requested) * MAX_SCORE // at.safe_capacity
    return at.weighted(np.where(at.requested > at.capacity, 0, share))


def most_allocated(at: Allocation, resources: ScoredResources) -> Int64Array:
    """int64[n]: the fuller, the better. Upstream: most_allocated.go."""
    return at.weighted(np.minimum(at.requested, at.capacity) * MAX_SCORE // at.safe_capacity)


def requested_to_capacity_ratio(shape: tuple[tuple[int, int], ...]) -> Rate:
    """A scorer after a given curve: points of utilisation in percent and a score from 0 to 10.

    Upstream: requested_to_capacity_ratio.go.
    """
    curve = tuple((utilization, score * (MAX_SCORE // MAX_SHAPE_SCORE)) for utilization, score in shape)

    def rate(at: Allocation, resources: ScoredResources) -> Int64Array:
        percent = np.where(at.requested > at.capacity, 100, at.requested * 100 // at.safe_capacity)
        total = np.zeros(len(at.capacity), np.int64)
        weights = np.zeros(len(at.capacity), np.int64)
        for k in range(at.capacity.shape[1]):
            score = broken_linear(curve, percent[:, k])
            counts = (score > 0) & (at.capacity[:, k] != 0)
            total += np.where(counts, score * resources.weights[k], 0)
            weights += np.where(counts, resources.weights[k], 0)
        return np.where(weights == 0, 0, go_round(total / np.maximum(weights, 1)))

    return rate
