"""The question of ``explain``: about pods, about nodes that Karpenter gives back, or about the descheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from kwhatif.commands.autoscale.karpenter_result import NodesExplained
from kwhatif.commands.autoscale.options import ExplainNodesOptions
from kwhatif.commands.common_options import CLUSTER, MANIFESTS
from kwhatif.commands.deschedule.options import ExplainDeschedulingOptions
from kwhatif.commands.deschedule.result import DescheduleExplained
from kwhatif.commands.explain.options import ExplainAfterOptions
from kwhatif.errors import UsageError
from kwhatif.results.explain import ExplainResult
from kwhatif.simulation.command import Command, Output
from kwhatif.simulation.flag import values_of
from kwhatif.simulation.scenario_options import RECURSIVE, AutoscaledOptions, PodOptions


@dataclass(frozen=True, kw_only=True)
class _ExplainPods(ExplainAfterOptions, PodOptions, Command[ExplainResult]):
    """Show every node's verdict on a pod, the scores, the evictions, and the smallest changes that would help.

    Each pod is explained by itself, one that runs as if it were to be scheduled today. With --autoscale, pods that wait
    are placed together.
    """

    takes = AutoscaledOptions
    lacks: ClassVar[frozenset[str]] = frozenset({"verb", "at"})
    exit_1_when = "a pod finds no node (of a node: it stays)"
    prints = Output(("text", "wide", "json", "yaml", "markdown"), rows_help="Show every node.")
    examples = (
        f"deployment/web {CLUSTER}",
        f"{MANIFESTS}/too-big.yaml {CLUSTER} --node gpu-b-1",
        f"reindex-3-2f9gk --after {MANIFESTS}/checkout.yaml {CLUSTER}",
    )

    recursive: Annotated[bool, RECURSIVE] = False

    @classmethod
    def has_gaps(cls) -> bool:
        return True

    def choose(self) -> Command[Any]:
        from kwhatif.commands.explain.run import question_about

        offered = self.files
        if self.recursive:
            from kwhatif.snapshot.read.directories import gather_directories

            offered = gather_directories([manifest for manifest in offered if isinstance(manifest, str)])
        return question_about(self.pods, offered, self.namespace, self)


@dataclass(frozen=True, kw_only=True)
class Explain(
    _ExplainPods,
    ExplainNodesOptions,
    ExplainDeschedulingOptions,
    Command[ExplainResult | NodesExplained | DescheduleExplained],
):
    """Show every node's verdict on a pod, the scores, the evictions, and the smallest changes that would help.

    Each pod is explained by itself, one that runs as if it were to be scheduled today. With --autoscale, pods that wait
    are placed together.
    """

    functions: ClassVar[Mapping[str, str]] = {
        "explain": "question:_ExplainPods",
        "explain_consolidation": "kwhatif.commands.autoscale.run:ExplainNodes",
        "explain_descheduling": "kwhatif.commands.deschedule.explain_pods:ExplainDescheduling",
    }

    def choose(self) -> Command[Any]:
        words: Sequence[Any] = self.pods
        about_pods = self.files or self.after or self.node or self.versus
        karpenter = values_of(ExplainNodesOptions, self)
        if any(karpenter.values()):
            if not self.consolidation or not self.catalogue or not words:
                raise UsageError("--consolidation takes names of nodes and --catalogue FILE")
            if about_pods:
                raise UsageError("--consolidation explains nodes: it takes no options about pods")
            from kwhatif.commands.autoscale.run import ExplainNodes

            return ExplainNodes(nodes=words, **karpenter)
        if self.deschedule:
            if about_pods:
                raise UsageError("--deschedule explains pods that run: it takes no options about placing them")
            from kwhatif.commands.deschedule.explain_pods import ExplainDescheduling

            return ExplainDescheduling(words=words, **values_of(ExplainDeschedulingOptions, self))
        return super().choose()
