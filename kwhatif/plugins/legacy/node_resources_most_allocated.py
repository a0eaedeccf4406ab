"""NodeResourcesMostAllocated: the fuller a node, the better.

Upstream, until 1.22: plugins/noderesources/most_allocated.go; since then a strategy of NodeResourcesFit.
"""

from __future__ import annotations

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.requests import NON_ZERO, scored_requests
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.allocation import ScoredResources
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.plugins.resource_rates import most_allocated


class NodeResourcesMostAllocated(Plugin[None, None]):
    name = "NodeResourcesMostAllocated"
    score_scope = Scope.ROW

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        cluster = nodes.cluster
        asked = cluster.remember((self, pod.shape.index), lambda: self._asked(pod, cluster))
        return most_allocated(asked.on(nodes), asked)

    def _asked(self, pod: PodInfo, cluster: Cluster) -> ScoredResources:
        resources = [(spec.name, spec.weight) for spec in self.handle.args.resources]
        requests = scored_requests(pod.shape.spec, missing=NON_ZERO)
        return ScoredResources.of(resources, requests, cluster, with_defaults=True)
