"""``kwhatif place``: where would these pods go?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.explain_during_run import command, explain_run
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import (
    CallExtenderBind,
    Everything,
    Explained,
    argument,
    option,
)
from kwhatif.cli.output import (
    ReportFiles,
    finish,
    is_mapped,
    render_result,
    reports_of,
    write_result_reports,
)
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.place.options import PlaceOptions
from kwhatif.results.amounts import format_count

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
@expand_groups
def place(
    files: Annotated[
        list[str] | None,
        argument(metavar="FILE", help="Manifests with the pods: files, directories, or '-' for stdin."),
    ] = None,
    filename: Annotated[
        list[str] | None, option("-f", "--filename", metavar="FILE", help="The same, as with kubectl.")
    ] = None,
    everything: Everything = False,
    output: Annotated[Output, typer.Option("-o", "--output", help="The format to print.")] = Output.table,
    report: ReportFiles = None,
    explain: Explained = None,
    call_extender_bind: CallExtenderBind = False,
    *,
    options: PlaceOptions,
    scenario: AutoscaledFlags,
) -> None:
    """Place pods on a cluster as kube-scheduler would, in its order: by priority, then as given.

    Exit codes: 0 the answer is good, 1 it is not: a pod finds no node, is refused or not created, or an update gets
    stuck, 2 usage or input error.
    """
    from kwhatif.commands.place.run import Place
    from kwhatif.commands.place.text import place_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    reports = reports_of(report)
    detailed = output in (Output.wide, Output.json, Output.yaml) or bool(reports)
    inputs = scenario.inputs([*(files or ()), *(filename or ())], with_map=is_mapped(reports))
    case = Scenario(
        replace(inputs, manifest_options=scenario.manifest_options.with_rules_file()),
        replace(scenario.scheduler, call_extender_bind=call_extender_bind),
    )
    question = Place(**vars(options), detailed=detailed)
    if explain:
        explain_run(question, case, explain, output, everything=everything, reports=reports)
    result = ask(question, case)
    result = result.with_context(command=command())
    more = list(_besides(result)) if output is Output.name else []
    write_result_reports(reports, result, lambda: place_blocks(result))
    finish(_render(result, output, everything), result.exit_code, [*result.notes, *more])


def _besides(result: PlaceResult) -> Iterator[str]:
    """What has no place where only names are listed: gaps, and pods that never came to be."""
    for gap in result.fidelity.touching:
        yield f"warning: {gap}"
    for refusal in result.refusals:
        yield f"warning: {refusal.object} is refused: {refusal.message}"
    for failed in result.failed:
        yield f"warning: {failed.owner}: {format_count(failed.pods, 'pod')} not created: {failed.message}"


def _render(result: PlaceResult, output: Output, everything: bool) -> str:
    if output is Output.name:
        from kwhatif.commands.place.text import names_of

        return names_of(result)
    if output is Output.summary:
        from kwhatif.commands.place.text import summary_blocks

        return render_result(result, output, lambda: summary_blocks(result), everything=everything)
    from kwhatif.commands.place.text import place_blocks

    wide = output is Output.wide
    return render_result(
        result, output, lambda: place_blocks(result, wide=wide, everything=everything), everything=everything
    )
