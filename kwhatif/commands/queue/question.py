"""The question of ``queue``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from kwhatif.commands.common_options import ManifestFiles
from kwhatif.commands.queue.result import QueueResult
from kwhatif.simulation.inputs import Notes, SchedulerOptions
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario
from kwhatif.simulation.scenario_options import ScenarioOptions

_SCHEDULER = {field.name for field in fields(SchedulerOptions)} - {"kueue_config", "kubernetes_version"}
"""No pod is scheduled."""


@dataclass(frozen=True, kw_only=True)
class Queue(Question[QueueResult]):
    """Say whether Kueue admits a job now and whom it preempts, or for which quota it waits and behind whom.

    Kueue's cycles run until nothing changes: first for the workloads of the cluster, then for those of the
    manifests. Kueue's own objects in the manifests (ClusterQueue, Cohort, ResourceFlavor, ...) take the place of those
    of the cluster. Without manifests: each ClusterQueue and cohort, and who waits at which place and why.
    """

    takes = ScenarioOptions
    lacks = frozenset({"verb", *_SCHEDULER})
    exit_1_when = "a workload of the manifests is not admitted"
    examples = (
        "--snapshot samples/kueue/cluster.yaml",
        "samples/kueue/train.yaml --snapshot samples/kueue/cluster.yaml",
    )
    as_new = True
    schedules: ClassVar[bool] = False
    starts_jobs: ClassVar[bool] = False

    manifests: ManifestFiles = ()

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[QueueResult]:
        from kwhatif.commands.queue.report import result_of
        from kwhatif.simulation.queueing.queue_run import decide_queues

        (scenario,) = scenarios
        result = result_of(scenario, decide_queues(scenario, tries_fixes=True))
        for gap in result.gaps:
            notes.warn(str(gap))
        return Answer(result)
