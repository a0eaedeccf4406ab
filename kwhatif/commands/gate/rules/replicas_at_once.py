"""No workload has more replicas than its autoscaler allows, if these do not fit until the autoscaler acts.

Applying a manifest sets its replicas at once. A HorizontalPodAutoscaler brings them back to its bounds some seconds
later; pods that were evicted for them until then do not come back by that.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.results.gate import Finding


class ReplicasAtOnceParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"


class ReplicasAtOnce(Rule[ReplicasAtOnceParameters]):
    name = "replicas-at-once"
    purpose = "Replicas beyond what autoscalers allow find room until the autoscalers act."
    parameters = ReplicasAtOnceParameters

    def threshold(self) -> str:
        return "replicas of manifests fit until autoscalers act"

    def check(self, context: Context) -> Iterator[Finding]:
        scaled = {"/".join(each.key) for each in context.scaled}
        units = {
            "/".join((unit.subject.kind, unit.subject.namespace, unit.subject.name)): unit for unit in context.units
        }
        mine = {key: unit for key, unit in units.items() if key in scaled and self.given.selects(unit)}
        self.checked = len(mine)
        bad = [each for each in context.run.first_moments if not each.good and each.workload in mine]
        for each in bad:
            yield self.finding_about(
                mine[each.workload],
                "its replicas do not fit before its autoscaler acts",
                each.words,
                about="replicas",
                hint="leave spec.replicas out of the manifest, or set it within the bounds of the autoscaler",
            )
        self.summary = f"{len(bad)} of {self.checked} in the way for a moment"
