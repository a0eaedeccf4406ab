"""Evictions and their limits: in total, by node and by namespace, over all profiles and plugins of a cycle.

A dry run does not check budgets; otherwise the API server may refuse an eviction, which counts towards no limit.
Upstream: pkg/descheduler/evictions/evictions.go (EvictPod).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum

import msgspec

from kwhatif.api.core import Pod
from kwhatif.descheduling.framework.assigned_pods import AssignedPods


class EvictionOutcome(Enum):
    """The outcome of an attempt to evict. ``FAILED``: the pod had gone already, or the API server refused."""

    EVICTED = "evicted"
    FAILED = "failed"
    TOTAL = "total"
    NODE = "node"
    NAMESPACE = "namespace"


class Limits(msgspec.Struct, frozen=True):
    """The most evictions in a cycle; None is no limit."""

    total: int | None = None
    node: int | None = None
    namespace: int | None = None


class Eviction(msgspec.Struct, frozen=True):
    """An attempt: who made it and why, in numbers. ``limit`` is what stopped it, ``refusal`` the API server's words."""

    pod: Pod
    node: str
    profile: str
    plugin: str
    reason: str
    limit: str = ""
    refusal: str = ""


Review = Callable[[Pod], str]
"""Why the API server refuses to evict a pod; nothing if the pod goes."""


class PodEvictor:
    """Counts evictions. ``evictions``, ``refused`` by limits and ``failed`` are in the order of the attempts."""

    def __init__(self, pods: AssignedPods, limits: Limits, review: Review | None = None) -> None:
        self._pods, self._limits, self._review = pods, limits, review
        self.failed: list[Eviction] = []
        self.evictions: list[Eviction] = []
        self.refused: list[Eviction] = []
        self.by_node: Counter[str] = Counter()
        self.by_namespace: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return len(self.evictions)

    def evict(self, pod: Pod, profile: str, plugin: str, reason: str) -> EvictionOutcome:
        """Evict a pod unless a limit is reached: the total is looked at first, then the node, then the namespace."""
        node = pod.spec.node_name or ""
        reached = self._find_reached_limit(node, pod.namespace)
        if reached is not None:
            self.refused.append(Eviction(pod, node, profile, plugin, reason, reached.value))
            return reached
        if pod not in self._pods:
            return EvictionOutcome.FAILED
        refusal = self._review(pod) if self._review is not None else ""
        if refusal:
            self.failed.append(Eviction(pod, node, profile, plugin, reason, refusal=refusal))
            return EvictionOutcome.FAILED
        self._pods.remove(pod)
        self.evictions.append(Eviction(pod, node, profile, plugin, reason))
        self.by_node[node] += 1
        self.by_namespace[pod.namespace] += 1
        return EvictionOutcome.EVICTED

    def _find_reached_limit(self, node: str, namespace: str) -> EvictionOutcome | None:
        counts = (
            (EvictionOutcome.TOTAL, self._limits.total, self.total),
            (EvictionOutcome.NODE, self._limits.node, self.by_node[node]),
            (EvictionOutcome.NAMESPACE, self._limits.namespace, self.by_namespace[namespace]),
        )
        return next((what for what, limit, count in counts if limit is not None and count + 1 > limit), None)
