"""NodeLabel: nodes must have some labels and must not have others, whatever their values; or better so.

Upstream, until 1.22: plugins/nodelabel/node_label.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import numpy as np

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.interface import MAX_SCORE, Plugin, Scope
from kwhatif.framework.status import Rejection


class NodeLabel(Plugin[None, None]):
    name = "NodeLabel"
    reads_labels = False
    filter_scope = Scope.NODE
    score_scope = Scope.NODE
    requeue_on = MappingProxyType({})

    def filter(self, pod: PodInfo, nodes: NodeView, state: None) -> Iterator[Rejection]:
        args = self.handle.args
        present = {key: nodes.columns.label(key).present for key in args.present_labels}
        absent = {key: ~nodes.columns.label(key).present for key in args.absent_labels}
        wrong = np.zeros(len(nodes.columns), np.bool_)
        for right in (*present.values(), *absent.values()):
            wrong |= ~right

        def detail(place: int) -> str:
            row = nodes.row(place)
            lacks = [f"node has no label {key}" for key, right in present.items() if not right[row]]
            return "; ".join([*lacks, *(f"node has label {key}" for key, right in absent.items() if not right[row])])

        yield Rejection(nodes.of(wrong), "node(s) didn't have the requested labels", unresolvable=True, detail=detail)

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        args = self.handle.args
        total = np.zeros(len(nodes.columns), np.int64)
        for key in args.present_labels_preference:
            total += MAX_SCORE * nodes.columns.label(key).present
        for key in args.absent_labels_preference:
            total += MAX_SCORE * ~nodes.columns.label(key).present
        wishes = len(args.present_labels_preference) + len(args.absent_labels_preference)
        scores: Int64Array = nodes.of(total // max(wishes, 1))
        return scores
