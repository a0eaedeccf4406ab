"""Changes with which a disruption budget does not block a drain, each verified by draining once more with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.explain.changed_scenario import prepare_changed
from kwhatif.errors import KwhatifError
from kwhatif.results.disruption import BudgetUse, DrainResult
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, looser_budget, with_more_replicas
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.workloads.objects import name_of, namespace_of

MOST_BUDGETS = 2
"""For how many budgets changes are tried."""

SCALED = ("Deployment", "StatefulSet")


def with_fixes(
    result: DrainResult,
    scenario: PreparedScenario,
    question: Question[Any],
    drain: Callable[[PreparedScenario], Answer[DrainResult]],
) -> DrainResult:
    """The result with the fixes of the budgets that keep pods, the first of them."""
    left, budgets = MOST_BUDGETS, list[BudgetUse]()
    for use in result.budgets:
        if use.blocks and left:
            left -= 1
            fixes = [
                change.change
                for change in _changes(use, scenario)
                if _helps(use, change, result, scenario, question, drain)
            ]
            use = replace(use, fixes=tuple(fixes))
        budgets.append(use)
    return replace(result, budgets=tuple(budgets))


def _changes(use: BudgetUse, scenario: PreparedScenario) -> Iterator[WorkloadChange]:
    snapshot = scenario.snapshot
    for budget in snapshot.objects.list_all(PodDisruptionBudget):
        if f"{budget.namespace}/{budget.name}" == use.budget:
            if budget.status.disruptions_allowed is None:
                return  # It may allow enough as it is.
            yield looser_budget(budget)
    pod = next((candidate for candidate in snapshot.objects.list_all(Pod) if candidate.key == use.blocks[0]), None)
    owner = None if pod is None else Owners(snapshot).workload_of(pod)
    if owner is None or owner.kind not in SCALED:
        return
    for body in snapshot.whole.get(owner.kind, ()):
        if (namespace_of(body), name_of(body)) == (owner.namespace, owner.name):
            yield with_more_replicas(body)


def _helps(
    use: BudgetUse,
    change: WorkloadChange,
    result: DrainResult,
    scenario: PreparedScenario,
    question: Question[Any],
    drain: Callable[[PreparedScenario], Answer[DrainResult]],
) -> bool:
    """Whether the budget keeps no pod with the change, and no more pods are pending or missing."""
    try:
        after = drain(prepare_changed(question, scenario, scenario.snapshot, change)).result
    except KwhatifError:
        return False
    keeps = any(budget.blocks for budget in after.budgets if budget.budget == use.budget)
    worse = len(after.outcome.pending) > len(result.outcome.pending) or after.outcome.not_created
    return not (keeps or worse or after.refusals)
