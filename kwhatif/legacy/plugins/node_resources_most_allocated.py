"""NodeResourcesMostAllocated: the fuller a node, the better.

Upstream, until 1.22: plugins/noderesources/most_allocated.go; since then a strategy of NodeResourcesFit.
"""

from __future__ import annotations

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.plugins.shared.resource_rates import most_allocated, scored_of_old


class NodeResourcesMostAllocated(Plugin[None, None]):
    name = "NodeResourcesMostAllocated"
    score_scope = Scope.ROW

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        asked = scored_of_old(self, pod, nodes)
        return most_allocated(asked.on(nodes), asked)
