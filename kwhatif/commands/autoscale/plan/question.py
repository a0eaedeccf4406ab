"""The question of ``autoscale plan``: of cluster-autoscaler, of Karpenter, or of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kwhatif.commands.autoscale.karpenter_result import AutoscalersResult, KarpenterResult
from kwhatif.commands.autoscale.options import ClusterAutoscalerOptions, KarpenterOptions
from kwhatif.commands.autoscale.result import AutoscaleResult
from kwhatif.commands.common_options import ManifestFiles
from kwhatif.errors import UsageError
from kwhatif.simulation.command import Command
from kwhatif.simulation.flag import values_of
from kwhatif.simulation.scenario_options import ScenarioOptions


@dataclass(frozen=True, kw_only=True)
class Plan(KarpenterOptions, ClusterAutoscalerOptions, Command[AutoscaleResult | KarpenterResult | AutoscalersResult]):
    """Say what cluster-autoscaler 1.36 or Karpenter 1.13 would do with pods that find no node, and with nodes that are
    hardly used: the one with --groups, the other with --catalogue, both with both.

    The scheduler goes first, with the pods of the manifests and those that wait in the snapshot. What it leaves without
    a node is what the autoscaler looks at: its options, the expander's choice, the plan, and why no group helps a pod;
    or the NodeClaims that are made, what they cost, and why no NodePool helps a pod.
    """

    takes = ScenarioOptions
    lacks: ClassVar = frozenset({"verb", "at"})
    exit_1_when = "a pod gets no node"
    examples = (
        "samples/autoscaled/training.yaml --snapshot samples/autoscaled/cluster.yaml --groups "
        "samples/autoscaled/groups.yaml",
        "samples/karpenter/web.yaml --snapshot samples/karpenter/cluster.yaml --catalogue "
        "samples/karpenter/catalogue.yaml",
    )
    functions: ClassVar[Mapping[str, str]] = {
        "autoscale": "kwhatif.commands.autoscale.run:Autoscale",
        "karpenter": "kwhatif.commands.autoscale.run:Karpenter",
    }

    manifests: ManifestFiles = ()

    @classmethod
    def has_gaps(cls) -> bool:
        return True

    def choose(self) -> Command[Any]:
        from kwhatif.commands.autoscale.run import Autoscale, Autoscalers, Karpenter

        if not self.groups and not self.catalogue:
            raise UsageError(
                "expected --groups FILE (cluster-autoscaler) or --catalogue FILE (Karpenter), found neither; "
                "kwhatif autoscale groups prints those of a snapshot"
            )
        if not self.catalogue and (self.node_pools or self.consolidate):
            raise UsageError("--node-pools and --consolidate are Karpenter's: they need --catalogue FILE")
        if not self.groups and (self.scale_down or self.until_quiet):
            raise UsageError("--scale-down and --until-quiet are cluster-autoscaler's: they need --groups FILE")
        by_groups = Autoscale(manifests=self.manifests, **values_of(ClusterAutoscalerOptions, self))
        by_pools = Karpenter(manifests=self.manifests, **values_of(KarpenterOptions, self))
        if not self.catalogue:
            return by_groups
        if not self.groups:
            return by_pools
        return Autoscalers(manifests=self.manifests, cluster_autoscaler=by_groups, karpenter=by_pools)
