"""The status that the disruption controller would give to disruption budgets without one, or with one of the past.

Upstream: pkg/controller/disruption/disruption.go (getExpectedPodCount), where the number of expected pods is that of
their controllers; here it is how many pods there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import PodDisruptionBudget, PodDisruptionBudgetStatus
from kwhatif.scheduling.eviction_budgets import is_ready
from kwhatif.scheduling.selected_budgets import SelectedBudgets


def recount_disruptions(objects: Objects, before: Iterable[Pod]) -> None:
    """Set the budgets' statuses as the disruption controller does once pods have changed. What is recorded of budgets
    whose pods are as ``before`` stays.
    """
    budgets = objects.list_all(PodDisruptionBudget)
    if not budgets:
        return
    pods, changed, known = objects.list_all(Pod), list[Pod](), {pod.key: pod for pod in before}
    for pod in pods:
        was = known.get(pod.key)
        if was is pod or (was is not None and _counts_of(was) == _counts_of(pod)):
            del known[pod.key]
        else:
            changed.append(pod)
    selected, stale = SelectedBudgets(budgets, _key), set[tuple[str, str]]()
    for pod in (*changed, *known.values()):
        stale.update(selected.of(pod.namespace, pod.metadata.labels or {}))
    unset = PodDisruptionBudgetStatus()
    renewed = with_statuses((replace(budget, status=unset) for budget in budgets if _key(budget) in stale), pods)
    by_key = {_key(budget): budget for budget in renewed}
    objects.put(PodDisruptionBudget, [by_key.get(_key(budget), budget) for budget in budgets])


def _counts_of(pod: Pod) -> object:
    """What the disruption controller counts a pod by."""
    return pod.identity, pod.spec.node_name, pod.metadata.labels, pod.is_finished, is_ready(pod)


def with_statuses(budgets: Iterable[PodDisruptionBudget], pods: Sequence[Pod]) -> Iterator[PodDisruptionBudget]:
    """The budgets; those without a status get one, for which pods on a node are healthy if they are ready."""
    budgets = list(budgets)
    without = SelectedBudgets(
        (
            pod_disruption_budget
            for pod_disruption_budget in budgets
            if pod_disruption_budget.status.disruptions_allowed is None
        ),
        _key,
    )
    expected, healthy = dict.fromkeys(without.values, 0), dict.fromkeys(without.values, 0)
    for pod in pods if without.values else ():
        if pod.is_finished:
            continue
        for key in without.of(pod.namespace, pod.metadata.labels or {}):
            expected[key] += 1
            healthy[key] += bool(pod.spec.node_name) and is_ready(pod)
    for budget in budgets:
        key = _key(budget)
        yield _with_status(budget, expected[key], healthy[key]) if key in expected else budget


def _key(budget: PodDisruptionBudget) -> tuple[str, str]:
    return budget.namespace, budget.name


def _with_status(budget: PodDisruptionBudget, expected: int, healthy: int) -> PodDisruptionBudget:
    spec = budget.spec
    if spec.max_unavailable is not None:
        desired = max(expected - _resolve_share(spec.max_unavailable, expected), 0)
    else:
        desired = _resolve_share(spec.min_available if spec.min_available is not None else 1, expected)
    allowed = max(healthy - desired, 0) if expected else 0
    status = PodDisruptionBudgetStatus(current_healthy=healthy, desired_healthy=desired, disruptions_allowed=allowed)
    return replace(budget, status=status)


def _resolve_share(value: str | int, whole: int) -> int:
    """A number, or a share of the whole that is rounded up."""
    if isinstance(value, int):
        return value
    share = value.removesuffix("%")
    return math.ceil(int(share) * whole / 100) if share.isdecimal() else 0
