"""The verdict does not depend on anything that is missing or not modelled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.cel.globs import matches_any
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import INPUT
from kwhatif.results.gate import Finding


class FidelityParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    accept: Annotated[
        tuple[str, ...],
        Meta(description="Gaps that are known and accepted, as the report words them (* matches anything)."),
    ] = ()


class FidelityRule(Rule[FidelityParameters]):
    name = "fidelity"
    purpose = "The verdict depends on nothing that is missing from the snapshot or not modelled."
    parameters = FidelityParameters

    def threshold(self) -> str:
        return "no gap that touches a pod of the change"

    def check(self, context: Context) -> Iterator[Finding]:
        self.checked = 1
        gaps = [gap for gap in context.fidelity.touching if not matches_any(gap.what, self.given.accept)]
        self.summary = f"{format_count(len(gaps), 'gap')}" if gaps else "nothing is missing that touches a pod"
        for gap in gaps:
            pods = [pod for pod in gap.pods if pod != INPUT]
            remedy = "give a snapshot that has it" if pods else "give what is missing"
            if "--with-pending" in gap.effect:
                remedy = "place them, too: --with-pending"
            yield self.finding(
                None,
                gap.what,
                f"{gap.effect[:1].upper()}{gap.effect[1:]}." + f" It touches {format_some(pods)}." * bool(pods),
                about=gap.what,
                numbers={"pods": len(pods)},
                hint=f"{remedy}, or name it under accept",
            )
