"""``kwhatif explain``: why does a pod go where it goes, or nowhere?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.completion import complete_node
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import AnyNamespace, ManifestFlags, PodFiles, PodWords, option
from kwhatif.cli.output import (
    ReportFiles,
    check_stdin,
    finish,
    is_mapped,
    render_result,
    reports_of,
    write_result_reports,
)
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Output(StrEnum):
    text = "text"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


@app.command()
@expand_groups
def explain(
    pods: PodWords = None,
    filename: PodFiles = None,
    namespace: AnyNamespace = None,
    output: Annotated[Output, typer.Option("-o", "--output", help="The format to print.")] = Output.text,
    node: Annotated[
        str | None,
        option("--node", metavar="NAME", help="Only this node: why (not) there?", autocompletion=complete_node),
    ] = None,
    versus: Annotated[
        str | None,
        option(
            "--versus",
            metavar="NODE",
            help="Compare this node with the chosen one, or with that of --node.",
            autocompletion=complete_node,
        ),
    ] = None,
    after: Annotated[
        list[str] | None,
        option(
            "--after",
            metavar="FILE",
            help="Manifests that are placed before: a pod of theirs is explained as it was tried (repeatable).",
        ),
    ] = None,
    no_fixes: Annotated[bool, typer.Option("--no-fixes", help="Do not look for changes that would help.")] = False,
    consolidation: Annotated[
        bool,
        option("--consolidation", help="Of nodes, named in place of pods: does Karpenter give them back? Why?"),
    ] = False,
    catalogue: Annotated[
        str, option("--catalogue", metavar="FILE", help="With --consolidation: what the cloud offers to Karpenter.")
    ] = "",
    node_pools: Annotated[
        list[str] | None,
        option("--node-pools", metavar="FILE", help="With --consolidation: NodePools in place of the snapshot's."),
    ] = None,
    deschedule: Annotated[
        str,
        option("--deschedule", metavar="FILE", help="Why does the descheduler, by this policy, evict the pod, or not?"),
    ] = "",
    metrics: Annotated[
        list[str] | None, option("--metrics", metavar="FILE", help="With --deschedule: what was measured (repeatable).")
    ] = None,
    report: ReportFiles = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every node, however many there are.")] = False,
    *,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
) -> None:
    """Show every node's verdict on a pod, the scores, the evictions, and the smallest changes that would help.

    Each pod is looked at by itself; one that runs already, as if it had not got its node yet.

    Exit codes: 0 the answer is good, 1 it is not: a pod finds no node (of a node: it stays), 2 usage or input
    error.
    """
    from kwhatif.commands.autoscale.karpenter_text import nodes_explained_blocks
    from kwhatif.commands.autoscale.run import ExplainNodes
    from kwhatif.commands.explain.run import Explain, ExplainRun
    from kwhatif.commands.explain.text import explain_blocks
    from kwhatif.commands.place.run import Place
    from kwhatif.simulation.explanation.explain import ExplainOptions
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    words, offered, before = pods or [], filename or [], after or []
    reports = reports_of(report)
    source = cluster.require_source()
    if consolidation or catalogue or node_pools:
        if not consolidation or not catalogue or not words:
            raise UsageError("--consolidation takes names of nodes and --catalogue FILE")
        if filename or before or node or versus:
            raise UsageError("--consolidation is about nodes: it goes with none of the options about pods")
        check_stdin(source, catalogue, *(node_pools or ()), engine.policy, *(edits.edits or ()))
        case = Scenario(Inputs(source, (), namespace or "default", edits or None, reading), engine)
        nodes = ask(ExplainNodes(names=words, catalogue=catalogue, node_pools=node_pools or ()), case)
        write_result_reports(reports, nodes, lambda: nodes_explained_blocks(nodes))
        shown = render_result(nodes, output, lambda: nodes_explained_blocks(nodes), everything=everything)
        finish(shown, nodes.exit_code, nodes.notes)
        return
    if deschedule:
        if offered or before or node or versus:
            raise UsageError("--deschedule is about pods that run: it goes with none of the options about placing them")
        from kwhatif.commands.deschedule.explain_pods import ExplainDescheduling
        from kwhatif.commands.deschedule.explained_text import deschedule_explained_blocks

        check_stdin(source, deschedule, *(metrics or ()), engine.policy, *(edits.edits or ()))
        case = Scenario(Inputs(source, (), namespace or "default", edits or None, reading), engine)
        told = ask(ExplainDescheduling(words=words, deschedule=deschedule, metrics=metrics or ()), case)
        write_result_reports(reports, told, lambda: deschedule_explained_blocks(told))
        shown = render_result(told, output, lambda: deschedule_explained_blocks(told), everything=everything)
        finish(shown, told.exit_code, told.notes)
        return
    check_stdin(*words, *offered, *before, source, engine.policy, *(edits.edits or ()))
    looking = ExplainOptions(node or "", versus or "", not no_fixes)
    question = (
        ExplainRun(Place(), words, namespace, offered, looking)
        if before
        else Explain(words, offered, namespace, explain_options=looking)
    )
    asked = Inputs(source, before, namespace or "default", edits or None, reading, with_map=is_mapped(reports))
    result = ask(question, Scenario(asked, engine))
    write_result_reports(reports, result, lambda: explain_blocks(result, everything=everything))
    blocks = explain_blocks(result, everything=everything)
    text = render_result(result, output, lambda: blocks, everything=everything)
    finish(text, result.exit_code, result.notes)
