"""Disruption budgets, of which simulated removals use up what they take.

Upstream: cluster-autoscaler/core/scaledown/pdb/basic.go.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from kwhatif.api.others import PodDisruptionBudget
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.cluster.shapes import PodInfo, PodShape


class RemainingBudgets:
    """How many more pods each budget lets go."""

    def __init__(self, budgets: Sequence[PodDisruptionBudget]) -> None:
        self._budgets: list[tuple[str, Selector]] = []
        self._left: list[int] = []
        for budget in budgets:
            # One with a selector that no API server stores is about nobody.
            with contextlib.suppress(SelectorError):
                self._budgets.append((budget.namespace, Selector.of(budget.spec.selector)))
                self._left.append(budget.status.disruptions_allowed or 0)
        self._about: dict[int, list[int]] = {}

    def about(self, shape: PodShape) -> list[int]:
        """The numbers of the budgets that select pods of this shape."""
        found = self._about.get(shape.index)
        if found is None:
            found = self._about[shape.index] = [
                number
                for number, (namespace, selector) in enumerate(self._budgets)
                if namespace == shape.namespace and selector.matches(shape.labels)
            ]
        return found

    def allow(self, shape: PodShape) -> bool:
        """Whether all budgets of such a pod let one go."""
        return all(self._left[number] >= 1 for number in self.about(shape))

    def allow_at_once(self, pods: Sequence[PodInfo]) -> bool:
        """Whether they let all these pods go at the same time."""
        counts: dict[int, int] = {}
        for pod in pods:
            for number in self.about(pod.shape):
                counts[number] = counts.get(number, 0) + 1
        return all(count <= self._left[number] for number, count in counts.items())

    def take(self, pods: Sequence[PodInfo]) -> None:
        """These pods go."""
        for pod in pods:
            for number in self.about(pod.shape):
                self._left[number] -= 1
