"""Which disruption budgets select a pod, for all who ask: preemption, the eviction API, the disruption controller, the
autoscalers, the descheduler, and failures of nodes.

All of them use metav1.LabelSelectorAsSelector: no selector selects nothing, an empty one every pod of the namespace.
What they do with a pod's budgets differs, and is in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.labels import SelectorIndex

T = TypeVar("T")


class SelectedBudgets(Generic[T]):
    """Budgets with their selectors compiled. ``values`` are what is kept of each, in their order.

    One with a selector that no API server stores selects no pod, and is left out: it is ``unreadable``. With
    ``ignores_empty`` one that would select every pod of its namespace is left out, too.
    """

    def __init__(
        self,
        budgets: Iterable[PodDisruptionBudget],
        value_of: Callable[[PodDisruptionBudget], T],
        *,
        ignores_empty: bool = False,
    ) -> None:
        self.values: list[T] = []
        self.unreadable: list[tuple[PodDisruptionBudget, SelectorError]] = []
        self._index: SelectorIndex[int] = SelectorIndex()
        self._found: dict[tuple[str, frozenset[tuple[str, str]]], list[T]] = {}
        for budget in budgets:
            try:
                selector = Selector.from_label_selector(budget.spec.selector)
            except SelectorError as error:
                self.unreadable.append((budget, error))
                continue
            if not (ignores_empty and selector.empty):
                self._index.add(selector, (budget.namespace,), len(self.values))
                self.values.append(value_of(budget))

    def of(self, namespace: str, labels: Mapping[str, str]) -> list[T]:
        """Those that select a pod of this namespace with these labels, in their order."""
        if not self.values:
            return []
        alike = namespace, frozenset(labels.items())
        budgets = self._found.get(alike)
        if budgets is None:
            places = sorted(self._index.selecting(namespace, labels))
            budgets = self._found[alike] = [self.values[place] for place in places]
        return budgets
