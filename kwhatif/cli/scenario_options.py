"""What a question is asked of: the options for the cluster, its edits, the reading of manifests and the scheduler."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.options import Namespace, RequestFlags
from kwhatif.cli.output import check_stdin
from kwhatif.results.base import Result
from kwhatif.simulation.inputs import AutoscalingOptions, Files, Inputs, SchedulerOptions, Source

if TYPE_CHECKING:
    from kwhatif.simulation.question import Question
    from kwhatif.simulation.scenario import Scenario

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, kw_only=True)
class ScenarioFlags:
    """A command that lacks some of the options says ``Annotated[ScenarioFlags, Excluding("verb", "at")]``."""

    needs_cluster: ClassVar[bool] = True
    reads_rules_file: ClassVar[bool] = False
    """Whether what the nearest rules file leaves out of directories is left out here, too."""

    namespace: Namespace = "default"
    cluster: ClusterFlags
    manifest_options: RequestFlags
    scheduler: SchedulerOptions
    edits: EditOptions

    @property
    def scheduler_options(self) -> SchedulerOptions:
        """Which scheduler decides."""
        return self.scheduler

    def inputs(
        self, files: Files = (), *others: object, with_map: bool = False, source: Source | None = None
    ) -> Inputs:
        """What a question about these files is asked of. ``others`` are files that the question reads, ``source`` is
        the cluster, if that is known already.

        Raises UsageError if no cluster is named, or if standard input would be read more than once.
        """
        if source is None:
            source = self.cluster.require_source() if self.needs_cluster else self.cluster.find_source()
        check_stdin(*files, source, *others, self.scheduler.policy, *(self.edits.edits or ()))
        manifest_options = self.manifest_options.with_rules_file() if self.reads_rules_file else self.manifest_options
        return Inputs(
            source, files, self.namespace, self.edits or None, manifest_options, self.cluster.now, with_map=with_map
        )

    def build_scenario(self, files: Files = (), *others: object, with_map: bool = False) -> Scenario:
        """The same, with the scheduler that decides."""
        from kwhatif.simulation.scenario import Scenario

        return Scenario(self.inputs(files, *others, with_map=with_map), self.scheduler_options)

    def ask(self, question: Question[R], files: Files = (), *others: object, with_map: bool = False) -> R:
        """The answer to a question about these files."""
        from kwhatif.simulation.pipeline import ask

        return ask(question, self.build_scenario(files, *others, with_map=with_map))


@dataclass(frozen=True, kw_only=True)
class AutoscaledFlags(ScenarioFlags):
    """Those of questions that autoscalers have a part in."""

    autoscaling: AutoscalingOptions

    def inputs(
        self, files: Files = (), *others: object, with_map: bool = False, source: Source | None = None
    ) -> Inputs:
        documents = self.autoscaling.autoscale
        found = super().inputs(files, *others, *documents, with_map=with_map, source=source)
        return replace(found, autoscale=documents, provision=self.autoscaling.provision_seconds)
