"""``kwhatif gate``: may this change go into the cluster?"""

from __future__ import annotations

import dataclasses
import os
import re
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.times import parse_time
from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.explain_during_run import command, explain_run
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import (
    Everything,
    Explained,
    Namespace,
    RequestFlags,
    Seed,
    argument,
    option,
)
from kwhatif.cli.output import (
    HTML,
    Reports,
    all_gaps_are_shown,
    check_stdin,
    finish,
    is_mapped,
    page,
    reports_of,
    screen,
    write_reports,
)
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import AutoscalingOptions, Inputs, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.results.gate import GateResult

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


class Formats(StrEnum):
    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"
    junit = "junit"
    sarif = "sarif"
    github = "github"
    gitlab = "gitlab"
    tap = "tap"


@app.command()
@expand_groups
def gate(
    files: Annotated[
        list[str],
        argument(
            metavar="DIR|FILE", help="Manifests as they are to be: directories, files, REVISION:PATH of git, or '-'."
        ),
    ],
    base: Annotated[
        list[str] | None,
        option(
            "--base",
            metavar="DIR|FILE",
            help="Manifests as they were, or a revision of git: only differences are judged. Default: everything is "
            "(repeatable).",
        ),
    ] = None,
    config: Annotated[
        str | None,
        option(
            "--config",
            metavar="FILE",
            envvar="KWHATIF_CONFIG",
            help="The rules: a GatePolicy. Default: .kwhatif.yaml here or above, up to the top of the repository.",
        ),
    ] = None,
    rule: Annotated[
        list[str] | None,
        option(
            "--rule",
            metavar="NAME=LEVEL",
            envvar="KWHATIF_RULE",
            help="Set a rule's level to error, warn or off, whatever the file says (repeatable).",
        ),
    ] = None,
    no_exemptions: Annotated[
        bool,
        typer.Option(
            "--no-exemptions",
            envvar="KWHATIF_NO_EXEMPTIONS",
            help="Ignore annotations that exempt workloads from rules.",
        ),
    ] = False,
    output: Annotated[
        Formats, typer.Option("-o", "--output", envvar="KWHATIF_OUTPUT", help="The format to print.")
    ] = Formats.table,
    report: Annotated[
        list[str] | None,
        option(
            "--report",
            metavar="FORMAT=FILE",
            help="Also write a report to a file, in any format of -o, or html, a page to look at (repeatable).",
        ),
    ] = None,
    recursive: Annotated[
        bool, typer.Option("--recursive/--no-recursive", "-R", help="Descend into subdirectories.")
    ] = True,
    with_pending: Annotated[
        bool, typer.Option("--with-pending", help="The snapshot's own pending pods compete for room, too.")
    ] = False,
    everything: Everything = False,
    explain: Explained = None,
    now: Annotated[
        str | None,
        option(
            "--now",
            metavar="TIME",
            envvar="KWHATIF_NOW",
            help="The time for which the snapshot's age is told, such as 2026-03-01T12:00:00Z.",
        ),
    ] = None,
    namespace: Namespace = "default",
    seed: Seed = None,
    *,
    cluster: ClusterFlags,
    reading: RequestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
    scaling: AutoscalingOptions,
) -> None:
    """Judge a change before it is merged: roll it out on paper, and let rules look at what comes of it.

    Options count more than KWHATIF_* variables, and those more than the rules file. KWHATIF_POLICY stands for --policy.

    Exit codes: 0 the answer is good, 1 it is not: a rule of level error finds something, 2 usage or input error.
    """
    from kwhatif.commands.gate.run import Gate
    from kwhatif.simulation.pipeline import ask

    reports = reports_of(report, [HTML, *(each for each in Formats if each is not Formats.wide)])
    question = Gate(
        base=base,
        config=config,
        rule=rule or (),
        exemptions=not no_exemptions,
        recursive=recursive,
        with_pending=with_pending,
        seed=seed,
    )
    engine = dataclasses.replace(engine, policy=engine.policy or os.environ.get("KWHATIF_POLICY"))
    source = cluster.find_source(question.named_cluster)
    moment, mapped = _moment(now), is_mapped(reports)
    asked = Inputs(
        source,
        files,
        namespace,
        edits or None,
        reading,
        moment,
        mapped,
        autoscale=scaling.autoscale,
        provision=scaling.provision_seconds,
    )
    case = question.case(asked, engine)
    autoscale = case.inputs.autoscale
    check_stdin(*files, *(base or ()), source, *autoscale, case.scheduler_options.policy, config, *(edits.edits or ()))
    if explain:
        explain_run(question, case, explain, output, everything=everything, reports=reports)
    result = ask(question, case)
    result = result.with_context(command=command())
    _finish(result, output, reports, everything=everything)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        if _MOMENT.fullmatch(text):
            return parse_time(text)
    except ValueError:
        pass
    raise UsageError(f"--now {text}: expected a time such as 2026-03-01T12:00:00Z")


def _finish(result: GateResult, output: Formats, reports: Reports, *, everything: bool) -> None:
    """Print the one report and write the others, which have to be rendered all before any is written."""
    from kwhatif.commands.gate.formats.formats import FORMATS
    from kwhatif.commands.gate.formats.table import gate_table

    if output in (Formats.table, Formats.wide):
        # Readers of a log have no terminal to ask again from.
        everything = everything or output is Formats.wide or screen().width is None
        text = gate_table(result, screen(), everything=everything, gaps=all_gaps_are_shown())
    else:
        text = FORMATS[output](result)
    write_reports(reports, lambda name: page(result) if name == HTML else FORMATS[name](result))
    finish(text, result.exit_code, result.notes)
