"""NodeResourcesLeastAllocated: the emptier a node, the better.

Upstream, until 1.22: plugins/noderesources/least_allocated.go; since then a strategy of NodeResourcesFit.
"""

from __future__ import annotations

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.plugins.shared.resource_rates import least_allocated, scored_of_old


class NodeResourcesLeastAllocated(Plugin[None, None]):
    name = "NodeResourcesLeastAllocated"
    score_scope = Scope.ROW

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        asked = scored_of_old(self, pod, nodes)
        return least_allocated(asked.on(nodes), asked)
