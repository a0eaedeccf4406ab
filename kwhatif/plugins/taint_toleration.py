"""TaintToleration: rejects nodes with untolerated taints, and prefers nodes without untolerated PreferNoSchedule
taints.

Upstream: plugins/tainttoleration/taint_toleration.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from types import MappingProxyType

import msgspec
import numpy as np

from kwhatif.api.core import Taint
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.arithmetic import default_normalize
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import Plugin, Scope, Suggestion
from kwhatif.framework.signature import Signature, sign_tolerations
from kwhatif.framework.status import Rejection
from kwhatif.plugins.shared.pod_changes import suggest_tolerations


class TaintToleration(Plugin[None, None]):
    name = "TaintToleration"
    default = DefaultPlugin(50, weight=3)
    depends_on_labels = False
    events_to_register = MappingProxyType({})
    filter_scope = Scope.NODE
    score_scope = Scope.NODE
    needs_pre_score = True

    def cache_key(self, pod: PodInfo) -> Hashable:
        return msgspec.msgpack.encode(pod.shape.spec.tolerations)

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_tolerations(pod.shape)

    def filter(self, pod: PodInfo, nodes: NodeView, state: None) -> Iterator[Rejection]:
        codes, lists = nodes.columns.find_untolerated_taints(
            pod.shape, ("NoSchedule", "NoExecute"), comparison_operators=self._operators
        )
        places = nodes.take_rows(codes)

        def detail(place: int) -> str:
            return " and ".join(f"taint {t.text} not tolerated" for t in lists[places[place]])

        reasons = [self._reason(taints) if taints else "" for taints in lists]
        for reason in dict.fromkeys(filter(None, reasons)):
            where = np.array([said == reason for said in reasons], np.bool_)[places]
            yield Rejection(where, reason, unresolvable=True, detail=detail)

    def _reason(self, taints: list[Taint]) -> str:
        if self.handle.features.taint_is_named_alone:
            return f"node(s) had taint {{{taints[0].key}: {taints[0].value or ''}}}, that the pod didn't tolerate"
        if self.handle.features.taint_is_named:
            return f"node(s) had untolerated taint {{{taints[0].key}: {taints[0].value or ''}}}"
        return "node(s) had untolerated taint(s)"

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: None) -> None:
        return None

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        codes, lists = nodes.columns.find_untolerated_taints(
            pod.shape, ("PreferNoSchedule",), comparison_operators=self._operators
        )
        counts: Int64Array = np.array([len(taints) for taints in lists], np.int64)[nodes.take_rows(codes)]
        return counts

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        return default_normalize(scores, reverse=True)

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        return suggest_tolerations(pod.pod, [cluster.columns.nodes[row] for row in rows])

    @property
    def _operators(self) -> bool:
        return self.handle.features.taint_toleration_comparison_operators
