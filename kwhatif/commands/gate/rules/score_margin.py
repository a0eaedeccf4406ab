"""The chosen node beats the next best by a margin: else a small change decides the placement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Count, PositiveCount
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding


class ScoreMarginParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    least: Annotated[
        PositiveCount, Meta(description="Least score by which the best node must beat the next. 1: no ties.")
    ] = 1
    pods: Annotated[Count, Meta(description="Most pods of a workload that may be closer.")] = 0


class ScoreMargin(Rule[ScoreMarginParameters]):
    name = "score-margin"
    purpose = "The node of each new pod clearly beats the next best: chance does not decide."
    parameters = ScoreMarginParameters
    scores = True

    def threshold(self) -> str:
        return f"a margin of at least {self.given.least}"

    def check(self, context: Context) -> Iterator[Finding]:
        least: int | None = None
        for unit in self.units(context):
            margins = {
                placement.pod: context.margins[placement.pod]
                for placement in unit.placements
                if placement.pod in context.margins
            }
            if not margins:
                continue
            narrow = min(margins.values())
            least = narrow if least is None else min(least, narrow)
            close = [pod for pod, margin in margins.items() if margin < self.given.least]
            if len(close) <= self.given.pods:
                continue
            example = next(placement for placement in unit.placements if placement.pod == close[0])
            others = format_count(example.ties - 1, "other node")
            margin = (
                f"tied with {others}" if example.ties > 1 else f"{margins[example.pod]} more than the next best node"
            )
            yield self.finding_about(
                unit,
                f"{format_count(len(close), 'pod')} placed by a margin under {self.given.least}",
                f"{example.pod} goes to {example.node} with a score of {example.score}, {margin}.",
                numbers={"pods": len(close), "margin": narrow, "least": self.given.least},
                pod=example.pod,
            )
        self.summary = "" if least is None else f"the narrowest margin is {least}"
