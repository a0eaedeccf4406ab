"""The question of ``queue``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kwhatif.commands.common_options import ManifestFiles
from kwhatif.commands.queue.result import QueueResult
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario
from kwhatif.simulation.scenario_options import ScenarioOptions


@dataclass(frozen=True, kw_only=True)
class Queue(Question[QueueResult]):
    """Ask Kueue: is this job admitted now, after preempting whom, or whom does it wait behind, for which quota?

    Kueue's cycles go on until nothing changes any more: first for the workloads of the cluster, then for those of the
    manifests. Kueue's own objects in the manifests (ClusterQueue, Cohort, ResourceFlavor, ...) take the place of those
    of the cluster. Without manifests: each ClusterQueue and cohort, and who waits at which place and why.
    """

    takes = ScenarioOptions
    lacks = frozenset({"verb", "assume_empty"})
    no = "a workload of the manifests is not admitted"
    examples = (
        "--snapshot samples/kueue/cluster.yaml",
        "samples/kueue/train.yaml --snapshot samples/kueue/cluster.yaml",
    )
    as_new = True
    schedules: ClassVar[bool] = False

    manifests: ManifestFiles = ()
    kueue_config: Annotated[
        str,
        Flag(
            "--kueue-config",
            metavar="FILE",
            file="in",
            help="Kueue's Configuration, or the ConfigMap with it. Default: Kueue's defaults.",
        ),
    ] = ""

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[QueueResult]:
        from kwhatif.commands.queue.configuration_file import read_configuration
        from kwhatif.commands.queue.queueing import run_queue

        (scenario,) = scenarios
        configuration = read_configuration(self.kueue_config) if self.kueue_config else {}
        result = run_queue(scenario, configuration)
        for gap in result.gaps:
            notes.warn(str(gap))
        return PendingResult((), lambda: result)
