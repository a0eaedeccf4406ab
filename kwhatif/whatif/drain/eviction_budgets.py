"""Pod disruption budgets, as the eviction API sees them: may this pod go now?

Upstream: pkg/registry/core/pod/storage/eviction.go. Other than preemption, it takes an empty selector to mean every
pod of the namespace, and knows no pod with two budgets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kwhatif.api.core import Pod
from kwhatif.api.others import PodDisruptionBudget
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.cluster.cluster import FINISHED
from kwhatif.results.drain import BudgetUse

_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_UNTOLD = "The snapshot does not tell what the disruption budget"
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


@dataclass(slots=True)
class _Budget:
    name: str
    namespace: str
    selector: Selector
    allowed: int
    before: int
    healthy: int
    desired: int
    spares_unhealthy: bool
    told: bool
    evictions: int = 0
    blocks: list[str] = field(default_factory=list)

    def selects(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and self.selector.matches(pod.metadata.labels or {})


class EvictionBudgets:
    """The budgets of a cluster while pods are evicted and come back."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._budgets: list[_Budget] = []
        self._found: dict[tuple[str, frozenset[tuple[str, str]]], list[_Budget]] = {}
        for budget in budgets:
            spec, status = budget.spec, budget.status
            if spec.selector is None:
                continue
            try:
                selector = Selector.of(spec.selector)
            except SelectorError:
                # The API server skips such a budget, too.
                continue
            allowed = status.disruptions_allowed or 0
            spares = spec.unhealthy_pod_eviction_policy != "AlwaysAllow"
            desired = status.desired_healthy or 0
            healthy = desired + allowed if status.current_healthy is None else status.current_healthy
            told = status.disruptions_allowed is not None
            self._budgets.append(
                _Budget(budget.name, budget.namespace, selector, allowed, allowed, healthy, desired, spares, told)
            )

    def of(self, pod: Pod) -> str:
        """The budgets of a pod by name, ``namespace/name``."""
        return ", ".join(f"{budget.namespace}/{budget.name}" for budget in self._of(pod))

    def evict(self, pod: Pod) -> str:
        """Evict a pod if its budget allows it. Returns why not, or nothing."""
        mine = self._of(pod)
        if not mine or _needs_no_budget(pod):
            return ""
        if len(mine) > 1:
            for budget in mine:
                budget.blocks.append(pod.key)
            return _SEVERAL
        (budget,) = mine
        if not _ready(pod) and (not budget.spares_unhealthy or budget.healthy >= budget.desired > 0):
            budget.evictions += 1
            return ""
        if budget.allowed <= 0:
            budget.blocks.append(pod.key)
            if not budget.told:
                return f"{_VIOLATES} {_UNTOLD} {budget.name} allows: nothing"
            return (
                f"{_VIOLATES} The disruption budget {budget.name} needs {budget.desired} healthy pods "
                f"and has {budget.healthy} currently"
            )
        budget.allowed -= 1
        budget.healthy -= 1
        budget.evictions += 1
        return ""

    def ready(self, pod: Pod) -> None:
        """A pod made in the place of another became ready. A budget allows what it has beyond the healthy it needs."""
        for budget in self._of(pod):
            budget.healthy += 1
            if budget.healthy > budget.desired:
                budget.allowed += 1

    def release(self, pod: Pod) -> None:
        """A pod that was kept has gone after all."""
        for budget in self._of(pod):
            budget.blocks = [key for key in budget.blocks if key != pod.key]

    def uses(self) -> tuple[BudgetUse, ...]:
        """Those that had a say, by name."""
        touched = [budget for budget in self._budgets if budget.evictions or budget.blocks]
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

    def _of(self, pod: Pod) -> list[_Budget]:
        alike = pod.namespace, frozenset((pod.metadata.labels or {}).items())
        found = self._found.get(alike)
        if found is None:
            found = self._found[alike] = [budget for budget in self._budgets if budget.selects(pod)]
        return found


def _needs_no_budget(pod: Pod) -> bool:
    """Pods that serve nobody yet or any more may always go."""
    phase = pod.status.phase or ""
    return phase in FINISHED or phase == "Pending" or bool(pod.metadata.deletion_timestamp)


def _ready(pod: Pod) -> bool:
    """Whether a pod is ready; one whose conditions nobody recorded is taken to be."""
    if pod.status.conditions is None:
        return True
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)
