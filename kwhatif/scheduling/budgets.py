"""Pod disruption budgets, as preemption sees them: how many more evictions each allows.

Upstream: plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.api.others import PodDisruptionBudget
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.labels import SelectorIndex
from kwhatif.cluster.shapes import PodInfo, PodShape


class Budgets:
    """The budgets of a cluster with their selectors compiled. Falsy when there are none."""

    def __init__(self, cluster: Cluster) -> None:
        self._budgets: list[PodDisruptionBudget] = []
        self._index: SelectorIndex[int] = SelectorIndex()
        for budget in cluster.objects.of(PodDisruptionBudget):
            try:
                selector = Selector.of(budget.spec.selector)
            except SelectorError:
                continue
            if not selector.empty:
                self._index.add(selector, (budget.namespace,), len(self._budgets))
                self._budgets.append(budget)
        self._about: dict[int, list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def about(self, shape: PodShape) -> list[int]:
        """Which budgets select pods of this shape."""
        found = self._about.get(shape.index)
        if found is None:
            selecting = self._index.selecting(shape.namespace, shape.labels) if shape.labels else []
            found = self._about[shape.index] = sorted(selecting)
        return found

    def touched(self, pod: PodInfo) -> list[PodDisruptionBudget]:
        """The budgets that an eviction of the pod counts against."""
        return [
            self._budgets[k]
            for k in self.about(pod.shape)
            if pod.pod.name not in (self._budgets[k].status.disrupted_pods or {})
        ]

    def broken_by(self, pods: Sequence[PodInfo]) -> list[bool]:
        """For pods evicted in this order: whether each eviction is one more than some budget allows."""
        allowed: dict[int, int] = {}
        broken = []
        for pod in pods:
            breaks = False
            for k in self.about(pod.shape):
                status = self._budgets[k].status
                if pod.pod.name in (status.disrupted_pods or {}):
                    continue
                allowed[k] = allowed.get(k, status.disruptions_allowed or 0) - 1
                breaks |= allowed[k] < 0
            broken.append(breaks)
        return broken
