"""NodeUnschedulable: rejects cordoned nodes. Upstream: plugins/nodeunschedulable/node_unschedulable.go."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from types import MappingProxyType

import msgspec

from kwhatif.api.core import Taint
from kwhatif.api.selectors import find_untolerated_taints
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.framework.signature import Signature, sign_tolerations
from kwhatif.framework.status import Rejection

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(Plugin[None, None]):
    name = "NodeUnschedulable"
    default = DefaultPlugin(30)
    depends_on_labels = False
    events_to_register = MappingProxyType({})
    filter_scope = Scope.NODE

    def cache_key(self, pod: PodInfo) -> Hashable:
        return msgspec.msgpack.encode(pod.shape.spec.tolerations)

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_tolerations(pod.shape)

    def filter(self, pod: PodInfo, nodes: NodeView, state: None) -> Iterator[Rejection]:
        blocked = find_untolerated_taints(
            (CORDON,),
            pod.shape.spec.tolerations or [],
            (CORDON.effect,),
            comparison_operators=self.handle.features.taint_toleration_comparison_operators,
        )
        if blocked:
            yield Rejection(
                nodes.take_rows(nodes.columns.unschedulable),
                "node(s) were unschedulable",
                unresolvable=True,
                detail=lambda place: "the node is cordoned (spec.unschedulable)",
            )
