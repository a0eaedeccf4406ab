"""Changes with which a disruption budget does not block an eviction, each verified by asking once more with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.explain.changed_scenario import prepare_changed
from kwhatif.errors import KwhatifError
from kwhatif.results.disruption import BudgetUse
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import Refusal
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, looser_budget, with_more_replicas
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.question import Question
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.workloads.objects import name_of, namespace_of

MOST_BUDGETS = 2
"""For how many budgets changes are tried."""

SCALED = ("Deployment", "StatefulSet")


class Disruption(Protocol):
    """A result of evictions."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def budgets(self) -> tuple[BudgetUse, ...]: ...
    @property
    def refusals(self) -> tuple[Refusal, ...]: ...


def try_budget_fixes(
    result: Disruption,
    scenario: PreparedScenario,
    question: Question[Any],
    ask: Callable[[PreparedScenario], Disruption],
) -> tuple[BudgetUse, ...]:
    """The budgets of a result, the first that keep pods with their fixes.

    None are tried where manifests are placed first.
    """
    left, budgets = 0 if scenario.manifests else MOST_BUDGETS, list[BudgetUse]()
    for use in result.budgets:
        if use.blocks and left:
            left -= 1
            changes = _changes(use, scenario)
            fixes = [change.change for change in changes if _helps(use, change, result, scenario, question, ask)]
            use = replace(use, fixes=tuple(fixes))
        budgets.append(use)
    return tuple(budgets)


def _helps(
    use: BudgetUse,
    change: WorkloadChange,
    result: Disruption,
    scenario: PreparedScenario,
    question: Question[Any],
    ask: Callable[[PreparedScenario], Disruption],
) -> bool:
    """Whether the budget keeps no pod with the change, and no more pods are pending or missing."""
    try:
        changed = ask(prepare_changed(question, scenario, scenario.snapshot, change))
    except KwhatifError:
        return False
    keeps = any(budget.blocks for budget in changed.budgets if budget.budget == use.budget)
    worse = len(changed.outcome.pending) > len(result.outcome.pending) or changed.outcome.not_created
    return not (keeps or worse or changed.refusals)


def _changes(use: BudgetUse, scenario: PreparedScenario) -> Iterator[WorkloadChange]:
    snapshot = scenario.snapshot
    for budget in snapshot.objects.list_all(PodDisruptionBudget):
        if f"{budget.namespace}/{budget.name}" == use.budget:
            if budget.status.disruptions_allowed is None:
                return  # It may allow enough as it is.
            yield looser_budget(budget)
    pod = next((pod for pod in snapshot.objects.list_all(Pod) if pod.key == use.blocks[0]), None)
    owner = None if pod is None else Owners(snapshot).workload_of(pod)
    if owner is None or owner.kind not in SCALED:
        return
    for body in snapshot.whole.get(owner.kind, ()):
        if (namespace_of(body), name_of(body)) == (owner.namespace, owner.name):
            yield with_more_replicas(body)
