"""Options of ``kwhatif autoscale``, and of ``diff`` and ``explain`` where they are about Karpenter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag, InputFile
from kwhatif.simulation.inputs import PROVISION_SECONDS, ProvisionSeconds


@dataclass(frozen=True, kw_only=True)
class _OrderOptions:
    orders: Annotated[
        int,
        Flag(
            "--orders",
            metavar="N",
            least=0,
            shows_default=True,
            help="Try N more orders of nodes and pods (or of Karpenter's maps) to show what chance decides.",
        ),
    ] = 6


@dataclass(frozen=True, kw_only=True)
class KarpenterOptions(_OrderOptions):
    """What Karpenter may buy, and what else is asked of it."""

    catalogue: Annotated[
        str, InputFile("--catalogue", "What the cloud offers to Karpenter: an InstanceTypes document.")
    ] = ""
    node_pools: Annotated[
        Sequence[str], InputFile("--node-pools", "Manifests of NodePools, in place of those of the snapshot.")
    ] = ()
    consolidate: Annotated[
        bool, Flag("--consolidate", help="Also show which nodes Karpenter removes, and why others stay.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class ClusterAutoscalerOptions(_OrderOptions):
    """Which groups of nodes cluster-autoscaler scales, and how far it is followed."""

    groups: Annotated[str, InputFile("--groups", "cluster-autoscaler's groups and flags: a NodeGroups document.")] = ""
    scale_down: Annotated[
        bool, Flag("--scale-down", help="Also show which nodes are unneeded, and why each other node stays.")
    ] = False
    until_quiet: Annotated[
        bool, Flag("--until-quiet", help="Let scheduler and autoscaler take turns until nothing changes.")
    ] = False
    provision_seconds: ProvisionSeconds = PROVISION_SECONDS


def _file(name: str, help: str) -> Flag:
    return Flag(name, metavar="FILE", help=help)


@dataclass(frozen=True)
class CatalogueOptions:
    """What ``kwhatif autoscale catalogue`` makes a catalogue of, where that is not a snapshot."""

    kwok: Annotated[str, _file("--kwok", "instance_types.json of the KWOK provider.")] = ""
    types: Annotated[str, _file("--ec2-types", "What aws ec2 describe-instance-types prints, as JSON.")] = ""
    offerings: Annotated[str, _file("--ec2-offerings", "What describe-instance-type-offerings prints, by zone.")] = ""
    spot: Annotated[str, _file("--ec2-spot-prices", "What describe-spot-price-history prints.")] = ""
    prices: Annotated[str, _file("--on-demand-prices", 'On-demand prices per hour: {"m5.large": 0.1}.')] = ""
    azure: Annotated[str, _file("--azure-skus", "What az vm list-skus -o json prints.")] = ""
    gcp: Annotated[str, _file("--gcp-machine-types", "What gcloud compute machine-types list prints, as JSON.")] = ""
    spot_prices: Annotated[str, _file("--spot-prices", "Spot prices per hour, of Azure's or Google's types.")] = ""
    node_class: Annotated[
        str,
        Flag("--node-class", metavar="NAME", help="With --ec2-types: the EC2NodeClass, if the snapshot has several."),
    ] = ""

    def check(self, *, with_snapshot: bool) -> None:
        """Raise UsageError unless they name one source, beside a snapshot if that is one."""
        if sum(map(bool, (with_snapshot and not self.types, self.kwok, self.types, self.azure, self.gcp))) > 1:
            clouds = "--ec2-types FILE (with --ec2-offerings FILE), --azure-skus FILE and --gcp-machine-types FILE"
            raise UsageError(f"expected one of --snapshot, --kwok FILE, {clouds}")
        if bool(self.types) != bool(self.offerings):
            raise UsageError("--ec2-types and --ec2-offerings go together")
        if self.node_class and not (self.types and with_snapshot):
            raise UsageError("--node-class needs --ec2-types and --snapshot")

    @property
    def is_of_cloud(self) -> bool:
        """Whether the types are those of a cloud, so that no cluster has to be named."""
        return bool(self.kwok or self.types or self.azure or self.gcp)


@dataclass(frozen=True, kw_only=True)
class ComparePoolsOptions:
    """What ``kwhatif diff`` compares of Karpenter: NodePools, or catalogues."""

    node_pools: Annotated[
        Sequence[str],
        InputFile("--node-pools", "NodePools of Karpenter: of side B, else the snapshot's; or one for each side."),
    ] = ()
    catalogue: Annotated[
        Sequence[str], InputFile("--catalogue", "A cloud's offers to Karpenter; given twice, one for each side.")
    ] = ()
    rebuild: Annotated[
        bool,
        Flag("--rebuild", help="With --node-pools or --catalogue: as if Karpenter's nodes were all bought anew."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class ExplainNodesOptions:
    """What ``kwhatif explain`` takes to say which nodes Karpenter gives back: that is all it tells of nodes so far."""

    consolidation: Annotated[
        bool,
        Flag("--consolidation", shell=True, help="Explain nodes instead of pods: does Karpenter remove them, and why?"),
    ] = False
    catalogue: Annotated[str, InputFile("--catalogue", "With --consolidation: what the cloud offers to Karpenter.")] = (
        ""
    )
    node_pools: Annotated[
        Sequence[str], InputFile("--node-pools", "With --consolidation: NodePools in place of the snapshot's.")
    ] = ()
