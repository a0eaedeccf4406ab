"""``kwhatif snapshot trim``: the smallest snapshot that gives the same decision."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster_options import ClusterOptions
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import (
    AnyNamespace,
    EngineOptions,
    Everything,
    PodFiles,
    PodWords,
    ReadingOptions,
    Tables,
    option,
)
from kwhatif.cli.output import check_stdin, finish, rendered
from kwhatif.cli.reports import reports_of, written
from kwhatif.whatif.stages.inputs import Inputs

if TYPE_CHECKING:
    from kwhatif.report.blocks import Block

FORMATS = ("json", "yaml", "markdown")
_PRINTED = tuple(each.value for each in Tables)
"""What ``--report`` alone names: the format of what is printed, as it was before it wrote files."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
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
    cluster: ClusterOptions,
    reading: ReadingOptions,
    engine: EngineOptions,
    edits: EditOptions,
) -> None:
    """Keep only what the decision on a pod depends on: a small snapshot that reproduces it.

    A pod that runs is taken off its node first; in the new snapshot it waits. Several pods are placed one after the
    other, as the scheduler would. What is left is decided again before it is written.

    Exit codes: 0 written, 2 usage or input error.
    """
    from kwhatif.report.snapshot_trim_text import trim_blocks
    from kwhatif.whatif.stages.question import Case
    from kwhatif.whatif.stages.sequence import ask
    from kwhatif.whatif.trim.question import Trim

    words, offered = pods or [], filename or []
    printed = next((each for each in report or () if each in _PRINTED), Tables.table)
    reports = reports_of([each for each in report or () if each not in _PRINTED], FORMATS)
    source = cluster.required()
    check_stdin(*words, *offered, source, engine.policy, *(edits.edits or ()))
    question = Trim(words, offered, namespace, out=out, nodes_too=nodes_too, most_steps=steps)
    result = ask(question, Case(Inputs(source, edits=edits or None, reading=reading), engine))

    def blocks() -> list[Block]:
        return trim_blocks(result, _spelt(engine))

    written(reports, result, blocks)
    text = rendered(result, printed, blocks, everything=everything)
    finish(text, result.exit_code, [*result.notes, *_deprecated(report or ())])


def _deprecated(reports: Sequence[str]) -> Iterator[str]:
    """What to write for ``--report json``, as it was before."""
    for name in reports:
        if name in _PRINTED:
            yield f"warning: --report {name} will be refused: --report {name}=FILE writes a file, as elsewhere"


def _spelt(engine: EngineOptions) -> str:
    """The options that say who decides, for a command to copy: `` --policy policy.yaml --all-nodes``."""
    words: list[str] = []
    for name, given in (
        ("--policy", [engine.policy]),
        ("--kubernetes-version", [engine.kubernetes_version]),
        ("--feature-gates", engine.feature_gates or ()),
        ("--plugin", engine.plugin or ()),
    ):
        words += [word for value in given if value for word in (name, value)]
    words += ["--all-nodes"] if engine.all_nodes else []
    words += ["--skip-unknown-plugins"] if engine.skip_unknown_plugins else []
    return f" {shlex.join(words)}" if words else ""
