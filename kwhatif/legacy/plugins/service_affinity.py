"""ServiceAffinity: the pods of a service share label values of their nodes, or are spread over them.

Upstream, until 1.22: plugins/serviceaffinity/service_affinity.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
import numpy as np

from kwhatif.api.selectors import Selector
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo, PodShape, Selection
from kwhatif.cluster.tally import Tally, TallySpec, Weighing
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import MAX_SCORE, ClusterEvent, Dependency, Plugin, QueueingHint, always
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.golang.config_struct import LabelKey

NO_MATCH = "node(s) didn't match service affinity"


class ServicePods(msgspec.Struct, frozen=True):
    """The pods that carry all of the pod's labels, counted by node; whether it has a service; labels it asks for."""

    alike: Tally
    served: bool
    asked: Mapping[str, str]


class ServiceAffinityArgs(Args):
    """Labels whose values the nodes of a service's pods share, and those whose values they are spread over."""

    affinity_labels: tuple[LabelKey, ...] = ()
    anti_affinity_labels_preference: tuple[LabelKey, ...] = ()


class ServiceAffinity(Plugin[ServicePods, None]):
    name = "ServiceAffinity"
    args = ServiceAffinityArgs
    needs_pre_filter = True
    dependencies = MappingProxyType({"Service": Dependency("pods of a service are kept together with it")})

    @property
    def queueing_hints(self) -> Mapping[ClusterEvent, QueueingHint]:
        return {ClusterEvent.POD_DELETED: always} if self.handle.args.affinity_labels else {}

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> ServicePods | Skip:
        if not self.handle.args.affinity_labels:
            return SKIP
        return _companions(cluster, pod.shape, self.handle.args.affinity_labels)

    def filter(self, pod: PodInfo, nodes: NodeView, state: ServicePods) -> Iterator[Rejection]:
        wanted: list[Mapping[str, str]]
        labels: Sequence[str] = self.handle.args.affinity_labels
        if len(labels) <= len(state.asked) or not state.served:
            wanted = [state.asked]
            which = np.zeros(nodes.size, np.intp)
        else:
            leaders = _leaders(pod, nodes, state.alike)
            rows, which = np.unique(leaders, return_inverse=True)
            wanted = [self._fill_labels(state.asked, int(row), nodes.columns) for row in rows]
        right = np.ones(nodes.size, np.bool_)
        for number, selector in enumerate(wanted):
            mine = which == number
            right[mine] = nodes.take_rows(_matching(selector, nodes.columns))[mine]

        def detail(place: int) -> str:
            selector = wanted[which[place]]
            return f"the service's pods are on nodes with {', '.join(f'{k}={v}' for k, v in sorted(selector.items()))}"

        yield Rejection(~right, NO_MATCH, detail=detail)

    def _fill_labels(self, requests: Mapping[str, str], row: int, columns: NodeColumns) -> Mapping[str, str]:
        """What the pod asks for, and otherwise what the node of the first pod alike has."""
        if row < 0:
            return requests
        there = columns.nodes[row].metadata.labels or {}
        return {**{label: there[label] for label in self.handle.args.affinity_labels if label in there}, **requests}

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        return nodes.counts(_service_tally_of(nodes.cluster, pod.shape))

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        labels: Sequence[str] = self.handle.args.anti_affinity_labels_preference
        total, result = int(scores.sum()), np.zeros(len(scores))
        for label in labels:
            column, codes = nodes.columns.label(label), nodes.label(label)
            there = codes >= 0
            by_value = np.bincount(codes[there], weights=scores[there], minlength=len(column.values)).astype(np.int64)
            share = np.full(len(scores), float(MAX_SCORE))
            if total > 0 and len(by_value):
                share = float(MAX_SCORE) * ((total - by_value[codes]) / float(total))
            result = result + np.where(there, share / float(len(labels)), 0.0)
        return result.astype(np.int64)


@cached_per_cluster
def _companions(cluster: Cluster, shape: PodShape, labels: tuple[str, ...]) -> ServicePods:
    selected = Selection(Selector.from_labels(shape.labels), frozenset((shape.namespace,)))
    alike = TallySpec(("alike", selected), Weighing(((selected, 1),)))
    chosen = shape.spec.node_selector or {}
    chosen_labels = {label: chosen[label] for label in labels if label in chosen}
    return ServicePods(cluster.tally(alike), bool(cluster.owners.services(shape)), chosen_labels)


@cached_per_cluster
def _service_tally_of(cluster: Cluster, shape: PodShape) -> Tally:
    """A live count, node by node, of the pods of the pod's first service."""
    first = next(iter(cluster.owners.services(shape)), None)
    selector = Selector.from_labels((first.spec.selector if first else None) or {})
    selected = Selection(selector, frozenset((shape.namespace,)), staying=True)
    return cluster.tally(TallySpec(("served", selected), Weighing(() if selector.empty else ((selected, 1),))))


def _leaders(pod: PodInfo, nodes: NodeView, tally: Tally) -> Int64Array:
    """int64[n]: for each node of the view, the row of the first pod alike; -1 for none.

    Pods of the view's hypothetical change come last, so a node whose own pods are in question leads only by those that
    stay, or when there is no other pod.
    """
    everywhere = np.flatnonzero(tally.by_node > 0)
    if nodes.is_unchanged:
        return np.full(nodes.size, everywhere[0] if len(everywhere) else -1, np.int64)
    here = nodes.counts(tally)
    leaders = np.full(nodes.size, -1, np.int64)
    for place in range(nodes.size):
        row = nodes.row(place)
        stay = any(
            info.priority >= pod.priority and tally.weights[info.shape.index] for info in nodes.cluster.pods_on[row]
        )
        others = everywhere[everywhere != row]
        candidates = [*others[:1].tolist(), *([row] if stay else [])]
        if candidates:
            leaders[place] = min(candidates)
        elif here[place] > 0:
            leaders[place] = row
    return leaders


def _matching(labels: Mapping[str, str], columns: NodeColumns) -> BoolArray:
    """bool[N]: nodes that have all these labels."""
    right = np.ones(len(columns), np.bool_)
    for key, value in labels.items():
        column = columns.label(key)
        right &= column.codes == (column.values.index(value) if value in column.values else -2)
    return right
