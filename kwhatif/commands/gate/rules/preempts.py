"""The change evicts no other pods, or only few of low priority."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Count, Number
from kwhatif.cel.globs import matches_any
from kwhatif.commands.chances.trials import TrialOutcome
from kwhatif.commands.gate.chance import TrialParameters, check_frequency, describe_frequency, in_trials, numbers_of
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Rule
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding
from kwhatif.results.place import Victim


class PreemptsParameters(TrialParameters, frozen=True, kw_only=True):
    level: Level = "warn"
    most: Annotated[Count, Meta(description="Most pods that a workload may evict.")] = 0
    most_violations: Annotated[
        Count, Meta(description="Most of them against a PodDisruptionBudget, whatever their priority.")
    ] = 0
    priority_from: Annotated[
        Number | None, Meta(description="Only pods of this priority or a higher one count towards most.")
    ] = None
    owners: Annotated[
        tuple[str, ...],
        Meta(description='Only pods of these count towards most: "ReplicaSet/web-*" (* matches anything).'),
    ] = ()


class Preempts(Rule[PreemptsParameters]):
    name = "preempts"
    purpose = "New pods evict no others, or no more than allowed, and none against a budget."
    details = (
        "Names victims, their owners, and where replacements go. A new pod that is preempted later in the "
        "change and finds no other node counts as `unschedulable`."
    )
    parameters = PreemptsParameters

    def threshold(self) -> str:
        given = self.given
        which = "" if given.priority_from is None else f" of priority {given.priority_from} or more"
        whose = f" of {', '.join(given.owners)}" if given.owners else ""
        return f"no more than {given.most} evicted pods{which}{whose}, {given.most_violations} against a budget"

    def check(self, context: Context) -> Iterator[Finding]:
        total = 0
        for unit in self.units(context):
            victims = [v for placement in unit.placements for v in placement.victims if not v.terminating]
            counting = [victim for victim in victims if self._counts(victim)]
            against = [victim for victim in victims if victim.violates]
            total += len(victims)
            if len(counting) <= self.given.most and len(against) <= self.given.most_violations:
                if frequency := check_frequency(context, self.given, unit, self._evicts):
                    yield self.finding_about(
                        unit,
                        f"{in_trials(frequency)} others are evicted",
                        f"That more than {format_count(self.given.most, 'pod')} have to leave, of whatever priority "
                        f"and owner, does not happen in this run. {describe_frequency(frequency)}",
                        about="chance",
                        numbers=numbers_of(frequency, self.given),
                    )
                continue
            title = f"evicts {format_count(len(victims), 'pod')}"
            if against:
                title += f", {len(against)} against a PodDisruptionBudget"
            yield self.finding_about(
                unit,
                title,
                f"To make room, kube-scheduler would evict {format_some(list(map(_describe_victim, victims)), 5)}.",
                numbers={
                    "evicted": len(victims),
                    "counted": len(counting),
                    "most": self.given.most,
                    "violations": len(against),
                    "mostViolations": self.given.most_violations,
                    "highestPriority": max(victim.priority for victim in victims),
                },
                pod=next(placement.pod for placement in unit.placements if placement.victims),
            )
        self.summary = f"{format_count(total, 'pod')} evicted"

    def _evicts(self, outcome: TrialOutcome, workload: str) -> bool:
        return outcome.evicted.get(workload, 0) > self.given.most

    def _counts(self, victim: Victim) -> bool:
        given = self.given
        return (given.priority_from is None or victim.priority >= given.priority_from) and (
            not given.owners or matches_any(victim.owner, given.owners)
        )


def _describe_victim(victim: Victim) -> str:
    """``shop/cart-1 (priority 0, of ReplicaSet/cart, against budget shop/cart, finds no other node)``."""
    parts = [f"priority {victim.priority}"]
    parts += [f"of {victim.owner}"] if victim.owner else ["of no controller: it is lost"]
    parts += [f"against {', '.join(victim.budgets)}"] if victim.violates else []
    if victim.replacement:
        parts.append(f"recreated on {victim.lands_on}" if victim.lands_on else "recreated, but finds no node")
    return f"{victim.pod} ({', '.join(parts)})"
