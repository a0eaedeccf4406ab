"""NodeName: ``spec.nodeName`` of the pod. Upstream: plugins/nodename/node_name.go."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from types import MappingProxyType

import numpy as np

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.framework.signature import NODE_NAME, Signature
from kwhatif.framework.status import Rejection


class NodeName(Plugin[None, None]):
    name = "NodeName"
    default = DefaultPlugin(40)
    depends_on_labels = False
    events_to_register = MappingProxyType({})
    filter_scope = Scope.NODE

    def cache_key(self, pod: PodInfo) -> Hashable:
        return pod.shape.spec.node_name

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return {NODE_NAME: pod.shape.spec.node_name}

    def filter(self, pod: PodInfo, nodes: NodeView, state: None) -> Iterator[Rejection]:
        wanted = pod.shape.spec.node_name
        if wanted:
            elsewhere = np.array([name != wanted for name in nodes.columns.names], np.bool_)
            yield Rejection(
                nodes.take_rows(elsewhere),
                "node(s) didn't match the requested node name",
                unresolvable=True,
                detail=lambda place: f"the pod names node {wanted}",
            )
