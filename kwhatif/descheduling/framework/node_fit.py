"""NodeFit: whether a pod fits on another node, by fewer checks than the scheduler's.

In this order: cordoned or not, node selector and required affinity, taints, the pod's own anti-affinity to pods of that
very node, requests. Upstream: pkg/descheduler/node/node.go (NodeFit).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from kwhatif.api.core import Node, Pod, PodAffinityTerm
from kwhatif.api.selectors import RequiredNodeAffinity, Selector, SelectorError, find_untolerated_taints, tolerates
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.descheduling.framework.assigned_pods import AssignedPods, is_running, milli_value, unit_value

NO_SCHEDULE = ("NoSchedule", "NoExecute")
_BASIC = ("cpu", "memory", "pods")


def tolerates_all(pod: Pod, node: Node, effects: tuple[str, ...] = NO_SCHEDULE) -> bool:
    """Whether the pod tolerates the node's taints of these effects."""
    taints = node.spec.taints
    return not taints or not find_untolerated_taints(
        taints, pod.spec.tolerations or (), effects, comparison_operators=True
    )


def tolerates_some_node(pod: Pod, nodes: Iterable[Node]) -> bool:
    """Whether the pod has as many tolerations as some node has taints, and tolerates all of these, soft ones too.

    Upstream: pkg/utils/pod.go (PodToleratesTaints).
    """
    tolerations = pod.spec.tolerations or ()
    return any(
        len(tolerations) >= len(node.spec.taints or ())
        and all(
            any(tolerates(toleration, taint, comparison_operators=True) for toleration in tolerations)
            for taint in node.spec.taints or ()
        )
        for node in nodes
    )


def required_affinity_matches(affinity: RequiredNodeAffinity, node: Node, *, if_unreadable: bool = False) -> bool:
    """Whether node selector and required affinity match; a term that cannot be read makes it ``if_unreadable``."""
    labels = node.metadata.labels or {}
    if affinity.matches(labels, node.name):
        return True
    if not if_unreadable or not all(label.matches(labels.get(label.key)) for label in affinity.labels):
        return False
    return any(term.broken for term in affinity.terms or ())


def anti_affinity_terms(pod: Pod) -> Sequence[PodAffinityTerm]:
    """The required terms of a pod's own anti-affinity."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    return affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution or ()


def namespaces_of(term: PodAffinityTerm, pod: Pod) -> frozenset[str]:
    """The namespaces that a term names, or the pod's own."""
    return frozenset(term.namespaces or (pod.namespace,))


class NodeFit:
    """Evaluated for all nodes of a cluster at once; arrays are over ``pods.all_nodes``.

    What depends on the Node objects alone is computed once for all pods with the same selector, affinity and
    tolerations. Free amounts follow the evictions.
    """

    def __init__(self, pods: AssignedPods) -> None:
        self._pods = pods
        self._row = {node.name: row for row, node in enumerate(pods.all_nodes)}
        self._suitable: dict[bytes, BoolArray] = {}
        self._free: dict[str, Int64Array] = {}
        self._requested = [pods.requests_on(node.name) for node in pods.all_nodes]
        self._running = [len(pods.running(node.name)) for node in pods.all_nodes]
        self._matching: dict[tuple[frozenset[str], Selector], _Matching] = {}
        self._names: Counter[str] = Counter()
        self._encoder = msgspec.msgpack.Encoder()
        pods.on_removal(self._hear)

    def rows(self, nodes: Iterable[Node]) -> BoolArray:
        """``bool[N]``: which nodes these are."""
        mask = np.zeros(len(self._row), np.bool_)
        for node in nodes:
            mask[self._row[node.name]] = True
        return mask

    def fits_any(self, pod: Pod, among: BoolArray) -> bool:
        """Whether the pod fits on one of these nodes, its own included (upstream: PodFitsAnyNode)."""
        return bool((among & self.fitting(pod)).any())

    def fits_any_other(self, pod: Pod, among: BoolArray) -> bool:
        """Whether the pod fits on one of these nodes besides its own (upstream: PodFitsAnyOtherNode)."""
        fits = among & self.fitting(pod)
        own = self._row.get(pod.spec.node_name or "")
        if own is not None:
            fits[own] = False
        return bool(fits.any())

    def fitting(self, pod: Pod) -> BoolArray:
        """``bool[N]``: the nodes that the pod fits on. On its own, resources are not looked at."""
        fits = self._suiting(pod) & self._has_room(pod)
        for term in anti_affinity_terms(pod):
            fits = fits & ~self._find_excluded(pod, term)
        return fits

    def _suiting(self, pod: Pod) -> BoolArray:
        """What depends on the Node objects alone."""
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        key = self._encoder.encode((pod.spec.node_selector, required, pod.spec.tolerations))
        suiting = self._suitable.get(key)
        if suiting is None:
            wanted = RequiredNodeAffinity.from_pod_spec(pod.spec)
            suiting = self._suitable[key] = np.array(
                [
                    not node.spec.unschedulable and tolerates_all(pod, node) and required_affinity_matches(wanted, node)
                    for node in self._pods.all_nodes
                ],
                np.bool_,
            )
        return suiting

    def _has_room(self, pod: Pod) -> BoolArray:
        free = self._free_of("pods")
        room = (free > 0).copy()
        for name, amount in self._pods.requests(pod).items():
            room &= self._free_of(name) >= milli_value(amount)
        own = self._row.get(pod.spec.node_name or "")
        if own is not None:
            room[own] = True
        return room

    def _free_of(self, resource: str) -> Int64Array:
        """``int64[N]``: thousandths of a resource that requests leave."""
        free = self._free.get(resource)
        if free is None:
            rows = range(len(self._row))
            free = self._free[resource] = np.array([self._free_at(row, resource) for row in rows], np.int64)
        return free

    def _free_at(self, row: int, resource: str) -> int:
        allocatable = (self._pods.all_nodes[row].status.allocatable or {}).get(resource)
        if allocatable is None and resource not in _BASIC:
            # Requests of a resource that the node does not have are not subtracted.
            return 0
        has = 0 if allocatable is None else allocatable.nano()
        if resource == "pods":
            return (unit_value(has) - self._running[row]) * 1000
        used = self._requested[row].get(resource, 0)
        return (
            milli_value(has) - milli_value(used) if resource == "cpu" else (unit_value(has) - unit_value(used)) * 1000
        )

    def _find_excluded(self, pod: Pod, term: PodAffinityTerm) -> BoolArray:
        """``bool[N]``: nodes with the term's topology key on which a pod runs that the term selects."""
        try:
            selector = Selector.from_label_selector(term.label_selector)
        except SelectorError:
            return np.ones(len(self._row), np.bool_)
        look = namespaces_of(term, pod), selector
        matching = self._matching.get(look)
        if matching is None:
            matching = self._matching[look] = _Matching(self._pods, self._row, *look)
        has_key = np.array([term.topology_key in (node.metadata.labels or {}) for node in self._pods.all_nodes])
        return has_key & (matching.counts - matching.count_named(pod.name) > 0)

    def _hear(self, pod: Pod) -> None:
        row = self._row.get(pod.spec.node_name or "")
        if row is None or not is_running(pod):
            return
        self._running[row] -= 1
        requested = self._requested[row]
        for name, amount in self._pods.requests(pod).items():
            requested[name] -= amount
        for resource, free in self._free.items():
            free[row] = self._free_at(row, resource)
        for matching in self._matching.values():
            matching.forget(pod, row)


class _Matching:
    """How many running pods of each node a term selects, and under which names, since namesakes do not count."""

    def __init__(
        self, pods: AssignedPods, rows: dict[str, int], namespaces: frozenset[str], selector: Selector
    ) -> None:
        self._namespaces, self._selector = namespaces, selector
        self.counts = np.zeros(len(rows), np.int64)
        self._named: dict[str, Int64Array] = {}
        self._rows: dict[str, list[int]] = {}
        for pod in pods:
            row = rows.get(pod.spec.node_name or "")
            if row is not None and is_running(pod) and self._selects(pod):
                self.counts[row] += 1
                self._rows.setdefault(pod.name, []).append(row)

    def _selects(self, pod: Pod) -> bool:
        return pod.namespace in self._namespaces and self._selector.matches(pod.metadata.labels or {})

    def count_named(self, name: str) -> Int64Array:
        """``int64[N]``: those with this name."""
        counts = np.zeros(len(self.counts), np.int64)
        for row in self._rows.get(name, ()):
            counts[row] += 1
        return counts

    def forget(self, pod: Pod, row: int) -> None:
        if self._selects(pod):
            self.counts[row] -= 1
            self._rows[pod.name].remove(row)
