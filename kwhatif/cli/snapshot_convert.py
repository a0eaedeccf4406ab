"""``kwhatif snapshot convert``: other people's dumps, and our own snapshots, into one file."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import Namespace, SnapshotOutput, argument

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.whatif.stages.notes import Notes

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Formats(StrEnum):
    """What can be written."""

    kwhatif = "kwhatif"
    list = "list"


@app.command()
@grouped
def convert(
    files: Annotated[
        list[str],
        argument(
            metavar="FILE", help="Snapshots, what kubectl prints, others' dumps: files, directories, or '-' for stdin."
        ),
    ],
    output: SnapshotOutput,
    to: Annotated[
        Formats,
        typer.Option("--format", help="What to write: a snapshot, or a List as 'kubectl get -o json' prints it."),
    ] = Formats.kwhatif,
    namespace: Namespace = "default",
    *,
    edits: EditOptions,
) -> None:
    """Bring whatever describes a cluster into one file: other tools' dumps, lists of kubectl, snapshots.

    What scheduling does not read is left out. What-if edits are made before it is written.

    Exit codes: 0 good, 2 usage or input error.
    """
    from kwhatif.cli.output import check_stdin, say
    from kwhatif.snapshot.load import load_snapshot
    from kwhatif.whatif.stages.clusters import with_edits
    from kwhatif.whatif.stages.notes import Notes

    check_stdin(*files, *(edits.edits or ()))
    notes = Notes()
    snapshot = with_edits(load_snapshot(files, namespace), edits or None, notes).snapshot
    if to is Formats.list:
        from kwhatif.snapshot.format.as_list import lost_in_list, write_list

        write_list(snapshot, output)
        if lost := lost_in_list(snapshot):
            notes.note(f"a List has no place for {', '.join(lost)}")
    else:
        from kwhatif.snapshot.format.model import write_snapshot

        write_snapshot(snapshot, output)
    _summary(snapshot, notes)
    say(notes)


def _summary(snapshot: Snapshot, notes: Notes) -> None:
    """What was found, and what not."""
    from kwhatif.api.core import Node
    from kwhatif.results.amounts import counts

    notes.note(f"{snapshot.source}: {counts(+Counter(snapshot.counts())) or 'no objects'}")
    if snapshot.ignored:
        notes.note(f"left out: {counts(Counter(snapshot.ignored))}")
    for kind, why in sorted(snapshot.unreadable.items()):
        notes.warn(f"{kind} is not there in full: {why}")
    if not snapshot.objects.of(Node):
        notes.warn("there are no nodes")
