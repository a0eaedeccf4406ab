"""How many nodes of a group some pods need: first-fit bin packing, the largest pods first.

Upstream: cluster-autoscaler/estimator (binpacking_estimator.go, decreasing_pod_orderer.go and the thresholds).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from kwhatif.api.core import PodAffinityTerm
from kwhatif.api.selectors import Selector
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.equivalence import PodGroup
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroup
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.autoscaling.cluster_autoscaler.simulated_cluster import SimulatedCluster
from kwhatif.cluster.pod_requests import amounts
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray
from kwhatif.plugins.pod_topology_spread import TOO_MANY
from kwhatif.plugins.shared.spread_constraints import HOSTNAME

_FIRST_ROWS = 16


def node_limit(flags: Flags, group: NodeGroup, similar: Sequence[NodeGroup], nodes: int) -> int:
    """The most nodes that one scale-up of a group may add to a cluster of so many nodes."""
    limit = group.room + sum(other.room for other in similar)
    if flags.max_nodes_per_scaleup:
        limit = min(limit, flags.max_nodes_per_scaleup)
    if flags.max_nodes_total:
        limit = min(limit, flags.max_nodes_total - nodes)
    return max(limit, 0)


class Estimator:
    """Packs pods on fresh nodes of one template, at most ``limit`` of them, beside the nodes that are there."""

    def __init__(self, simulated: SimulatedCluster, template: NodeTemplate, limit: int) -> None:
        self._template, self._limit = template, limit
        self._base = self._simulated = simulated
        self._made = 0
        self._asked = 0
        self._rows: list[int] = []
        self._used: set[str] = set()
        self._placed: list[PodInfo] = []

    def estimate(self, groups: Sequence[PodGroup], *, fast_path: bool = False) -> tuple[int, list[PodInfo]]:
        """How many nodes get pods, and the pods."""
        ordered = self._largest_first(groups)
        last = _best_for_fast_path(ordered, self._template) if fast_path else None
        if last is not None:
            ordered.append(ordered.pop(last))
        more = True
        for number, group in enumerate(ordered, 1):
            left = self._on_fresh_nodes(group.pods)
            if more:
                fast = last is not None and number == len(ordered)
                more = (self._multiplied if fast else self._on_more_nodes)(left)
        return len(self._used), self._placed

    def _largest_first(self, groups: Sequence[PodGroup]) -> list[PodGroup]:
        allocatable = amounts(self._template.node.status.allocatable or {})

        def share(group: PodGroup) -> float:
            asked = group.example.shape.score_requests
            some = ((asked.get(name, 0), allocatable.get(name, 0)) for name in ("cpu", "memory"))
            return sum(amount / whole for amount, whole in some if whole > 0)

        return sorted(groups, key=share, reverse=True)

    # --- pods on nodes

    def _on_fresh_nodes(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """Place pods on the nodes made so far, until one does not fit; what is left of them."""
        for done, pod in enumerate(pods):
            row = self._simulated.search(pod, self._fresh())
            if row is None:
                return list(pods[done:])
            self._put(pod, row)
        return []

    def _on_more_nodes(self, pods: Sequence[PodInfo]) -> bool:
        """Place pods on the last node made, else on another one; False when no more nodes may be made."""
        for pod in pods:
            row = self._rows[-1] if self._rows else None
            if row is not None:
                refusal = self._simulated.refusal(pod, row)
                if refusal is None:
                    self._put(pod, row)
                    continue
                if TOO_MANY in refusal.reasons and _spreads_over_hosts(pod):
                    everywhere = np.ones(len(self._simulated.cluster), np.bool_)
                    everywhere[row] = False
                    other = self._simulated.search(pod, everywhere)
                    if other is not None:
                        self._put(pod, other)
                        continue
                if self._simulated.name(row) not in self._used:
                    # It would not fit on another empty node either.
                    return True
            if not self._may_make():
                return False
            row = self._make()
            if self._simulated.refusal(pod, row) is not None:
                return True
            self._put(pod, row)
        return True

    def _multiplied(self, pods: Sequence[PodInfo]) -> bool:
        """Fill one node with pods that are alike, and take it that the others hold as many."""
        if not pods:
            return True
        if not self._may_make():
            return False
        row = self._make()
        fitting = 0
        for pod in pods:
            if self._simulated.refusal(pod, row) is not None:
                break
            self._put(pod, row)
            fitting += 1
        if not fitting:
            return True
        for start in range(fitting, len(pods), fitting):
            if not self._may_make():
                return False
            self._used.add(f"{self._simulated.name(row)}-fake-{start}")
            self._placed += pods[start : start + fitting]
        return True

    def _put(self, pod: PodInfo, row: int) -> None:
        self._simulated.place(pod, row)
        self._used.add(self._simulated.name(row))
        self._placed.append(pod)

    # --- fresh nodes

    def _fresh(self) -> BoolArray:
        fresh = np.zeros(len(self._simulated.cluster), np.bool_)
        fresh[self._rows] = True
        return fresh

    def _may_make(self) -> bool:
        if self._asked >= self._limit:
            return False
        self._asked += 1
        return True

    def _make(self) -> int:
        name = f"{self._template.node.name}-e-{self._made}"
        row = self._simulated.cluster.columns.row(name)
        if row is None:
            count = max(_FIRST_ROWS, self._made)
            names = [f"{self._template.node.name}-e-{self._made + n}" for n in range(count)]
            self._simulated = self._simulated.with_room_for(self._template, names)
            row = self._simulated.cluster.columns.row(name)
            assert row is not None
        self._made += 1
        self._simulated.join(row, self._template.fresh(name)[1])
        self._rows.append(row)
        return row


def _spreads_over_hosts(pod: PodInfo) -> bool:
    constraints = pod.shape.spec.topology_spread_constraints or ()
    return any(constraint.topology_key == HOSTNAME for constraint in constraints)


def _best_for_fast_path(groups: Sequence[PodGroup], template: NodeTemplate) -> int | None:
    """The group that gains most when one of its nodes is packed and multiplied; None if that is right for none."""
    best, most = None, 0
    for place, group in enumerate(groups):
        nodes = max(_nodes_needed(group, template))
        saved = len(group.pods) - len(group.pods) // nodes if nodes else 0
        if saved >= most and _is_multipliable(group.example):
            best, most = place, saved
    return best


def _nodes_needed(group: PodGroup, template: NodeTemplate) -> Iterator[int]:
    """At least so many nodes, as far as the first container and hosts to be alone on tell."""
    spec, count = group.example.shape.spec, len(group.pods)
    yield 0
    for term in _anti_affinity(group.example):
        if term.topology_key == HOSTNAME and _selects(term, group.example):
            yield count
    requests = spec.containers[0].resources.requests if spec.containers and spec.containers[0].resources else None
    capacity = template.node.status.capacity or {}
    for name in ("cpu", "memory"):
        if requests is not None and name in requests and name in capacity:
            yield math.ceil(count * float(requests[name]) / float(capacity[name]))


def _is_multipliable(pod: PodInfo) -> bool:
    spread = pod.shape.spec.topology_spread_constraints
    return spread is None and all(term.topology_key == HOSTNAME for term in _anti_affinity(pod))


def _anti_affinity(pod: PodInfo) -> Sequence[PodAffinityTerm]:
    affinity = pod.shape.spec.affinity
    terms = affinity.pod_anti_affinity if affinity else None
    return (terms.required_during_scheduling_ignored_during_execution or ()) if terms else ()


def _selects(term: PodAffinityTerm, pod: PodInfo) -> bool:
    return term.label_selector is not None and Selector.of(term.label_selector).matches(pod.shape.labels)
