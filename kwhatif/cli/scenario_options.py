"""What a question is asked of: the options for the cluster, its edits, the reading of manifests and the scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.options import Namespace
from kwhatif.cli.output import check_stdin
from kwhatif.simulation.inputs import Files, Inputs, ManifestOptions, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.simulation.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class ScenarioFlags:
    """A command that lacks some of the options says ``Annotated[ScenarioFlags, Excluding("verb", "at")]``."""

    namespace: Namespace = "default"
    cluster: ClusterFlags
    manifest_options: ManifestOptions
    scheduler: SchedulerOptions
    edits: EditOptions

    def build_scenario(self, files: Files = (), *others: object, with_map: bool = False) -> Scenario:
        """What a question about these files is asked of. ``others`` are files that the question reads.

        Raises UsageError if no cluster is named, or if standard input would be read more than once.
        """
        from kwhatif.simulation.scenario import Scenario

        source, edits = self.cluster.require_source(), self.edits
        check_stdin(*files, source, *others, self.scheduler.policy, *(edits.edits or ()))
        inputs = Inputs(
            source, files, self.namespace, edits or None, self.manifest_options, self.cluster.now, with_map=with_map
        )
        return Scenario(inputs, self.scheduler)
