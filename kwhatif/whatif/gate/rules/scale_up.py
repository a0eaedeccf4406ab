"""The autoscaler adds no more nodes for the change than it may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.results.amounts import counted
from kwhatif.results.gate import Finding, Subject
from kwhatif.whatif.gate.context import Context
from kwhatif.whatif.gate.rule import Level, Parameters, Rule


class ScaleUpParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    most: Annotated[int | None, Meta(description="So many nodes may be added at most.")] = None
    cost: Annotated[float | None, Meta(description="So much more a month may they cost, where prices are known.")] = (
        None
    )
    full: Annotated[bool, Meta(description="A group that reaches its maximum is a finding.")] = True


class ScaleUp(Rule[ScaleUpParameters]):
    name = "scale-up"
    purpose = "The autoscaler adds no more nodes than it may, and no group reaches its maximum."
    parameters = ScaleUpParameters

    def threshold(self) -> str:
        wanted = [] if self.given.most is None else [f"no more than {counted(self.given.most, 'new node')}"]
        wanted += [] if self.given.cost is None else [f"no more than {self.given.cost:,.2f} a month"]
        wanted += ["no group at its maximum"] if self.given.full else []
        return ", ".join(wanted)

    def check(self, context: Context) -> Iterator[Finding]:
        scaled = context.scaled
        if scaled is None:
            self.summary = "no node groups are known: --autoscale names them"
            return
        self.checked = len(scaled.groups)
        new = sum(each.to - each.size for each in scaled.plan)
        plan = ", ".join(f"{each.group} from {each.size} to {each.to}" for each in scaled.plan) or "no group grows"
        cost = "" if scaled.cost is None else f", {scaled.cost:,.2f} more a month"
        self.summary = f"{plan}{cost}"
        if self.given.most is not None and new > self.given.most:
            title = f"{counted(new, 'new node')}, at most {self.given.most} may be added"
            numbers: dict[str, int | float | str] = {"nodes": new, "most": self.given.most}
            yield self.finding(None, title, f"The autoscaler's plan: {plan}.", about="nodes", numbers=numbers)
        if self.given.cost is not None and scaled.cost is not None and scaled.cost > self.given.cost:
            title = f"{scaled.cost:,.2f} more a month, at most {self.given.cost:,.2f} may be spent"
            numbers = {"cost": scaled.cost, "most": self.given.cost}
            yield self.finding(None, title, f"The autoscaler's plan: {plan}.", about="cost", numbers=numbers)
        for each in scaled.plan if self.given.full else ():
            if each.to >= each.max:
                yield self.finding(
                    Subject(kind="NodeGroup", name=each.group),
                    f"group {each.group} reaches its maximum of {counted(each.max, 'node')}",
                    f"It grows from {each.size} to {each.to}; nobody else gets a node of it.",
                    about="full",
                    numbers={"size": each.size, "to": each.to, "max": each.max},
                )
