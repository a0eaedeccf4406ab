"""PodState: prefer nodes that pods are leaving, and for which no pod is nominated.

Upstream: pkg/podstate/pod_state.go of scheduler-plugins.
"""

from __future__ import annotations

import numpy as np

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.arithmetic import stretch_scores
from kwhatif.framework.interface import Plugin


class PodState(Plugin[None, None]):
    name = "PodState"
    depends_on_labels = False

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        """Pods on their way out, less the pods nominated to the node; the pod's own nomination counts."""
        cluster = nodes.cluster
        rows = range(nodes.size) if nodes.rows is None else nodes.rows.tolist()
        leaving = [sum(other.shape.terminating for other in cluster.pods_on[row]) for row in rows]
        nominated = [len(cluster.nominated.get(cluster.columns.names[row], ())) for row in rows]
        return np.array(leaving, np.int64) - np.array(nominated, np.int64)

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        return stretch_scores(scores)
