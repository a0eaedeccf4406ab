"""``kwhatif autoscale plan``: which nodes would cluster-autoscaler or Karpenter add or remove?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import argument
from kwhatif.cli.scenario_options import ScenarioFlags
from kwhatif.commands.autoscale.options import AutoscaleOptions, ClusterAutoscalerOptions, KarpenterOptions
from kwhatif.simulation.flag import values_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def plan(
    files: Annotated[
        list[str] | None,
        argument(metavar="FILE", help="Manifests: files, directories, or '-' for stdin. None: pods of the snapshot."),
    ] = None,
    *,
    options: AutoscaleOptions,
    answer: AnswerOptions,
    scenario: Annotated[ScenarioFlags, Excluding("verb", "at")],
) -> None:
    """Say what cluster-autoscaler 1.36 or Karpenter 1.13 would do with pods that find no node, and with nodes that are
    hardly used: the one with --groups, the other with --catalogue, both with both.

    The scheduler goes first, with the pods of the manifests and those that wait in the snapshot. What it leaves without
    a node is what the autoscaler looks at: its options, the expander's choice, the plan, and why no group helps a pod;
    or the NodeClaims that are made, what they cost, and why no NodePool helps a pod.

    Exit codes: 0 the answer is good, 1 it is not: a pod gets no node, 2 usage or input error.
    """
    from kwhatif.commands.autoscale.karpenter_text import autoscalers_blocks, karpenter_blocks
    from kwhatif.commands.autoscale.run import Autoscale, Autoscalers, Karpenter
    from kwhatif.commands.autoscale.text import autoscale_blocks
    from kwhatif.simulation.pipeline import ask

    case = scenario.build_scenario(
        files or (), options.groups, options.catalogue, *options.node_pools, with_map=answer.is_mapped
    )
    by_groups = Autoscale(**values_of(ClusterAutoscalerOptions, options))
    by_pools = Karpenter(**values_of(KarpenterOptions, options))
    if not options.catalogue:
        plan = ask(by_groups, case)
        answer.finish(plan, lambda everything: autoscale_blocks(plan))
    if not options.groups:
        claims = ask(by_pools, case)
        answer.finish(claims, lambda everything: karpenter_blocks(claims))
    both = ask(Autoscalers(by_groups, by_pools), case)
    answer.finish(both, lambda everything: autoscalers_blocks(both))
