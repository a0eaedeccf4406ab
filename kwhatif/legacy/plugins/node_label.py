"""NodeLabel: requires or prefers the presence or absence of labels, whatever their values.

Upstream, until 1.22: plugins/nodelabel/node_label.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import MAX_SCORE, Plugin, Scope
from kwhatif.framework.status import Rejection
from kwhatif.golang.config_struct import LabelKey
from kwhatif.golang.field_validation import Path
from kwhatif.versions import Features


class NodeLabelArgs(Args):
    """Labels that nodes must have or not have, and those that they should rather have or not have."""

    present_labels: tuple[LabelKey, ...] = ()
    absent_labels: tuple[LabelKey, ...] = ()
    present_labels_preference: tuple[LabelKey, ...] = ()
    absent_labels_preference: tuple[LabelKey, ...] = ()


class NodeLabel(Plugin[None, None]):
    name = "NodeLabel"
    args = NodeLabelArgs
    depends_on_labels = False
    filter_scope = Scope.NODE
    score_scope = Scope.NODE
    events_to_register = MappingProxyType({})

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        yield from _conflicts(path, "presentLabels", args.present_labels, "absentLabels", args.absent_labels)
        wishes = args.present_labels_preference, args.absent_labels_preference
        yield from _conflicts(path, "presentLabelsPreference", wishes[0], "absentLabelsPreference", wishes[1])

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

        yield Rejection(
            nodes.take_rows(wrong), "node(s) didn't have the requested labels", unresolvable=True, detail=detail
        )

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        args = self.handle.args
        total = np.zeros(len(nodes.columns), np.int64)
        for key in args.present_labels_preference:
            total += MAX_SCORE * nodes.columns.label(key).present
        for key in args.absent_labels_preference:
            total += MAX_SCORE * ~nodes.columns.label(key).present
        wishes = len(args.present_labels_preference) + len(args.absent_labels_preference)
        scores: Int64Array = nodes.take_rows(total // max(wishes, 1))
        return scores


def _conflicts(path: Path, name: str, present: Sequence[str], other: str, absent: Sequence[str]) -> Iterator[str]:
    """Labels that nodes are to have and not to have."""
    for index, label in enumerate(absent):
        if label in present:
            where = len(present) - 1 - present[::-1].index(label)
            yield path.child(name).index(where).invalid(label, f"conflict with {path.child(other).index(index).text}")
