"""NodeResourceLimits: a point for nodes whose allocatable covers the pod's limits, to break ties.

Upstream, until 1.19 and behind a feature gate: plugins/noderesources/resource_limits.go.
"""

from __future__ import annotations

import numpy as np

from kwhatif.api.core import Container
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import amounts
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.interface import Plugin, Scope

Limits = tuple[int, int]
"""Millicores and bytes, 0 for no limit."""


class NodeResourceLimits(Plugin[None, Limits]):
    name = "NodeResourceLimits"
    depends_on_labels = False
    score_scope = Scope.NODE
    needs_pre_score = True

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: None) -> Limits:
        running = [_limits(container) for container in pod.shape.spec.containers or ()]
        starting = [_limits(container) for container in pod.shape.spec.init_containers or ()]
        cpu, memory = (max(sum(of[k] for of in running), *(of[k] for of in starting), 0) for k in (0, 1))
        return cpu, memory

    def score(self, pod: PodInfo, nodes: NodeView, state: Limits) -> Int64Array:
        satisfied = np.zeros(nodes.size, np.bool_)
        for column, limit in enumerate(state):
            capacity = nodes.allocatable[:, column]
            satisfied |= (limit != 0) & (capacity != 0) & (limit <= capacity)
        return satisfied.astype(np.int64)


def _limits(container: Container) -> Limits:
    known = amounts((container.resources.limits if container.resources else None) or {})
    return known.get("cpu", 0), known.get("memory", 0)
