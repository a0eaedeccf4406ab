"""``kwhatif explain``: why does a pod go where it goes, or nowhere?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterOptions
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import AnyNamespace, EngineOptions, PodFiles, PodWords, ReadingOptions, option
from kwhatif.cli.output import check_stdin, finish, rendered
from kwhatif.cli.reports import ReportFiles, is_mapped, reports_of, written
from kwhatif.whatif.stages.inputs import Inputs

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Output(StrEnum):
    text = "text"
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
    node: Annotated[str | None, option("--node", metavar="NAME", help="Only this node: why (not) there?")] = None,
    versus: Annotated[
        str | None,
        option("--versus", metavar="NODE", help="Compare this node with the chosen one, or with that of --node."),
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

    Exit codes: 0 all pods find a node, 1 a pod does not, 2 usage or input error.
    """
    from kwhatif.report.explain_text import explain_blocks
    from kwhatif.whatif.explain.as_tried import AsTried
    from kwhatif.whatif.explain.explain import Looking
    from kwhatif.whatif.explain.question import Explain
    from kwhatif.whatif.place.question import Place
    from kwhatif.whatif.stages.question import Case
    from kwhatif.whatif.stages.sequence import ask

    words, offered, before = pods or [], filename or [], after or []
    reports = reports_of(report)
    source = cluster.required()
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
    text = rendered(result, output, lambda: explain_blocks(result, everything=everything))
    finish(text, result.exit_code, result.notes)
