"""``kwhatif snapshot trim``: the smallest snapshot that gives the same decision."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.inputs import add_objects, check_stdin, note_unused_plugins, read_edited, read_setup
from kwhatif.cli.options import EngineOptions, InputOptions, PodFiles, PodWords, Snapshots, Tables
from kwhatif.cli.output import Notes, finish, rendered
from kwhatif.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwhatif.scheduling.setup import Setup
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.whatif.session import Asked

__all__ = ["app", "trim"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def trim(
    snapshot: Snapshots,
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="The file to write; packed if it ends in .gz or .zst.",
            show_default=False,
        ),
    ],
    pods: PodWords = None,
    filename: PodFiles = None,
    namespace: Annotated[
        str | None,
        typer.Option("-n", "--namespace", metavar="NAME", help="The namespace of what names none.", show_default=False),
    ] = None,
    nodes_too: Annotated[
        bool,
        typer.Option(
            "--nodes-too", help="Keep one node for each verdict; numbers of nodes in messages may change then."
        ),
    ] = False,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            min=1,
            help="Decide again at most so many times. Default: 2000 times, and less often on large snapshots.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[Tables, typer.Option("--report", help="The format of what is printed.")] = Tables.table,
    *,
    inputs: InputOptions,
    engine: EngineOptions,
    edits: EditOptions,
) -> None:
    """Keep only what the decision on a pod depends on: a small snapshot that reproduces it.

    A pod that runs is taken off its node first; in the new snapshot it waits. Several pods are placed one after the
    other, as the scheduler would. What is left is decided again before it is written.

    Exit codes: 0 written, 2 usage or input error.
    """
    from kwhatif.cli.targets import targets
    from kwhatif.report.snapshot_trim_text import trim_blocks
    from kwhatif.whatif.trim.trim import awaiting
    from kwhatif.whatif.trim.trim import trim as cut
    from kwhatif.whatif.trim.written import check_and_write, told

    words, given = list(pods or ()), list(filename or ())
    if not words and not given:
        raise UsageError("name the pods to trim for: manifests, or pods of the snapshot")
    if out == "-":
        raise UsageError("'-' is no file to write to: standard output is for the report")
    if engine.call_extenders:
        raise UsageError("--call-extenders: trim decides again and again, too often to ask extenders each time")
    check_stdin(*words, *given, *snapshot, engine.policy, *(edits.edits or ()))
    notes = Notes()
    cluster = read_edited(snapshot, edits, notes).snapshot
    setup = read_setup(engine, notes, cluster)
    asked, expanded = targets(words, given, cluster, namespace, inputs)
    add_objects(cluster, expanded, notes, ignore_unknown=inputs.ignore_unknown)
    _check_profiles(asked, setup)
    before, waiting = awaiting(cluster, asked)
    if engine.strict:
        _insist(before, setup, waiting)
    trimmed = cut(before, setup, waiting, nodes_too=nodes_too, most_steps=steps)
    decision = check_and_write(trimmed, setup, waiting, out, loosely=nodes_too)
    result = told(cluster, trimmed, decision, out)
    _note_unused(trimmed.snapshot, setup, waiting, engine, notes)
    finish(rendered(result, report, lambda: trim_blocks(result, _spelt(engine))), result.exit_code, notes)


def _spelt(engine: EngineOptions) -> str:
    """The options that say who decides, for a command to copy: `` --policy policy.yaml --all-nodes``."""
    words: list[str] = []
    for option, given in (
        ("--policy", [engine.policy]),
        ("--kubernetes-version", [engine.kubernetes_version]),
        ("--feature-gates", engine.feature_gates or ()),
        ("--plugin", engine.plugin or ()),
    ):
        words += [word for value in given if value for word in (option, value)]
    words += ["--all-nodes"] if engine.all_nodes else []
    words += ["--skip-unknown-plugins"] if engine.skip_unknown_plugins else []
    return f" {shlex.join(words)}" if words else ""


def _check_profiles(asked: Sequence[Asked], setup: Setup) -> None:
    for item in asked:
        name = item.pod.spec.scheduler_name
        if setup.configuration.profile_for(name or "default-scheduler") is None:
            raise UsageError(f"pod {item.pod.key}: schedulerName {name} is none of the configuration's profiles")


def _insist(snapshot: Snapshot, setup: Setup, asked: Sequence[Asked]) -> None:
    from kwhatif.whatif.fidelity.assess import insist
    from kwhatif.whatif.place.place import place
    from kwhatif.whatif.session import Session

    insist(place(Session(snapshot, setup), asked).fidelity)


def _note_unused(snapshot: Snapshot, setup: Setup, asked: Sequence[Asked], engine: EngineOptions, notes: Notes) -> None:
    if engine.plugin:
        from kwhatif.whatif.session import Session

        session = Session(snapshot, setup)
        for item in asked:
            session.scheduler(item.pod.spec.scheduler_name)
        note_unused_plugins(session, engine, notes)
