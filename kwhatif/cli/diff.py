"""``kwhatif diff``: what would change?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import (
    ManifestFlags,
    Namespace,
    Replay,
    argument,
    option,
)
from kwhatif.cli.output import (
    check_stdin,
)
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import AutoscalingOptions, Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def diff(
    files: Annotated[
        list[str] | None, argument(metavar="FILE", help="Manifests with the pods, the same for both sides.")
    ] = None,
    against_snapshot: Annotated[
        list[str] | None,
        option(
            "--against-snapshot",
            metavar="FILE",
            help="Another cluster, for side B; --snapshot is that of side A then (repeatable).",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        option(
            "--policy",
            metavar="FILE[@VERSION]",
            help="A KubeSchedulerConfiguration, or 'default', and the Kubernetes "
            "whose rules hold, as in default@1.31; given twice, one for each side.",
        ),
    ] = None,
    old: Annotated[
        list[str] | None, option("--old", metavar="DIR|FILE", help="Manifests of side A alone (repeatable).")
    ] = None,
    new: Annotated[
        list[str] | None, option("--new", metavar="DIR|FILE", help="Manifests of side B alone (repeatable).")
    ] = None,
    replay: Replay = None,
    node_pools: Annotated[
        list[str] | None,
        option(
            "--node-pools",
            metavar="FILE",
            help="NodePools of Karpenter: of side B, else the snapshot's; or one for each side.",
        ),
    ] = None,
    catalogue: Annotated[
        list[str] | None,
        option("--catalogue", metavar="FILE", help="A cloud's offers to Karpenter; given twice, one for each side."),
    ] = None,
    rebuild: Annotated[
        bool,
        option("--rebuild", help="With --node-pools or --catalogue: as if Karpenter's nodes were all bought anew."),
    ] = False,
    deschedule: Annotated[
        list[str] | None,
        option("--deschedule", metavar="FILE", help="A policy of the descheduler; given twice, one for each side."),
    ] = None,
    metrics: Annotated[
        list[str] | None, option("--metrics", metavar="FILE", help="With --deschedule: what was measured (repeatable).")
    ] = None,
    namespace: Namespace = "default",
    *,
    answer: AnswerOptions,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: Annotated[SchedulerOptions, Excluding("policy", "call_extenders")],
    edits: EditOptions,
    scaling: AutoscalingOptions,
) -> None:
    """Compare what two policies, two Kubernetes versions, two clusters or two sets of manifests come to.

    With --node-pools, or --catalogue twice: what Karpenter would buy for the pods that wait, and for how much. With
    --deschedule twice: whom the descheduler would evict by each policy, and what follows.

    Each side places the pods that 'kwhatif place' does. Where both hold the same nodes for the best, the same one is
    chosen: ties are no difference.

    Exit codes: 0 the answer is good, 1 it is not: something differs, 2 usage or input error.
    """
    from kwhatif.commands.autoscale.karpenter_text import pools_diff_blocks
    from kwhatif.commands.autoscale.pools_diff import ComparePools
    from kwhatif.commands.diff.run import Diff
    from kwhatif.commands.diff.text import diff_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    both, a, b, policies, against = files or [], old or [], new or [], policy or [], against_snapshot or []
    source = cluster.require_source()
    pools, types = node_pools or [], catalogue or []
    scales = scaling.autoscale or ()
    check_stdin(*both, *a, *b, source, *against, *policies, *scales, *pools, *types, *(edits.edits or ()))
    if pools or types or rebuild:
        if a or b or policies or against or replay or scales:
            raise UsageError("--node-pools, --catalogue and --rebuild go with manifests for both sides alone")
        case = Scenario(Inputs(source, both, namespace, edits or None, reading), engine)
        compared = ask(ComparePools(catalogue=types, node_pools=pools, rebuild=rebuild), case)
        answer.finish(compared, lambda everything: pools_diff_blocks(compared))
    if deschedule:
        if both or a or b or policies or against or replay:
            raise UsageError("--deschedule compares what is done to pods that run: it goes with no others to place")
        from kwhatif.commands.deschedule.compare_policies import ComparePolicies
        from kwhatif.commands.deschedule.diff_text import deschedule_diff_blocks

        check_stdin(source, *deschedule, *(metrics or ()), *(edits.edits or ()))
        case = Scenario(
            Inputs(
                source,
                (),
                namespace,
                edits or None,
                reading,
                autoscale=scaling.autoscale,
                provision=scaling.provision_seconds,
            ),
            engine,
        )
        found = ask(ComparePolicies(deschedule, metrics or ()), case)
        answer.finish(found, lambda everything: deschedule_diff_blocks(found))
    question = Diff([source, against] if against else [source], policies, both, a, b, replay or ())
    inputs = Inputs(
        namespace=namespace,
        edits=edits or None,
        manifest_options=reading,
        with_map=answer.is_mapped,
        autoscale=scaling.autoscale,
        provision=scaling.provision_seconds,
    )
    result = ask(question, *question.cases(inputs, engine))
    answer.finish(result, lambda everything: diff_blocks(result, everything=everything))
