"""The change still fits when its workloads scale out: with as many replicas as their autoscalers allow.

It is rolled out once more, with every workload of the change that a HorizontalPodAutoscaler or a ScaledObject scales at
its upper bound. Pods that find no node then count, and so do those that cannot be created.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Count
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import with_number
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.commands.gate.units import Unit, subject_of_workload
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding, Subject
from kwhatif.simulation.expansion.scaled_workloads import ScaledWorkload
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, added_nodes
from kwhatif.simulation.placement.scaled_out import ScaledOutChange


class FitsAtMaxParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    most: Annotated[Count, Meta(description="Most pods of a workload that may find no node then.")] = 0


class FitsAtMax(Rule[FitsAtMaxParameters]):
    name = "fits-at-max"
    purpose = "Workloads that are scaled fit with all replicas that their autoscalers allow."
    details = (
        "Rolls the change out again with every autoscaled workload of it at its upper bound. Pods that a "
        "quota forbids count, too; preempted pods of others are findings of their own."
    )
    parameters = FitsAtMaxParameters

    def threshold(self) -> str:
        return f"no more than {self.given.most} pods of a workload without a node at maxReplicas"

    def check(self, context: Context) -> Iterator[Finding]:
        scaled = {workload.key for workload in context.scaled}
        units = [unit for unit in context.units if _key(unit) in scaled and self.given.selects(unit)]
        self.checked = len(units)
        if not units:
            return
        run = context.scale_out()
        by_key = {workload.key: workload for workload in run.scaled}
        findings = [finding for unit in units for finding in self._findings(unit, by_key[_key(unit)], run)]
        mine = {"/".join(_key(unit)) for unit in context.units}
        others = [pod.pod for pod in run.pending if pod.workload not in mine and pod.cause == "evicted"]
        already = {pod.pod for pod in context.run.pending}
        pushed_out = [pod for pod in others if pod not in already]
        if len(pushed_out) > self.given.most:
            findings.append(
                self.finding(
                    None,
                    f"{format_count(len(pushed_out), 'pod')} of other workloads without a node at maxReplicas",
                    f"When the workloads of the change scale out, they evict others: {format_some(pushed_out, 5)}",
                    about="evicted",
                    numbers={"pending": len(pushed_out), "most": self.given.most},
                )
            )
        self.summary = (
            f"{len(units) - len({str(finding.subject) for finding in findings if finding.subject})} of {len(units)} fit"
        )
        yield from findings

    def _findings(self, unit: Unit, scaled: ScaledWorkload, run: ScaledOutChange) -> Iterator[Finding]:
        pending = [pod for pod in run.pending if pod.workload == "/".join(scaled.key)]
        failed = [failed_create for failed_create in run.failed if failed_create.origin == scaled.origin]
        missing = sum(failed_create.pods for failed_create in failed)
        if len(pending) + missing <= self.given.most:
            return
        parts = [f"{pod.pod}: {pod.why}" for pod in pending[:1]]
        parts += [f"{format_count(missing, 'pod')} not created: {failed[0].message}"] if failed else []
        yield self.finding_about(
            unit,
            f"{format_count(len(pending) + missing, 'pod')} without a node at {scaled.replicas} replicas",
            f"{scaled.bounds}. {'; '.join(parts)}",
            about="max",
            numbers={
                "replicas": scaled.replicas,
                "pending": len(pending),
                "notCreated": missing,
                "most": self.given.most,
            },
            hint="kwhatif place --at max says where each pod goes",
        )

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        """A lower bound of replicas; then one more node of a pool, or one for each pod without."""
        lacking = int(finding.numbers["pending"])
        for workload in context.scaled:
            if subject_of_workload(workload) == finding.subject:
                fitting = int(finding.numbers["replicas"]) - lacking - int(finding.numbers["notCreated"])
                field = "maxReplicas" if workload.autoscaler.kind == "HorizontalPodAutoscaler" else "maxReplicaCount"
                subject = Subject(
                    kind=workload.autoscaler.kind,
                    namespace=workload.autoscaler.namespace,
                    name=workload.autoscaler.name,
                )
                words = f"set {field}: {fitting} in {workload.autoscaler}"
                yield from with_number(context, subject, field, fitting, words) if fitting > 0 else ()
        for like in context.examples_of_pools if lacking else ():
            yield from (added_nodes(count, like) for count in dict.fromkeys((1, lacking)))


def _key(unit: Unit) -> tuple[str, str, str]:
    return unit.subject.kind, unit.subject.namespace, unit.subject.name
