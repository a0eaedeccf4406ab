"""The pods of a workload are on more than one node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.bounds import COUNT
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import spread_over
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding
from kwhatif.simulation.explanation.workload_changes import HOSTNAME, WorkloadChange

SERVING = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
"""Kinds whose pods are interchangeable."""


class SingleNodeParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    kinds: Annotated[tuple[str, ...], Meta(description="Only workloads of these kinds; an empty list means all.")] = (
        SERVING
    )
    replicas: Annotated[
        int, Meta(ge=2, le=COUNT, description="Only workloads with this many running pods or more.")
    ] = 2


class SingleNode(Rule[SingleNodeParameters]):
    name = "single-node"
    purpose = "The pods of a workload are not all on one node."
    parameters = SingleNodeParameters

    def threshold(self) -> str:
        return f"workloads of {self.given.replicas} pods or more are on 2 nodes or more"

    def check(self, context: Context) -> Iterator[Finding]:
        bad = 0
        for unit in self.units(context):
            running = context.running(unit)
            rows = {row for _, row in running}
            if len(running) < self.given.replicas or len(rows) > 1:
                continue
            bad += 1
            node = context.node(rows.pop())
            yield self.finding_about(
                unit,
                f"all {len(running)} pods are on node {node}",
                f"When {node} goes down or is drained, all {len(running)} pods of {unit.subject} go with it.",
                numbers={"pods": len(running), "nodes": 1, "replicas": self.given.replicas},
            )
        self.summary = f"{bad} of {format_count(self.checked, 'workload')} on one node alone"

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        return spread_over(context, finding, HOSTNAME)
