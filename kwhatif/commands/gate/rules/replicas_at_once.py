"""No workload has more replicas than its autoscaler allows, if these do not fit until the autoscaler acts.

Applying a manifest sets its replicas at once. A HorizontalPodAutoscaler brings them back to its bounds some seconds
later; pods that were evicted for them until then do not come back by that.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import with_number
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.commands.gate.units import subject_of_workload
from kwhatif.results.gate import Finding
from kwhatif.simulation.explanation.workload_changes import WorkloadChange


class ReplicasAtOnceParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"


class ReplicasAtOnce(Rule[ReplicasAtOnceParameters]):
    name = "replicas-at-once"
    purpose = "Replicas beyond what autoscalers allow find room until the autoscalers act."
    parameters = ReplicasAtOnceParameters

    def threshold(self) -> str:
        return "replicas of manifests fit until autoscalers act"

    def check(self, context: Context) -> Iterator[Finding]:
        scaled = {"/".join(workload.key) for workload in context.scaled}
        units = {
            "/".join((unit.subject.kind, unit.subject.namespace, unit.subject.name)): unit for unit in context.units
        }
        mine = {key: unit for key, unit in units.items() if key in scaled and self.given.selects(unit)}
        self.checked = len(mine)
        bad = [
            first_moment
            for first_moment in context.run.first_moments
            if not first_moment.good and first_moment.workload in mine
        ]
        for moment in bad:
            yield self.finding_about(
                mine[moment.workload],
                "its replicas do not fit before its autoscaler acts",
                moment.words,
                about="replicas",
            )
        self.summary = f"{len(bad)} of {self.checked} in the way for a moment"

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        for workload in context.scaled:
            if subject_of_workload(workload) == finding.subject:
                words = f"set spec.replicas: {workload.replicas}, which {workload.autoscaler} leaves as it is"
                yield from with_number(context, finding.subject, "replicas", workload.replicas, words)
