"""Autoscalers add no more nodes for the change than they may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Count, Price
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding, Subject
from kwhatif.results.node_costs import words_of_cost
from kwhatif.results.place import GrownGroup, ScaleUp


class ScaleUpParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    most: Annotated[Count | None, Meta(description="Most nodes that may be added.")] = None
    cost: Annotated[Price | None, Meta(description="Most that they may cost a month, where prices are known.")] = None
    full: Annotated[bool, Meta(description="A group or NodePool that reaches its maximum or limit is a finding.")] = (
        True
    )


class ScaleUpRule(Rule[ScaleUpParameters]):
    name = "scale-up"
    purpose = "Autoscalers add no more nodes than allowed, and fill no group or NodePool."
    details = (
        "Needs `--autoscale`. `unschedulable` then counts only pods that no autoscaler helps, and all rules "
        "see the new nodes."
    )
    parameters = ScaleUpParameters

    def threshold(self) -> str:
        wanted = [] if self.given.most is None else [f"no more than {format_count(self.given.most, 'new node')}"]
        wanted += [] if self.given.cost is None else [f"no more than {self.given.cost:,.2f} a month"]
        wanted += ["no group at its maximum"] if self.given.full else []
        return ", ".join(wanted)

    def check(self, context: Context) -> Iterator[Finding]:
        added = context.scale_up
        if added is None:
            self.summary = "no autoscaler was given: --autoscale names its document"
            return
        self.checked = len(added.autoscalers)
        plan = ", ".join(map(_grows, added.groups)) or "no node is added"
        self.summary = ", ".join(filter(None, (plan, words_of_cost(added.nodes, " more"))))
        yield from self._too_much(added, plan)
        for group in added.groups if self.given.full else ():
            if group.full:
                yield self._full(group)

    def _too_much(self, added: ScaleUp, plan: str) -> Iterator[Finding]:
        new = len(added.nodes)
        if self.given.most is not None and new > self.given.most:
            title = f"{format_count(new, 'new node')}, at most {self.given.most} may be added"
            numbers: dict[str, int | float | str] = {"nodes": new, "most": self.given.most}
            yield self.finding(None, title, f"What is added: {plan}.", about="nodes", numbers=numbers)
        if self.given.cost is not None and added.cost is not None and added.cost > self.given.cost:
            always = " if its Jobs run all the time" if any(node.only_jobs for node in added.nodes) else ""
            title = f"{added.cost:,.2f} more a month{always}, at most {self.given.cost:,.2f} may be spent"
            numbers = {"cost": added.cost, "most": self.given.cost}
            yield self.finding(None, title, f"What is added: {plan}.", about="cost", numbers=numbers)

    def _full(self, group: GrownGroup) -> Finding:
        subject = Subject(kind="NodePool" if group.autoscaler == "Karpenter" else "NodeGroup", name=group.group)
        numbers: dict[str, int | float | str] = {"size": group.size, "to": group.to}
        title = f"NodePool {group.group} reaches its limits: {group.limits}"
        if group.autoscaler != "Karpenter":
            title = f"group {group.group} reaches its maximum of {format_count(group.to, 'node')}"
            numbers |= {"max": group.max or group.to}
        message = f"It grows from {group.size} to {group.to}; no other pod gets a node of it."
        return self.finding(subject, title, message, about="full", numbers=numbers)


def _grows(group: GrownGroup) -> str:
    """``general from 3 to 5``; ``NodePool spot from 2 to 4``."""
    return f"{'NodePool ' if group.autoscaler == 'Karpenter' else ''}{group.group} from {group.size} to {group.to}"
