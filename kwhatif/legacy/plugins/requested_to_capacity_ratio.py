"""RequestedToCapacityRatio: a given curve says how full a node should be.

Upstream, until 1.22: plugins/noderesources/requested_to_capacity_ratio.go; since then a strategy of NodeResourcesFit.
"""

from __future__ import annotations

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.interface import Handle, Plugin, Scope
from kwhatif.plugins.shared.resource_rates import requested_to_capacity_ratio, scored_of_old


class RequestedToCapacityRatio(Plugin[None, None]):
    name = "RequestedToCapacityRatio"
    score_scope = Scope.ROW

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._rate = requested_to_capacity_ratio(tuple((p.utilization, p.score) for p in handle.args.shape))

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        asked = scored_of_old(self, pod, nodes)
        return self._rate(asked.on(nodes), asked)
