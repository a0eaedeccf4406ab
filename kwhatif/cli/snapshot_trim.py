"""``kwhatif snapshot trim``: the smallest snapshot that gives the same decision."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import (
    AnyNamespace,
    Everything,
    ManifestFlags,
    PodFiles,
    PodWords,
    Tables,
    option,
)
from kwhatif.cli.output import check_stdin, finish, render_result, reports_of, write_result_reports
from kwhatif.simulation.flag import flags_of
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.render.blocks import Block

FORMATS = ("json", "yaml", "markdown")

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def trim(
    out: Annotated[
        str, option("-o", "--output", metavar="OUT", help="The file to write; packed if it ends in .gz or .zst.")
    ],
    pods: PodWords = None,
    filename: PodFiles = None,
    namespace: AnyNamespace = None,
    nodes_too: Annotated[
        bool,
        typer.Option(
            "--nodes-too", help="Keep one node for each verdict; numbers of nodes in messages may change then."
        ),
    ] = False,
    steps: Annotated[
        int | None,
        option(
            "--steps",
            metavar="N",
            min=1,
            help="Decide again at most N times. Default: 2000 times, and less often on large snapshots.",
        ),
    ] = None,
    report: Annotated[
        list[str] | None,
        option(
            "--report",
            metavar="FORMAT=FILE",
            help="Also write a report to a file: json, yaml or markdown (repeatable).",
        ),
    ] = None,
    everything: Everything = False,
    *,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
) -> None:
    """Keep only what the decision on a pod depends on: a small snapshot that reproduces it.

    A pod that runs is taken off its node first; in the new snapshot it waits. Several pods are placed one after the
    other, as the scheduler would. What is left is decided again before it is written.

    Exit codes: 0 written, 2 usage or input error.
    """
    from kwhatif.commands.snapshot.trim.run import Trim
    from kwhatif.commands.snapshot.trim.text import trim_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.scenario import Scenario

    words, offered = pods or [], filename or []
    reports = reports_of(report, FORMATS)
    source = cluster.require_source()
    check_stdin(*words, *offered, source, engine.policy, *(edits.edits or ()))
    question = Trim(words, offered, namespace, out=out, nodes_too=nodes_too, most_steps=steps)
    result = ask(
        question, Scenario(Inputs(source, edits=edits or None, manifest_options=reading, now=cluster.now), engine)
    )

    def blocks() -> list[Block]:
        return trim_blocks(result, _format_options(engine))

    write_result_reports(reports, result, blocks)
    text = render_result(result, Tables.table, blocks, everything=everything)
    finish(text, result.exit_code, result.notes)


def _format_options(engine: SchedulerOptions) -> str:
    """The options that say who decides, for a command to copy: `` --policy policy.yaml --all-nodes``."""
    words: list[str] = []
    for field, _, flag in flags_of(SchedulerOptions):
        value = getattr(engine, field)
        if value is True:
            words.append(flag.name)
        elif value:
            words += [
                word for each in ([value] if isinstance(value, str) else value) for word in (flag.name, str(each))
            ]
    return f" {shlex.join(words)}" if words else ""
