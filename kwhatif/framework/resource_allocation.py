"""Requests against capacity, resource by resource, which the resource scorers share; and how often upstream's plugins
add up a pod's requests in one cycle (docs/contributing/decisions/0003).

With every sum, the requests of some pods grow (``cluster.pod_requests.overhead_drift``). Upstream:
plugins/noderesources (resource_allocation.go, fit.go, balanced_allocation.go) and
plugins/dynamicresources/extendeddynamicresources.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import is_scalar
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.framework.interface import Plugin
from kwhatif.versions import Features


class ScoredResources(msgspec.Struct, frozen=True):
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
    def for_pod(
        cls,
        resources: Sequence[tuple[str, int]],
        requests: Mapping[str, int],
        cluster: Cluster,
        *,
        with_defaults: bool,
    ) -> ScoredResources:
        """Leave out resources that count for no node: scalars the pod does not request, and unknown names."""
        axis = cluster.shapes.resources
        kept = [
            (name, weight, column)
            for name, weight in resources
            if (column := axis.find(name)) is not None and (requests.get(name, 0) or not is_scalar(name))
        ]
        columns = [column for _, _, column in kept]
        return cls(
            axis.columns(name for name, _, _ in kept),
            np.array([requests.get(name, 0) for name, _, _ in kept], np.int64),
            np.array([weight for _, weight, _ in kept], np.int64),
            tuple((k, column) for k, column in enumerate(columns) if column < 2) if with_defaults else (),
            tuple(name for name, _, _ in kept),
        )

    def allocation_on(self, nodes: NodeView) -> Allocation:
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


class Allocation(msgspec.Struct, frozen=True):
    """int64[n, k] each: what nodes have, what is taken, and what would be taken with the pod."""

    capacity: Int64Array
    used: Int64Array
    requested: Int64Array
    weights: Int64Array

    @property
    def safe_capacity(self) -> Int64Array:
        """Capacity to divide by: 1 in place of 0, whose quotients do not count."""
        return np.maximum(self.capacity, 1)

    def weighted_mean(self, scores: Int64Array) -> Int64Array:
        """int64[n]: the weighted mean over the resources a node has, truncated; 0 where it has none."""
        there = self.capacity != 0
        if there.all():
            weights = int(self.weights.sum())
            mean: Int64Array = scores @ self.weights // max(weights, 1)
            return mean
        total = (scores * there) @ self.weights
        weight = there @ self.weights
        return np.where(weight == 0, 0, total // np.maximum(weight, 1))


AnyPlugin = Plugin[Any, Any]

_IN_PRE_FILTER: Mapping[str, Callable[[AnyPlugin], int]] = {
    "NodeResourcesFit": lambda plugin: 1,
    # It looks for extended resources that a device class serves.
    "DynamicResources": lambda plugin: int(plugin.handle.features.dra_extended_resource),
}
_IN_PRE_SCORE: Mapping[str, Callable[[AnyPlugin], int]] = {
    "NodeResourcesBalancedAllocation": lambda plugin: len(plugin.handle.args.resources),
}


def request_sums(filtering: Iterable[AnyPlugin], scoring: Iterable[AnyPlugin]) -> int:
    """How often these plugins add up the requests of a pod: those of the profile, and those asked for PreScore."""
    sums = [how_often(plugin) for plugin in filtering if (how_often := _IN_PRE_FILTER.get(plugin.name)) is not None]
    sums += [how_often(plugin) for plugin in scoring if (how_often := _IN_PRE_SCORE.get(plugin.name)) is not None]
    return sum(sums)


def drift_requests(
    requests: Mapping[str, int], drift: Mapping[str, int], resources: Sequence[str], features: Features
) -> Mapping[str, int]:
    """The requests as a scorer finds them that adds them up once for each of its resources, in this order."""
    if not drift:
        return requests
    turns = {name: turn for turn, name in enumerate(resources, 1 + int(features.dra_extended_resource))}
    return {name: amount + drift.get(name, 0) * turns.get(name, 0) for name, amount in requests.items()}
