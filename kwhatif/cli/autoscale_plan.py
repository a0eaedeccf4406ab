"""``kwhatif autoscale plan``: which nodes would cluster-autoscaler or Karpenter add or remove?"""

from __future__ import annotations

from typing import Annotated, TypeVar

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import (
    ManifestFlags,
    Namespace,
    ProvisionTime,
    argument,
    option,
    seconds,
)
from kwhatif.cli.output import (
    check_stdin,
)
from kwhatif.errors import UsageError
from kwhatif.results.base import Result
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

R = TypeVar("R", bound=Result)

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def plan(
    files: Annotated[
        list[str] | None,
        argument(metavar="FILE", help="Manifests: files, directories, or '-' for stdin. None: pods of the snapshot."),
    ] = None,
    groups: Annotated[
        str,
        option("--groups", metavar="FILE", help="cluster-autoscaler's groups and flags: a NodeGroups document."),
    ] = "",
    catalogue: Annotated[
        str,
        option("--catalogue", metavar="FILE", help="What the cloud offers to Karpenter: an InstanceTypes document."),
    ] = "",
    node_pools: Annotated[
        list[str] | None,
        option("--node-pools", metavar="FILE", help="Manifests of NodePools, in place of those of the snapshot."),
    ] = None,
    consolidate: Annotated[
        bool, typer.Option("--consolidate", help="Also say which nodes Karpenter gives back, and why others stay.")
    ] = False,
    namespace: Namespace = "default",
    scale_down: Annotated[
        bool, typer.Option("--scale-down", help="Also say which nodes are unneeded, and what keeps each other one.")
    ] = False,
    until_quiet: Annotated[
        bool,
        typer.Option("--until-quiet", help="Let scheduler and autoscaler take turns until nothing more happens."),
    ] = False,
    provision_time: ProvisionTime = "2m",
    orders: Annotated[
        int,
        typer.Option(
            "--orders",
            metavar="N",
            min=0,
            help="Look in N more orders of nodes and pods, or of Karpenter's maps, to tell what is left to chance.",
        ),
    ] = 6,
    *,
    answer: AnswerOptions,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
) -> None:
    """Say what cluster-autoscaler 1.36 or Karpenter 1.13 would do with pods that find no node, and with nodes that are
    hardly used: the one with --groups, the other with --catalogue, both with both.

    The scheduler goes first, with the pods of the manifests and those that wait in the snapshot. What it leaves without
    a node is what the autoscaler looks at: its options, the expander's choice, the plan, and why no group helps a pod;
    or the NodeClaims that are made, what they cost, and why no NodePool helps a pod.

    Exit codes: 0 the answer is good, 1 it is not: a pod gets no node, 2 usage or input error.
    """
    from kwhatif.commands.autoscale.run import Autoscale, Autoscalers, Karpenter
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    if not groups and not catalogue:
        raise UsageError("expected --groups FILE (cluster-autoscaler) or --catalogue FILE (Karpenter), found neither")
    if not catalogue and (node_pools or consolidate):
        raise UsageError("--node-pools and --consolidate are about Karpenter: they take --catalogue FILE")
    if not groups and (scale_down or until_quiet):
        raise UsageError("--scale-down and --until-quiet are about cluster-autoscaler: they take --groups FILE")
    source = cluster.require_source()
    check_stdin(*(files or ()), source, groups, catalogue, *(node_pools or ()), engine.policy, *(edits.edits or ()))
    wait = int(seconds(provision_time, "--provision-time"))
    provision = wait if until_quiet else None
    case = Scenario(Inputs(source, files or (), namespace, edits or None, reading, with_map=answer.is_mapped), engine)
    by_groups = Autoscale(groups=groups, scale_down=scale_down, orders=orders, provision=provision)
    by_pools = Karpenter(
        catalogue=catalogue, node_pools=tuple(node_pools or ()), consolidate=consolidate, orders=orders
    )

    if not catalogue:
        from kwhatif.commands.autoscale.text import autoscale_blocks

        plan = ask(by_groups, case)
        answer.finish(plan, lambda everything: autoscale_blocks(plan))
    if not groups:
        from kwhatif.commands.autoscale.karpenter_text import karpenter_blocks

        claims = ask(by_pools, case)
        answer.finish(claims, lambda everything: karpenter_blocks(claims))
    from kwhatif.commands.autoscale.karpenter_text import autoscalers_blocks

    both = ask(Autoscalers(by_groups, by_pools), case)
    answer.finish(both, lambda everything: autoscalers_blocks(both))
