"""The verdict stands on nothing that is missing or not modelled."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated

from msgspec import Meta

from kwhatif.results.amounts import counted, some
from kwhatif.results.gate import Finding
from kwhatif.whatif.gate.context import Context
from kwhatif.whatif.gate.rule import Level, Parameters, Rule


class FidelityParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    accept: Annotated[
        tuple[str, ...],
        Meta(description="Gaps that are known and accepted, as the report words them, * standing for anything."),
    ] = ()


class FidelityRule(Rule[FidelityParameters]):
    name = "fidelity"
    purpose = "The verdict stands on nothing that is missing from the snapshot or not modelled."
    parameters = FidelityParameters

    def threshold(self) -> str:
        return "no gap that touches a pod of the change"

    def check(self, context: Context) -> Iterator[Finding]:
        self.checked = 1
        gaps = [
            gap
            for gap in context.fidelity.touching
            if not any(fnmatchcase(gap.what, accepted) for accepted in self.given.accept)
        ]
        self.summary = f"{counted(len(gaps), 'gap')}" if gaps else "nothing is missing that touches a pod"
        for gap in gaps:
            yield self.finding(
                None,
                gap.what,
                f"{gap.effect[:1].upper()}{gap.effect[1:]}. It touches {some(gap.pods)}.",
                about=gap.what,
                numbers={"pods": len(gap.pods)},
                hint="give a snapshot that has it, or name it under accept",
            )
