"""Every update completes: old pods leave only when new ones run, and new ones may wait for their room."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.gate.context import Context, GrownCluster
from kwhatif.commands.gate.rule import Parameters, Rule
from kwhatif.commands.gate.units import Unit
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding


class RolloutDeadlock(Rule[Parameters]):
    name = "rollout-deadlock"
    purpose = "Updates go through: no new pod waits for room that only an old one could leave."

    def threshold(self) -> str:
        return "every update comes to its end"

    def check(self, context: Context) -> Iterator[Finding]:
        updates = 0
        for unit in self.units(context):
            if unit.plan is None:
                self.checked -= 1
                continue
            updates += 1
            plan = unit.plan
            if not plan.unfinished:
                continue
            waiting = unit.pending
            said = f" {waiting[0].pod}: {waiting[0].message}" if waiting else ""
            left = plan.steps[-1].live_old if plan.steps else 0
            yield self.finding_about(
                unit,
                "the update gets stuck",
                f"{plan.unfinished}. When it stands still, {format_count(left, 'old pod')} still run.{said}",
                numbers={
                    "steps": len(plan.steps),
                    "pending": len(waiting),
                    "oldPodsLeft": left,
                    "newPods": plan.creates,
                },
                hint=_verified_hint(context, unit),
                pod=waiting[0].pod if waiting else "",
            )
        self.summary = f"{format_count(updates, 'update')} planned"


def _verified_hint(context: Context, unit: Unit) -> str:
    """New nodes on which the pods that wait were tried, and found room; else where the reasons are."""
    keys = {each.pod for each in unit.pending}
    pods = [info for info in context.new_pods(unit) if info.key in keys]
    growth = GrownCluster(context)
    needed = [(growth.nodes(pods, like), like) for like in context.examples_of_pools] if pods else []
    enough = sorted((number, like) for number, like in needed if number is not None)
    if not enough:
        return "kwhatif explain says what keeps the pods from every node, and what would help"
    return f"add {format_count(enough[0][0], 'node')} like {enough[0][1]}: the pods that wait find room there"
