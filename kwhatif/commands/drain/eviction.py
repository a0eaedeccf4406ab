"""Pod disruption budgets, as the eviction API sees them: may this pod go now?

Upstream: pkg/registry/core/pod/storage/eviction.go. Other than preemption, it takes an empty selector to mean every
pod of the namespace, and knows no pod with two budgets.

Which pods of a node ``kubectl drain`` would evict, leave alone, or refuse to touch.

Upstream: k8s.io/kubectl/pkg/drain/filters.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from kwhatif.api.core import Pod
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.cluster import FINISHED
from kwhatif.results.disruption import BudgetUse

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
    reported: bool
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
                selector = Selector.from_label_selector(spec.selector)
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

    def names_of(self, pod: Pod) -> str:
        """The budgets of a pod by name, ``namespace/name``."""
        return ", ".join(f"{budget.namespace}/{budget.name}" for budget in self._budgets_of(pod))

    def evict(self, pod: Pod) -> str:
        """Evict a pod if its budget allows it. Returns why not, or nothing."""
        mine = self._budgets_of(pod)
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
            if not budget.reported:
                return f"{_VIOLATES} {_UNTOLD} {budget.name} allows: nothing"
            return (
                f"{_VIOLATES} The disruption budget {budget.name} needs {budget.desired} healthy pods "
                f"and has {budget.healthy} currently"
            )
        budget.allowed -= 1
        budget.healthy -= 1
        budget.evictions += 1
        return ""

    def forbids(self, pod: Pod) -> str:
        """Why a pod must stay as things are now; nothing if it may go. Nothing is counted."""
        mine = self._budgets_of(pod)
        if not mine or _needs_no_budget(pod):
            return ""
        if len(mine) > 1:
            return _SEVERAL
        (budget,) = mine
        unguarded = not _ready(pod) and (not budget.spares_unhealthy or budget.healthy >= budget.desired > 0)
        return "" if unguarded or budget.allowed > 0 else f"{_VIOLATES} {budget.name} allows none"

    def lose(self, pod: Pod) -> None:
        """A pod goes without being asked."""
        for budget in self._budgets_of(pod):
            budget.healthy -= 1
            budget.allowed = max(budget.allowed - 1, 0)

    def needed_of(self, pod: Pod) -> int | None:
        """How many healthy pods the budget of a pod needs; None if it has none, or that is unknown."""
        mine = self._budgets_of(pod)
        return mine[0].desired if len(mine) == 1 and mine[0].reported else None

    def ready(self, pod: Pod) -> None:
        """A pod made in the place of another became ready. A budget allows what it has beyond the healthy it needs."""
        for budget in self._budgets_of(pod):
            budget.healthy += 1
            if budget.healthy > budget.desired:
                budget.allowed += 1

    def release(self, pod: Pod) -> None:
        """A pod that was kept has gone after all."""
        for budget in self._budgets_of(pod):
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

    def _budgets_of(self, pod: Pod) -> list[_Budget]:
        alike = pod.namespace, frozenset((pod.metadata.labels or {}).items())
        found = self._found.get(alike)
        if found is None:
            found = self._found[alike] = [budget for budget in self._budgets if budget.selects(pod)]
        return found


def _needs_no_budget(pod: Pod) -> bool:
    """Pods that are pending, finished or terminating may always go."""
    phase = pod.status.phase or ""
    return phase in FINISHED or phase == "Pending" or bool(pod.metadata.deletion_timestamp)


def _ready(pod: Pod) -> bool:
    """Whether a pod is ready; one without recorded conditions is taken to be."""
    if pod.status.conditions is None:
        return True
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)


@dataclass(frozen=True, slots=True)
class Intent:
    """What drain means to do with a pod, and why."""

    what: Literal["evict", "ignore", "refuse"]
    reason: str = ""
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Filters:
    """The flags of drain. ``daemon_sets`` are those that exist (``namespace/name``), None if that is unknown."""

    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False
    daemon_sets: Collection[str] | None = None

    def intent(self, pod: Pod) -> Intent:
        """The first refusal counts, else the last warning."""
        found = Intent("evict")
        for step in (
            self._filter_daemon_set,
            self._filter_mirror_pod,
            self._filter_local_storage,
            self._filter_unreplicated,
        ):
            intent = step(pod)
            if intent is None:
                continue
            if intent.what != "evict":
                return intent
            found = intent
        return found

    def _filter_daemon_set(self, pod: Pod) -> Intent | None:
        owner = pod.controller
        if owner is None or owner.kind != "DaemonSet" or _is_finished(pod):
            return None
        if self.daemon_sets is not None and f"{pod.namespace}/{owner.name}" not in self.daemon_sets:
            gone = f'daemonsets.apps "{owner.name}" not found'
            return Intent("evict", gone, warns=True) if self.force else Intent("refuse", gone)
        if not self.ignore_daemonsets:
            return Intent("refuse", "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)")
        return Intent("ignore", "ignoring DaemonSet-managed Pods", warns=True)

    def _filter_mirror_pod(self, pod: Pod) -> Intent | None:
        return Intent("ignore", "a static pod") if pod.is_mirror else None

    def _filter_local_storage(self, pod: Pod) -> Intent | None:
        local = any(volume.empty_dir is not None for volume in pod.spec.volumes or ())
        if not local or _is_finished(pod):
            return None
        if not self.delete_emptydir_data:
            return Intent("refuse", "cannot delete Pods with local storage (use --delete-emptydir-data to override)")
        return Intent("evict", "deleting Pods with local storage", warns=True)

    def _filter_unreplicated(self, pod: Pod) -> Intent | None:
        if _is_finished(pod) or pod.controller is not None:
            return None
        if not self.force:
            return Intent("refuse", "cannot delete Pods that declare no controller (use --force to override)")
        return Intent("evict", "deleting Pods that declare no controller", warns=True)


def _is_finished(pod: Pod) -> bool:
    return (pod.status.phase or "") in FINISHED
