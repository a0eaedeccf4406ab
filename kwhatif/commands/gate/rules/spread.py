"""The pods of a workload are spread evenly over zones, or over the domains of another label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import PositiveCount
from kwhatif.bounds import COUNT
from kwhatif.commands.chances.trials import TrialOutcome
from kwhatif.commands.gate.chance import TrialParameters, check_frequency, describe_frequency, in_trials, numbers_of
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import spread_over
from kwhatif.commands.gate.rule import Level, Rule
from kwhatif.commands.gate.rules.single_node import SERVING
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding
from kwhatif.simulation.cluster_use import pods_by_place, skew_of
from kwhatif.simulation.explanation.workload_changes import WorkloadChange


class SpreadParameters(TrialParameters, frozen=True, kw_only=True):
    level: Level = "warn"
    kinds: Annotated[tuple[str, ...], Meta(description="Only workloads of these kinds; an empty list means all.")] = (
        SERVING
    )
    topology_key: Annotated[str, Meta(min_length=1, description="The node label that defines domains.")] = (
        "topology.kubernetes.io/zone"
    )
    max_skew: Annotated[
        PositiveCount, Meta(description="Most pods by which the fullest domain may exceed the emptiest.")
    ] = 1
    replicas: Annotated[
        int, Meta(ge=2, le=COUNT, description="Only workloads with this many running pods or more.")
    ] = 2


class Spread(Rule[SpreadParameters]):
    """Places are those of the nodes that a pod's node selector and node affinity admit and that are not cordoned,
    and those where a pod is."""

    name = "spread"
    purpose = (
        "The pods of a workload are spread evenly over zones, or another topology, whatever its manifest asks for."
    )
    details = (
        "Counts all pods of a workload, old ones included, over the domains that its node selector and "
        "affinity admit; taints do not count."
    )
    parameters = SpreadParameters

    def threshold(self) -> str:
        return f"a skew of no more than {self.given.max_skew} over {self.given.topology_key}"

    def check(self, context: Context) -> Iterator[Finding]:
        worst = 0
        for unit in self.units(context):
            running = context.running(unit)
            if len(running) < self.given.replicas:
                continue
            rows = (row for _, row in running)
            counts = pods_by_place(context.cluster, self.given.topology_key, running[-1][0].shape, rows)
            skew = skew_of(counts)
            worst = max(worst, skew)
            if skew <= self.given.max_skew:
                if often := check_frequency(context, self.given, unit, self._is_skewed, self.given.topology_key):
                    yield self.finding_about(
                        unit,
                        f"{in_trials(often)} the skew is above {self.given.max_skew}",
                        f"That the skew over {self.given.topology_key} is larger does not happen in this run. "
                        f"{describe_frequency(often)}",
                        about=f"chance {self.given.topology_key}",
                        numbers=numbers_of(often, self.given),
                    )
                continue
            parts = [f"{place}: {number}" for place, number in sorted(counts.items(), key=lambda e: (-e[1], e[0]))]
            yield self.finding_about(
                unit,
                f"skew of {skew} over {self.given.topology_key}",
                f"{format_count(len(running), 'pod')} are on {format_count(len(counts), 'place')} "
                f"as {format_some(parts, 5)}.",
                about=self.given.topology_key,
                numbers={
                    "skew": skew,
                    "maxSkew": self.given.max_skew,
                    "topologyKey": self.given.topology_key,
                    "pods": len(running),
                    "places": len(counts),
                },
            )
        self.summary = f"the largest skew of {format_count(self.checked, 'workload')} is {worst}"

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        return spread_over(context, finding, self.given.topology_key)

    def _is_skewed(self, outcome: TrialOutcome, workload: str) -> bool:
        return outcome.skews.get(workload, 0) > self.given.max_skew
