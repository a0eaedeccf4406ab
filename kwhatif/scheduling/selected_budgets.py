"""Which disruption budgets select a pod, for the eviction API, the autoscalers and the descheduler.

All of them use metav1.LabelSelectorAsSelector: no selector selects nothing, an empty one every pod of the namespace.
What they do with a pod's budgets differs, and is in each of them. Preemption ignores empty selectors
(``scheduling/preemption_candidates.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.api.workloads_and_storage import PodDisruptionBudget

T = TypeVar("T")


class SelectedBudgets(Generic[T]):
    """Budgets with their selectors compiled. ``values`` are what is kept of each, in their order.

    One with a selector that no API server stores selects no pod, and is left out.
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget], value_of: Callable[[PodDisruptionBudget], T]) -> None:
        self.values: list[T] = []
        self._selecting: dict[str, list[tuple[Selector, T]]] = {}
        self._found: dict[tuple[str, frozenset[tuple[str, str]]], list[T]] = {}
        for budget in budgets:
            try:
                selector = Selector.from_label_selector(budget.spec.selector)
            except SelectorError:
                continue
            value = value_of(budget)
            self.values.append(value)
            self._selecting.setdefault(budget.namespace, []).append((selector, value))

    def of(self, namespace: str, labels: Mapping[str, str]) -> list[T]:
        """Those that select a pod of this namespace with these labels, in their order."""
        mine = self._selecting.get(namespace)
        if mine is None:
            return []
        alike = namespace, frozenset(labels.items())
        found = self._found.get(alike)
        if found is None:
            found = self._found[alike] = [value for selector, value in mine if selector.matches(labels)]
        return found
