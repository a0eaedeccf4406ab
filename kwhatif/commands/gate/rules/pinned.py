"""A new pod has more than a few nodes that could ever take it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import PositiveCount
from kwhatif.commands.gate.context import Context, EmptyCluster
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.commands.gate.rules.single_node import SERVING
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding

BATCH = ("CronJob", "Job", "Pod")


class PinnedParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    kinds: Annotated[tuple[str, ...], Meta(description="Only workloads of these kinds; an empty list means all.")] = (
        *SERVING,
        *BATCH,
    )
    nodes: Annotated[PositiveCount, Meta(description="Fewest nodes that must be able to run each pod.")] = 2


class Pinned(Rule[PinnedParameters]):
    name = "pinned"
    purpose = "Each pod has more than one node that could run it, even if nothing else ran there."
    details = "Ignores affinity to pods and topology spread; volumes count."
    parameters = PinnedParameters

    def threshold(self) -> str:
        return f"at least {format_count(self.given.nodes, 'node')} that could take each pod"

    def check(self, context: Context) -> Iterator[Finding]:
        choice, size = EmptyCluster(context), len(context.cluster)
        fewest: int | None = None
        for unit in self.units(context):
            for info in choice.distinct_pods(unit):
                names = choice.nodes(info)
                number = len(names)
                fewest = number if fewest is None else min(fewest, number)
                if number >= self.given.nodes:
                    continue
                can = f"Only {format_some(names, 5)} could" if names else "No node could"
                yield self.finding_about(
                    unit,
                    f"{format_count(number, 'node')} could ever take {info.key}",
                    f"{can} take it, if nothing else ran there, of {format_count(size, 'node')} in all.",
                    about=str(info.shape.labels.get("statefulset.kubernetes.io/pod-name", "")),
                    numbers={"nodes": number, "atLeast": self.given.nodes, "all": size},
                    hint=f"--explain {info.key} says what excludes which node",
                    pod=info.key,
                )
                break
        self.summary = "" if fewest is None else f"at the least, {format_count(fewest, 'node')} could take a pod"
