"""Pod disruption budgets, as the eviction API applies them.

Upstream: pkg/registry/core/pod/storage/eviction.go. Other than preemption, it takes an empty selector to select every
pod of the namespace, and refuses pods with more than one budget.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kwhatif.api.core import FINISHED, Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.results.disruption import BudgetUse
from kwhatif.scheduling.selected_budgets import SelectedBudgets

_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_UNTOLD = "The snapshot does not tell what the disruption budget"
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


class _Budget(msgspec.Struct):
    name: str
    namespace: str
    allowed: int
    before: int
    healthy: int
    desired: int
    spares_unhealthy: bool
    reported: bool
    evictions: int = 0
    blocks: list[str] = []

    @classmethod
    def of(cls, budget: PodDisruptionBudget) -> _Budget:
        spec, status = budget.spec, budget.status
        allowed, desired = status.disruptions_allowed or 0, status.desired_healthy or 0
        return cls(
            name=budget.name,
            namespace=budget.namespace,
            allowed=allowed,
            before=allowed,
            healthy=desired + allowed if status.current_healthy is None else status.current_healthy,
            desired=desired,
            spares_unhealthy=spec.unhealthy_pod_eviction_policy != "AlwaysAllow",
            reported=status.disruptions_allowed is not None,
        )

    def ignores(self, pod: Pod) -> bool:
        """Whether a pod may go uncounted, since it is not ready."""
        return not is_ready(pod) and (not self.spares_unhealthy or self.healthy >= self.desired > 0)


class EvictionBudgets:
    """The budgets of a cluster while pods are evicted and come back."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._budgets: SelectedBudgets[_Budget] = SelectedBudgets(budgets, _Budget.of)

    def names_of(self, pod: Pod) -> str:
        """The budgets of a pod by name, ``namespace/name``."""
        return ", ".join(f"{budget.namespace}/{budget.name}" for budget in self._budgets_of(pod))

    def evict(self, pod: Pod) -> str:
        """Evict a pod if its budget allows it. Returns the reason if not, else an empty text."""
        reason = self.forbids(pod)
        for budget in () if _needs_no_budget(pod) else self._budgets_of(pod):
            if reason:
                budget.blocks.append(pod.key)
                continue
            budget.evictions += 1
            if not budget.ignores(pod):
                budget.allowed -= 1
                budget.healthy -= 1
        return reason

    def forbids(self, pod: Pod) -> str:
        """The reason why a pod could not be evicted now; empty if it could. Nothing is counted."""
        mine = self._budgets_of(pod)
        if not mine or _needs_no_budget(pod):
            return ""
        if len(mine) > 1:
            return _SEVERAL
        (budget,) = mine
        if budget.allowed > 0 or budget.ignores(pod):
            return ""
        if not budget.reported:
            return f"{_VIOLATES} {_UNTOLD} {budget.name} allows: nothing"
        return (
            f"{_VIOLATES} The disruption budget {budget.name} needs {budget.desired} healthy pods "
            f"and has {budget.healthy} currently"
        )

    def lose(self, pod: Pod) -> None:
        """A pod disappears without an eviction."""
        for budget in self._budgets_of(pod):
            budget.healthy -= 1
            budget.allowed = max(budget.allowed - 1, 0)

    def needed_of(self, pod: Pod) -> int | None:
        """How many healthy pods the budget of a pod needs; None if it has none, or that is unknown."""
        mine = self._budgets_of(pod)
        return mine[0].desired if len(mine) == 1 and mine[0].reported else None

    def ready(self, pod: Pod) -> None:
        """A replacement became ready. A budget allows what it has beyond the healthy pods it needs."""
        for budget in self._budgets_of(pod):
            budget.healthy += 1
            if budget.healthy > budget.desired:
                budget.allowed += 1

    def release(self, pod: Pod) -> None:
        """A pod that was refused has disappeared after all."""
        for budget in self._budgets_of(pod):
            budget.blocks = [key for key in budget.blocks if key != pod.key]

    def uses(self) -> tuple[BudgetUse, ...]:
        """The budgets that applied to an eviction, by name."""
        touched = [budget for budget in self._budgets.values if budget.evictions or budget.blocks]
        return tuple(
            BudgetUse(
                budget=f"{budget.namespace}/{budget.name}",
                allowed_before=budget.before,
                allowed_after=budget.allowed,
                evictions=budget.evictions,
                blocks=tuple(dict.fromkeys(budget.blocks)),
            )
            for budget in sorted(touched, key=lambda budget: (budget.namespace, budget.name))
        )

    def _budgets_of(self, pod: Pod) -> list[_Budget]:
        return self._budgets.of(pod.namespace, pod.metadata.labels or {})


def _needs_no_budget(pod: Pod) -> bool:
    """Pods that are pending, finished or terminating may always go."""
    phase = pod.status.phase or ""
    return phase in FINISHED or phase == "Pending" or bool(pod.metadata.deletion_timestamp)


def is_ready(pod: Pod) -> bool:
    """Whether a pod is ready; one without recorded conditions is taken to be."""
    if pod.status.conditions is None:
        return True
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)
