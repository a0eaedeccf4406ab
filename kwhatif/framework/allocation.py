"""Requests against capacity, resource by resource: what the resource scorers share.

Upstream: plugins/noderesources/resource_allocation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import is_scalar
from kwhatif.cluster.types import Int64Array, IntpArray


@dataclass(frozen=True, slots=True)
class ScoredResources:
    """The resources a scorer looks at for one pod, k of them.

    columns     where they are on the resource axis
    asked       int64[k] by the pod
    weights     int64[k]
    defaulted   (place among the k, column of ``non_zero``) of those whose use counts the scheduler's defaults
    names       str[k]
    """

    columns: slice | IntpArray
    asked: Int64Array
    weights: Int64Array
    defaulted: tuple[tuple[int, int], ...]
    names: tuple[str, ...] = ()

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
        columns = [column for _, _, column in kept]
        return cls(
            axis.columns(name for name, _, _ in kept),
            np.array([asked.get(name, 0) for name, _, _ in kept], np.int64),
            np.array([weight for _, weight, _ in kept], np.int64),
            tuple((k, column) for k, column in enumerate(columns) if column < 2) if with_defaults else (),
            tuple(name for name, _, _ in kept),
        )

    def on(self, nodes: NodeView) -> Allocation:
        """The same resources on the nodes of a view."""
        capacity = nodes.allocatable[:, self.columns]
        if self.defaulted == ((0, 0), (1, 1)) and len(self.asked) == 2:
            used = nodes.non_zero
        else:
            used = nodes.requested[:, self.columns]
            if self.defaulted:
                used, non_zero = used.copy(), nodes.non_zero
                for k, column in self.defaulted:
                    used[:, k] = non_zero[:, column]
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
