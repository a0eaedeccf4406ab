"""NodePreferAvoidPods: a node's annotation asks to avoid it for pods of some controllers.

Upstream, until 1.22: plugins/nodepreferavoidpods/node_prefer_avoid_pods.go.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from kwhatif.api.core import Node
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.interface import MAX_SCORE, Plugin, Scope

ANNOTATION = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_CONTROLLERS = ("ReplicationController", "ReplicaSet")


class NodePreferAvoidPods(Plugin[None, None]):
    name = "NodePreferAvoidPods"
    depends_on_labels = False
    score_scope = Scope.NODE

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        scores = np.full(nodes.size, MAX_SCORE, np.int64)
        controller = pod.shape.controller
        if controller is None or controller.kind not in _CONTROLLERS:
            return scores
        wanted = (controller.kind, controller.uid or "")
        for place in range(nodes.size):
            if wanted in avoided_controllers_of(nodes.columns.nodes[nodes.row(place)]):
                scores[place] = 0
        return scores


def avoided_controllers_of(node: Node) -> set[tuple[str, str]]:
    """(kind, uid) of the controllers whose pods should avoid the node; none if its annotation is no JSON."""
    text = (node.metadata.annotations or {}).get(ANNOTATION, "")
    try:
        document = json.loads(text) if text else {}
    except ValueError:
        return set()
    entries = _get_key(document, "preferAvoidPods")
    avoided_controllers = set()
    for entry in entries if isinstance(entries, list) else ():
        controller = _get_key(_get_key(entry, "podSignature"), "podController")
        kind, uid = _get_key(controller, "kind"), _get_key(controller, "uid")
        if isinstance(controller, dict):
            avoided_controllers.add((kind if isinstance(kind, str) else "", uid if isinstance(uid, str) else ""))
    return avoided_controllers


def _get_key(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
