"""Requests against capacity, resource by resource: what the resource scorers share.

Upstream: plugins/noderesources/resource_allocation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.requests import is_scalar
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.cluster.view import NodeView

__all__ = ["Allocation", "ScoredResources"]


@dataclass(frozen=True, slots=True)
class ScoredResources:
    """The resources a scorer looks at for one pod, k of them.

    columns     intp[k] on the resource axis
    asked       int64[k] by the pod
    weights     int64[k]
    defaulted   bool[k]: whether the node's side counts the defaults for containers without requests
    """

    columns: IntpArray
    asked: Int64Array
    weights: Int64Array
    non_zero: tuple[int, ...]

    @classmethod
    def of(
        cls,
        resources: Sequence[tuple[str, int]],
        asked: Mapping[str, int],
        cluster: Cluster,
        *,
        with_defaults: bool,
    ) -> ScoredResources:
        """Leave out what counts for no node: scalars the pod does not ask for, and names nobody knows."""
        axis = cluster.shapes.resources
        kept = [
            (name, weight, column)
            for name, weight in resources
            if (column := axis.find(name)) is not None and (asked.get(name, 0) or not is_scalar(name))
        ]
        places = [
            (place, column)
            for place, (_, _, column) in enumerate(kept)
            if with_defaults and column < 2
        ]
        return cls(
            np.array([column for _, _, column in kept], np.intp),
            np.array([asked.get(name, 0) for name, _, _ in kept], np.int64),
            np.array([weight for _, weight, _ in kept], np.int64),
            tuple(2 * place + column for place, column in places),
        )

    def on(self, nodes: NodeView) -> Allocation:
        """The same resources on the nodes of a view."""
        capacity = nodes.allocatable[:, self.columns]
        used = nodes.requested[:, self.columns]
        if self.non_zero:
            non_zero = nodes.non_zero
            for code in self.non_zero:
                used[:, code // 2] = non_zero[:, code % 2]
        return Allocation(capacity, used, used + self.asked, self.weights)


@dataclass(frozen=True, slots=True)
class Allocation:
    """int64[n, k] each: what nodes have, what is taken, and what would be taken with the pod."""

    capacity: Int64Array
    used: Int64Array
    requested: Int64Array
    weights: Int64Array

    @property
    def safe_capacity(self) -> Int64Array:
        """Capacity to divide by: 1 in place of 0, whose quotients do not count."""
        return np.maximum(self.capacity, 1)

    def weighted(self, scores: Int64Array) -> Int64Array:
        """int64[n]: the weighted mean over the resources a node has, truncated; 0 where it has none."""
        there = self.capacity != 0
        if there.all():
            weights = int(self.weights.sum())
            mean: Int64Array = scores @ self.weights // max(weights, 1)
            return mean
        total = (scores * there) @ self.weights
        weight = there @ self.weights
        return np.where(weight == 0, 0, total // np.maximum(weight, 1))
