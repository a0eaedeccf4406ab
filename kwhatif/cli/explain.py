"""``kwhatif explain``: why does a pod go where it goes, or nowhere?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterOptions
from kwhatif.cli.completion import complete_node
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import AnyNamespace, EngineOptions, PodFiles, PodWords, ReadingOptions, option
from kwhatif.cli.output import check_stdin, finish, rendered
from kwhatif.cli.reports import ReportFiles, is_mapped, reports_of, written
from kwhatif.errors import UsageError
from kwhatif.whatif.stages.inputs import Inputs

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Output(StrEnum):
    text = "text"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


@app.command()
@grouped
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
    report: ReportFiles = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every node, however many there are.")] = False,
    *,
    cluster: ClusterOptions,
    reading: ReadingOptions,
    engine: EngineOptions,
    edits: EditOptions,
) -> None:
    """Show every node's verdict on a pod, the scores, the evictions, and the smallest changes that would help.

    Each pod is looked at by itself; one that runs already, as if it had not got its node yet.

    Exit codes: 0 all pods find a node (or all nodes go), 1 one does not, 2 usage or input error.
    """
    from kwhatif.report.explain_text import explain_blocks
    from kwhatif.report.karpenter_text import nodes_explained_blocks
    from kwhatif.whatif.autoscale.question import ExplainNodes
    from kwhatif.whatif.explain.as_tried import AsTried
    from kwhatif.whatif.explain.explain import Looking
    from kwhatif.whatif.explain.question import Explain
    from kwhatif.whatif.place.question import Place
    from kwhatif.whatif.stages.question import Case
    from kwhatif.whatif.stages.sequence import ask

    words, offered, before = pods or [], filename or [], after or []
    reports = reports_of(report)
    source = cluster.required()
    if consolidation or catalogue or node_pools:
        if not consolidation or not catalogue or not words:
            raise UsageError("--consolidation takes names of nodes and --catalogue FILE")
        if filename or before or node or versus:
            raise UsageError("--consolidation is about nodes: it goes with none of the options about pods")
        check_stdin(source, catalogue, *(node_pools or ()), engine.policy, *(edits.edits or ()))
        case = Case(Inputs(source, (), namespace or "default", edits or None, reading), engine)
        nodes = ask(ExplainNodes(words, catalogue, tuple(node_pools or ())), case)
        written(reports, nodes, lambda: nodes_explained_blocks(nodes))
        shown = rendered(nodes, output, lambda: nodes_explained_blocks(nodes), everything=everything)
        finish(shown, nodes.exit_code, nodes.notes)
        return
    check_stdin(*words, *offered, *before, source, engine.policy, *(edits.edits or ()))
    looking = Looking(node or "", versus or "", not no_fixes)
    question = (
        AsTried(Place(), words, namespace, offered, looking)
        if before
        else Explain(words, offered, namespace, looking=looking)
    )
    asked = Inputs(source, before, namespace or "default", edits or None, reading, mapped=is_mapped(reports))
    result = ask(question, Case(asked, engine))
    written(reports, result, lambda: explain_blocks(result, everything=everything))
    blocks = explain_blocks(result, everything=everything)
    text = rendered(result, output, lambda: blocks, everything=everything)
    finish(text, result.exit_code, result.notes)
