"""``kwhatif capacity``: how many more of a pod or a release fit?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.inputs import (
    add_objects,
    check_stdin,
    expanded_from,
    note_unused_plugins,
    read_edited,
    read_setup,
)
from kwhatif.cli.options import EngineOptions, InputOptions, Namespace, Snapshots, Tables
from kwhatif.cli.output import Notes, finish, rendered
from kwhatif.errors import UsageError

if TYPE_CHECKING:
    from kwhatif.results import CapacityResult

__all__ = ["app", "capacity"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def capacity(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Manifests: files, directories, or '-' for stdin.", show_default=False),
    ],
    snapshot: Snapshots,
    namespace: Namespace = "default",
    release: Annotated[
        bool,
        typer.Option(
            "--release",
            help="Count whole releases: all pods of the manifests. Several workloads always are one.",
        ),
    ] = False,
    at_least: Annotated[
        int, typer.Option("--at-least", metavar="N", min=0, help="Exit with 1 if fewer than these fit.")
    ] = 1,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=0, help="Stop when so many fit.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every node, also those that take nothing.")] = False,
    output: Annotated[Tables, typer.Option("-o", "--output", help="The format to print.")] = Tables.table,
    *,
    inputs: InputOptions,
    engine: EngineOptions,
    edits: EditOptions,
) -> None:
    """Count how many more of a pod, or of a release, fit beside what runs: per node, in all, and what ends it.

    Nobody is evicted for them. Pods of one Deployment, Job or StatefulSet are counted one by one.

    Exit codes: 0 as many fit as --at-least says, 1 fewer do, 2 usage or input error.
    """
    from msgspec.structs import replace

    from kwhatif.whatif.capacity.capacity import capacity as ask
    from kwhatif.whatif.fidelity.assess import insist
    from kwhatif.whatif.session import Session

    if limit is not None and limit < at_least:
        raise UsageError(f"--limit {limit} ends the count before --at-least {at_least} can be reached")
    check_stdin(*files, *snapshot, engine.policy, *(edits.edits or ()))
    notes = Notes()
    edited = read_edited(snapshot, edits, notes)
    setup = read_setup(engine, notes, edited.snapshot)
    expanded = expanded_from(files, namespace, edited.snapshot, inputs, anew=True)
    unknown = add_objects(edited.snapshot, expanded, notes, ignore_unknown=inputs.ignore_unknown)
    session = Session(edited.snapshot, setup, covered=edited.covered)
    result = ask(session, expanded, release=release, at_least=at_least, limit=limit, others=unknown, first=edited.asked)
    result = replace(result, failed=(*edited.failed, *result.failed))
    note_unused_plugins(session, engine, notes)
    if engine.strict:
        insist(result.fidelity)
    finish(_rendered(result, output, everything), result.exit_code, notes)


def _rendered(result: CapacityResult, output: Tables, everything: bool) -> str:
    from kwhatif.report.capacity_text import capacity_blocks

    return rendered(result, output, lambda: capacity_blocks(result, everything=everything))
