"""``kwhatif place``: where would these pods go?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster_options import ClusterOptions
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.explained import command, explained
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import (
    CallExtenderBind,
    EngineOptions,
    Everything,
    Explained,
    Namespace,
    ScalingOptions,
    Seed,
    SendingOptions,
    argument,
    option,
)
from kwhatif.cli.output import check_stdin, finish, rendered
from kwhatif.cli.reports import ReportFiles, is_mapped, reports_of, written
from kwhatif.results.amounts import counted
from kwhatif.whatif.stages.inputs import Inputs

if TYPE_CHECKING:
    from kwhatif.results.place import PlaceResult

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Output(StrEnum):
    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"
    name = "name"
    summary = "summary"


@app.command()
@grouped
def place(
    files: Annotated[
        list[str] | None,
        argument(metavar="FILE", help="Manifests with the pods: files, directories, or '-' for stdin."),
    ] = None,
    filename: Annotated[
        list[str] | None, option("-f", "--filename", metavar="FILE", help="The same, as with kubectl.")
    ] = None,
    namespace: Namespace = "default",
    everything: Everything = False,
    output: Annotated[Output, typer.Option("-o", "--output", help="The format to print.")] = Output.table,
    with_pending: Annotated[
        bool, typer.Option("--with-pending", help="Also place the snapshot's own pending pods.")
    ] = False,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="Simulate the queue over time, with retries, and print the timeline.")
    ] = False,
    no_recreate: Annotated[
        bool, typer.Option("--no-recreate", help="With --timeline: controllers do not recreate evicted pods.")
    ] = False,
    write_snapshot: Annotated[
        str | None,
        option(
            "--write-snapshot",
            metavar="OUT",
            help="Write the cluster afterwards, to ask further; packed if it ends in .gz or .zst.",
        ),
    ] = None,
    report: ReportFiles = None,
    explain: Explained = None,
    seed: Seed = None,
    call_extender_bind: CallExtenderBind = False,
    *,
    cluster: ClusterOptions,
    reading: SendingOptions,
    engine: EngineOptions,
    edits: EditOptions,
    scaling: ScalingOptions,
) -> None:
    """Place pods on a cluster as kube-scheduler would, in its order: by priority, then as given.

    Exit codes: 0 all pods are placed, 1 a pod is not, 2 usage or input error.
    """
    from kwhatif.report.place_text import place_blocks
    from kwhatif.whatif.place.question import Place
    from kwhatif.whatif.stages.question import Case
    from kwhatif.whatif.stages.sequence import ask

    paths, reports = [*(files or ()), *(filename or ())], reports_of(report)
    source = cluster.required()
    check_stdin(*paths, source, *(scaling.autoscale or ()), engine.policy, *(edits.edits or ()))
    question = Place(
        with_pending=with_pending,
        timeline=timeline,
        recreate=not no_recreate,
        seed=seed,
        write=write_snapshot or "",
        detailed=output in (Output.wide, Output.json, Output.yaml) or bool(reports),
    )
    mapped = is_mapped(reports)
    asked = Inputs(source, paths, namespace, edits or None, reading, mapped=mapped, **scaling.inputs)
    case = Case(asked, dataclasses.replace(engine, call_extender_bind=call_extender_bind))
    if explain:
        explained(question, case, explain, output, everything=everything, reports=reports)
    result = ask(question, case)
    result.asked_by(command())
    more = list(_besides(result)) if output is Output.name else []
    written(reports, result, lambda: place_blocks(result))
    finish(_rendered(result, output, everything), result.exit_code, [*result.notes, *more])


def _besides(result: PlaceResult) -> Iterator[str]:
    """What has no place where only names are listed: gaps, and pods that never came to be."""
    for gap in result.fidelity.touching:
        yield f"warning: {gap}"
    for refusal in result.refusals:
        yield f"warning: {refusal.object} is refused: {refusal.message}"
    for failed in result.failed:
        yield f"warning: {failed.owner}: {counted(failed.pods, 'pod')} not created: {failed.message}"


def _rendered(result: PlaceResult, output: Output, everything: bool) -> str:
    if output is Output.name:
        from kwhatif.report.names import names_of

        return names_of(result)
    if output is Output.summary:
        from kwhatif.report.place_summary import summary_blocks

        return rendered(result, output, lambda: summary_blocks(result), everything=everything)
    from kwhatif.report.place_text import place_blocks

    wide = output is Output.wide
    return rendered(
        result, output, lambda: place_blocks(result, wide=wide, everything=everything), everything=everything
    )
