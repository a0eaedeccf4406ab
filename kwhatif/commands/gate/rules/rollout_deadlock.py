"""Every update completes: old pods leave only when new ones run, and new ones may wait for their room."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import nodes_for
from kwhatif.commands.gate.rule import Parameters, Rule
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, changes_of_workload


class RolloutDeadlock(Rule[Parameters]):
    name = "rollout-deadlock"
    purpose = "Updates go through: no new pod waits for room that only an old one could leave."
    details = "Takes a pod with a node to become ready."

    def threshold(self) -> str:
        return "every update comes to its end"

    def check(self, context: Context) -> Iterator[Finding]:
        plans = []
        for unit in self.units(context):
            if unit.plan is None:
                self.checked -= 1
                continue
            plan = unit.plan
            plans.append(plan)
            if not plan.unfinished:
                continue
            waiting = unit.pending
            said = f" {waiting[0].pod}: {waiting[0].message}" if waiting else ""
            yield self.finding_about(
                unit,
                "the update gets stuck",
                f"{plan.unfinished}.{said}",
                numbers={"steps": len(plan.steps), "pending": len(waiting), "newPods": plan.creates},
                hint=f"--explain {waiting[0].pod} says why no node takes it" if waiting else "",
                pod=waiting[0].pod if waiting else "",
            )
        least = [f"{rollout.object} {rollout.available}" for rollout in plans if rollout.available]
        self.summary = f"{format_count(len(plans), 'update')} planned"
        self.summary += f"; available throughout: {format_some(least)}" if least else ""

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        """Old pods that leave first; then nodes on which the pods that wait find room."""
        unit = next(unit for unit in context.units if unit.subject == finding.subject)
        workload = context.manifest_of(finding.subject)
        strategies = [*changes_of_workload(workload, (), 0, stuck=True, runs=True, classes=())] if workload else []
        yield from strategies[:1]
        waiting = {placement.pod for placement in unit.pending}
        yield from nodes_for(context, [info for info in context.new_pods(unit) if info.key in waiting])
        yield from strategies[1:]
