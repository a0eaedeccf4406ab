"""NodeResourcesLeastAllocated, NodeResourcesMostAllocated, RequestedToCapacityRatio: how full should a node be?

Upstream, until 1.22: plugins/noderesources (least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go);
since then strategies of NodeResourcesFit.
"""

from __future__ import annotations

from kwhatif.cluster.requests import NON_ZERO, scored_requests
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.allocation import ScoredResources
from kwhatif.framework.interface import Handle, Plugin, Scope
from kwhatif.plugins.shared.resource_rates import Rate, least_allocated, most_allocated, requested_to_capacity_ratio


class _ResourceScorer(Plugin[None, None]):
    """A scorer of its own: it counts requests as these plugins did, container by container."""

    reads_labels = False
    score_scope = Scope.ROW
    rate: Rate

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        cluster = nodes.cluster

        def asked() -> ScoredResources:
            resources = [(spec.name, spec.weight) for spec in self.handle.args.resources]
            requests = scored_requests(pod.shape.spec, missing=NON_ZERO)
            return ScoredResources.of(resources, requests, cluster, with_defaults=True)

        scored = cluster.remember((self, pod.shape.template), asked)
        return self.rate(scored.on(nodes), scored)


class NodeResourcesLeastAllocated(_ResourceScorer):
    name = "NodeResourcesLeastAllocated"
    rate = staticmethod(least_allocated)


class NodeResourcesMostAllocated(_ResourceScorer):
    name = "NodeResourcesMostAllocated"
    rate = staticmethod(most_allocated)


class RequestedToCapacityRatio(_ResourceScorer):
    name = "RequestedToCapacityRatio"

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self.rate = requested_to_capacity_ratio(tuple((p.utilization, p.score) for p in handle.args.shape))
