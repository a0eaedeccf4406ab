"""NodeResourcesBalancedAllocation: favours nodes whose utilization the pod balances across resources.

Upstream: plugins/noderesources/balanced_allocation.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import scored_requests
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Float64Array, Int64Array
from kwhatif.framework.declaration import Args, DefaultPlugin
from kwhatif.framework.interface import MAX_SCORE, Handle, Plugin, Scope
from kwhatif.framework.resource_allocation import ScoredResources, drift_requests
from kwhatif.framework.signature import Signature, sign_resources
from kwhatif.framework.status import SKIP, Skip
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.node_resources import ResourceSpec, add_devices, fill_default_weights, score_scope
from kwhatif.versions import Features


class NodeResourcesBalancedAllocationArgs(Args):
    resources: tuple[ResourceSpec, ...] = ()


class NodeResourcesBalancedAllocation(Plugin[None, ScoredResources]):
    name = "NodeResourcesBalancedAllocation"
    args = NodeResourcesBalancedAllocationArgs
    default = DefaultPlugin(200, weight=1)
    depends_on_labels = False
    depends_on_sums_only = True
    score_scope = Scope.ROW

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        return replace(args, resources=fill_default_weights(args.resources))

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        seen = set()
        for index, resource in enumerate(args.resources):
            at = path.child("resources").index(index)
            if resource.name in seen:
                yield at.child("name").duplicate(resource.name)
            seen.add(resource.name)
            if resource.weight != 1:
                yield at.child("weight").invalid(resource.weight, "must be 1")

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._resources = [(spec.name, spec.weight) for spec in handle.args.resources]

    def cache_key(self, pod: PodInfo) -> Hashable:
        shape = pod.shape
        if shape.drift or self.handle.features.requests_add_up_as_integers:
            return super().cache_key(pod)
        return tuple(shape.score_requests.items())

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_resources(pod.shape, self.handle)

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: None) -> ScoredResources | Skip:
        features = self.handle.features
        once = scored_requests(pod.shape.spec) if features.requests_add_up_as_integers else pod.shape.score_requests
        requests = drift_requests(once, pod.shape.drift, [name for name, _ in self._resources], features)
        asks = any(requests.get(name, 0) for name, _ in self._resources)
        if not asks and self.handle.features.balanced_allocation_skips_best_effort:
            return SKIP
        return ScoredResources.for_pod(self._resources, requests, nodes.cluster, with_defaults=False)

    def scopes(self, pod: PodInfo) -> tuple[Scope, Scope]:
        return self.filter_scope, score_scope(pod, self._resources, self.handle)

    def score(self, pod: PodInfo, nodes: NodeView, state: ScoredResources) -> Int64Array:
        at = add_devices(state.allocation_on(nodes), state, nodes, self.handle)
        if not self.handle.features.balanced_allocation_compares:
            return balance(np.minimum(at.requested / at.safe_capacity, 1.0), at.capacity != 0)
        # With the pod and without it, in one go.
        both = np.concatenate([at.requested, at.used])
        capacity = np.concatenate([at.capacity, at.capacity])
        scores = balance(np.minimum(both / np.maximum(capacity, 1), 1.0), capacity != 0)
        with_pod, without = scores[: nodes.size], scores[nodes.size :]
        return MAX_SCORE // 2 + (MAX_SCORE // 2 + with_pod - without) // 2


def balance(fractions: Float64Array, there: np.typing.NDArray[np.bool_]) -> Int64Array:
    """int64[n]: 100 times (1 - standard deviation) of the fractions in use, over the resources a node has.

    Sums go resource by resource, left to right, so that rounding is the same as upstream's.
    """
    size, resources = fractions.shape
    if resources == 2 and there.all():
        deviation = np.abs((fractions[:, 0] - fractions[:, 1]) / 2)
        scores: Int64Array = ((1 - deviation) * float(MAX_SCORE)).astype(np.int64)
        return scores
    count = there.sum(axis=1)
    total = np.zeros(size)
    for k in range(resources):
        total = total + np.where(there[:, k], fractions[:, k], 0.0)
    mean = total / np.maximum(count, 1)
    squares = np.zeros(size)
    first, second = np.zeros(size), np.zeros(size)
    seen = np.zeros(size, np.int64)
    for k in range(resources):
        here = there[:, k]
        squares = squares + np.where(here, (fractions[:, k] - mean) * (fractions[:, k] - mean), 0.0)
        first = np.where(here & (seen == 0), fractions[:, k], first)
        second = np.where(here & (seen == 1), fractions[:, k], second)
        seen += here
    of_two = np.abs((first - second) / 2)
    of_more = np.sqrt(squares / np.maximum(count, 1))
    deviation = np.where(count == 2, of_two, np.where(count > 2, of_more, 0.0))
    return ((1 - deviation) * float(MAX_SCORE)).astype(np.int64)
