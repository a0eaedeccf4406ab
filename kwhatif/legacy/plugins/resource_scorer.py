"""NodeResourcesLeastAllocated, NodeResourcesMostAllocated, RequestedToCapacityRatio: scores by utilization.

Upstream, until 1.22: plugins/noderesources (least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go);
since then strategies of NodeResourcesFit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import NON_ZERO, scored_requests
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Handle, Plugin, Scope
from kwhatif.framework.resource_allocation import ScoredResources
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.node_resources import (
    Rate,
    ResourceSpec,
    UtilizationShapePoint,
    fill_default_weights,
    least_allocated,
    most_allocated,
    requested_to_capacity_ratio,
    shape_problems,
    weight_problems,
)
from kwhatif.versions import Features


class NodeResourcesLeastAllocatedArgs(Args):
    resources: tuple[ResourceSpec, ...] = ()


class NodeResourcesMostAllocatedArgs(Args):
    resources: tuple[ResourceSpec, ...] = ()


class RequestedToCapacityRatioArgs(Args):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class _ResourceScorer(Plugin[None, None]):
    """A scorer of its own: it counts requests as these plugins did, container by container."""

    depends_on_labels = False
    score_scope = Scope.ROW
    rate: Rate

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        return replace(args, resources=fill_default_weights(args.resources))

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        return weight_problems(path.child("resources"), args.resources)

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        scored = _scored_resources_of(nodes.cluster, self.handle.args.resources, pod.shape.template)
        return self.rate(scored.allocation_on(nodes), scored)


@cached_per_cluster
def _scored_resources_of(cluster: Cluster, resources: tuple[ResourceSpec, ...], template: int) -> ScoredResources:
    requests = scored_requests(cluster.shapes.templates[template].spec, missing=NON_ZERO)
    weighed = [(spec.name, spec.weight) for spec in resources]
    return ScoredResources.for_pod(weighed, requests, cluster, with_defaults=True)


class NodeResourcesLeastAllocated(_ResourceScorer):
    name = "NodeResourcesLeastAllocated"
    args = NodeResourcesLeastAllocatedArgs
    rate = staticmethod(least_allocated)


class NodeResourcesMostAllocated(_ResourceScorer):
    name = "NodeResourcesMostAllocated"
    args = NodeResourcesMostAllocatedArgs
    rate = staticmethod(most_allocated)


class RequestedToCapacityRatio(_ResourceScorer):
    name = "RequestedToCapacityRatio"
    args = RequestedToCapacityRatioArgs

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        yield from shape_problems(path.child("shape"), args.shape, features)
        for index, resource in enumerate(args.resources):
            if resource.weight < 1:
                problem = f"resource weight of {resource.name} not in valid range [1, inf)"
                yield path.child("resources").index(index).child("weight").invalid(resource.weight, problem)

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self.rate = requested_to_capacity_ratio(tuple((p.utilization, p.score) for p in handle.args.shape))
