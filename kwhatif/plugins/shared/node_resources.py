"""What the resource plugins share: arguments (resources with weights, the curve of a score), the three scoring
strategies, and extended resources that device classes serve.

Upstream: scheduler/apis/config/v1/defaults.go and validation/validation_pluginargs.go; plugins/noderesources
(least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go, shouldDelegateResourceToDRA of fit.go,
calculateDRAResourceTotals of resource_allocation.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec import structs
from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.framework.arithmetic import broken_linear, go_round
from kwhatif.framework.interface import MAX_SCORE, Handle, Scope
from kwhatif.framework.resource_allocation import Allocation, ScoredResources
from kwhatif.golang.config_struct import ConfigStruct, Int32, ResourceName
from kwhatif.golang.field_validation import Path, qualified_name
from kwhatif.versions import Features


class ResourceSpec(ConfigStruct):
    """A resource and its weight in a score, 1..100."""

    name: Annotated[ResourceName, msgspec.Meta(extra={"always": True})] = ""
    weight: int = 0


class UtilizationShapePoint(ConfigStruct):
    """A point of a score function: utilization 0..100, score 0..10."""

    utilization: Int32 = 0
    score: Int32 = 0


_CPU_AND_MEMORY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


def fill_default_weights(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """CPU and memory when none is named; a weight of zero counts as one."""
    return tuple(replace(spec, weight=spec.weight or 1) for spec in resources) or _CPU_AND_MEMORY


def weight_problems(path: Path, resources: tuple[ResourceSpec, ...]) -> Iterator[str]:
    for index, resource in enumerate(resources):
        if not 0 < resource.weight <= 100:
            problem = f"resource weight of {resource.name} not in valid range (0, 100]"
            yield path.index(index).child("weight").invalid(resource.weight, problem)


def shape_problems(path: Path, shape: tuple[UtilizationShapePoint, ...], features: Features) -> Iterator[str]:
    if not shape:
        yield path.required("at least one point must be specified")
        return
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            at = path.index(index).child("utilization")
            what = "values" if features.terse_shape_errors else "utilization values"
            yield at.invalid(shape[index].utilization, f"{what} must be sorted in increasing order")
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield path.index(index).child("utilization").invalid(point.utilization, "not in valid range [0, 100]")
        if not 0 <= point.score <= 10:
            yield path.index(index).child("score").invalid(point.score, "not in valid range [0, 10]")


def label_problems(path: Path, name: str) -> Iterator[str]:
    """The errors of a text as the name of a resource or the key of a label."""
    return (path.invalid(name, problem) for problem in qualified_name(name))


MAX_SHAPE_SCORE = 10
"""Points of a RequestedToCapacityRatio shape go from 0 to 10."""

Rate = Callable[[Allocation, ScoredResources], Int64Array]


def least_allocated(at: Allocation, resources: ScoredResources) -> Int64Array:
    """int64[n]: the emptier, the better. Upstream: least_allocated.go."""
    share = (at.capacity - at.requested) * MAX_SCORE // at.safe_capacity
    return at.weighted_mean(np.where(at.requested > at.capacity, 0, share))


def most_allocated(at: Allocation, resources: ScoredResources) -> Int64Array:
    """int64[n]: the fuller, the better. Upstream: most_allocated.go."""
    return at.weighted_mean(np.minimum(at.requested, at.capacity) * MAX_SCORE // at.safe_capacity)


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


def left_to_devices(name: str, nodes: NodeView) -> BoolArray:
    """bool[n]: nodes where no device plugin serves a resource, so that DynamicResources allocates it."""
    cluster = nodes.cluster
    if cluster.devices.features.extended_resources_reuse_devices:
        column: Int64Array = cluster.shapes.resources.amounts(nodes.allocatable, name)
        return column <= 0
    mask: BoolArray = nodes.take_rows(~nodes_with(cluster, name))
    return mask


@cached_per_cluster
def nodes_with(cluster: Cluster, resource: str) -> BoolArray:
    """bool[N]: nodes that list a resource, even if the amount is zero."""
    every = cluster.columns.nodes
    return np.fromiter((resource in node.status.for_pods for node in every), np.bool_, len(every))


def score_scope(pod: PodInfo, resources: Sequence[tuple[str, int]], handle: Handle) -> Scope:
    """The scope of scores by amounts: ROW, unless a scored resource of this pod is served by devices."""
    if handle.cluster is None or not handle.features.extended_resources_are_scored_by_devices:
        return Scope.ROW
    serving = handle.cluster.devices.serving
    devices = any(name in serving and pod.shape.requests.get(name) for name, _ in resources)
    return Scope.CLUSTER if devices else Scope.ROW


def add_devices(at: Allocation, resources: ScoredResources, nodes: NodeView, handle: Handle) -> Allocation:
    """The same, with devices counted where no device plugin serves a resource."""
    cluster = nodes.cluster
    serving = cluster.devices.serving
    if not serving or not handle.features.extended_resources_are_scored_by_devices:
        return at
    for k, name in enumerate(resources.names):
        if name not in serving:
            continue
        there, taken = device_totals_of(nodes, name)
        counts = (at.capacity[:, k] == 0) & (there > 0)
        if not counts.any():
            continue
        capacity, used, requested = at.capacity.copy(), at.used.copy(), at.requested.copy()
        capacity[:, k] = np.where(counts, there, capacity[:, k])
        used[:, k] = np.where(counts, taken, used[:, k])
        requested[:, k] = np.where(counts, taken + resources.asked[k], requested[:, k])
        at = structs.replace(at, capacity=capacity, used=used, requested=requested)
    return at


def device_totals_of(nodes: NodeView, name: str) -> tuple[Int64Array, Int64Array]:
    """int64[n] each: devices of the class that serves a resource, and those of them in use."""
    from kwhatif.devices.claim_outcomes import Ledger
    from kwhatif.devices.selectors import NO, YES, selection_of

    cluster = nodes.cluster
    ledger = Ledger.for_cluster(cluster)
    inventory, size = ledger.inventory, len(cluster)
    own = cluster.devices.serving[name]
    codes = selection_of(inventory, own.name, own.spec.selectors, None).codes
    numbers, rows = inventory.device_rows
    matching = codes[numbers] == YES
    in_use = (ledger.taken | ledger.shared)[numbers]
    there = np.bincount(rows[matching], minlength=size).astype(np.int64)
    taken = np.bincount(rows[matching & in_use], minlength=size).astype(np.int64)
    broken = (codes[numbers] != YES) & (codes[numbers] != NO)
    there[rows[broken]] = taken[rows[broken]] = 0
    return nodes.take_rows(there), nodes.take_rows(taken)
