"""No disruption budget stands in the way of every eviction.

What the eviction API does with budgets: pkg/registry/core/pod/storage/eviction.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import one_more_replica
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.commands.gate.units import Unit, subject_of_budget
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding, Subject
from kwhatif.scheduling.budget_status import with_statuses
from kwhatif.scheduling.selected_budgets import SelectedBudgets
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, looser_budget


class BlockingBudgetParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"


class BlockingBudget(Rule[BlockingBudgetParameters]):
    name = "blocking-budget"
    purpose = "Disruption budgets let pods be evicted while all are healthy, and no pod has two of them."
    details = "Checks budgets that change, and those of changed workloads."
    parameters = BlockingBudgetParameters
    kinds_without_pods: ClassVar[frozenset[str]] = frozenset({"PodDisruptionBudget"})

    def threshold(self) -> str:
        return "each budget allows a disruption, each pod has one budget"

    def check(self, context: Context) -> Iterator[Finding]:
        snapshot = context.snapshot_after
        running = [pod for pod in snapshot.objects.list_all(Pod) if not pod.is_finished]
        budgets = list(with_statuses(snapshot.objects.list_all(PodDisruptionBudget), running))
        selected = SelectedBudgets(budgets, subject_of_budget)
        pods: dict[Subject, list[Pod]] = {}
        for pod in running:
            for subject in selected.of(pod.namespace, pod.metadata.labels or {}):
                pods.setdefault(subject, []).append(pod)
        count = 0
        for budget in budgets:
            covered = pods.get(subject_of_budget(budget), [])
            unit = self._unit_of(budget, covered, context)
            if unit is None or not self.given.selects(unit):
                continue
            self.checked += 1
            problems = (self._check_evictions(unit, budget, covered), self._check_overlap(unit, covered, selected))
            findings = [finding for finding in problems if finding is not None]
            count += bool(findings)
            yield from findings
        self.summary = f"{count} of {format_count(self.checked, 'budget')} in the way"

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        if "desiredHealthy" not in finding.numbers:
            return
        for budget in context.snapshot.objects.list_all(PodDisruptionBudget):
            if subject_of_budget(budget) == finding.subject:
                yield looser_budget(budget)
        yield from (
            change
            for unit in context.units
            if any(info.key == finding.pod for info, _ in context.running(unit))
            for change in one_more_replica(context, unit.subject)
        )

    def _unit_of(self, budget: PodDisruptionBudget, pods: list[Pod], context: Context) -> Unit | None:
        """A budget that the change is about: it came or changed, or a workload did whose pods it selects."""
        subject = subject_of_budget(budget)
        about = context.change_by_subject.get(subject) or next(
            (context.owner[pod.key] for pod in pods if pod.key in context.owner), None
        )
        return None if about is None else Unit(subject, about.location, labels=budget.metadata.labels or {})

    def _check_evictions(self, unit: Unit, budget: PodDisruptionBudget, pods: list[Pod]) -> Finding | None:
        status, count = budget.status, len(pods)
        healthy, desired = status.current_healthy or 0, status.desired_healthy or 0
        if not count or status.disruptions_allowed or healthy < count:
            return None
        spec = budget.spec
        said = (
            f"maxUnavailable is {spec.max_unavailable}"
            if spec.max_unavailable is not None
            else f"minAvailable is {1 if spec.min_available is None else spec.min_available}"
        )
        return self.finding_about(
            unit,
            "the budget allows no eviction",
            f"{said}, so {desired} of its {format_count(count, 'pod')} must be healthy, and {healthy} are: "
            "a drain or an upgrade of their nodes does not end",
            about="blocked",
            numbers={"pods": count, "healthy": healthy, "desiredHealthy": desired, "disruptionsAllowed": 0},
            pod=pods[0].key,
        )

    def _check_overlap(self, unit: Unit, pods: list[Pod], selected: SelectedBudgets[Subject]) -> Finding | None:
        doubled = [pod for pod in pods if len(selected.of(pod.namespace, pod.metadata.labels or {})) > 1]
        if not doubled:
            return None
        others = {
            subject.name
            for pod in doubled
            for subject in selected.of(pod.namespace, pod.metadata.labels or {})
            if subject != unit.subject
        }
        return self.finding_about(
            unit,
            "pods have more than one budget",
            f"{format_some(sorted(others))} also selects {format_count(len(doubled), 'pod')} of it, such as "
            f"{doubled[0].key}: the API server evicts no pod that has two budgets",
            about="doubled",
            numbers={"pods": len(doubled)},
            pod=doubled[0].key,
        )
