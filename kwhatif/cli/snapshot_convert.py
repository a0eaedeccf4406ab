"""``kwhatif snapshot convert``: other people's dumps, and our own snapshots, into one file."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import Namespace, SnapshotOutput, argument

if TYPE_CHECKING:
    from kwhatif.simulation.inputs import Notes
    from kwhatif.snapshot.format.model import Snapshot

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Formats(StrEnum):
    """What can be written."""

    kwhatif = "kwhatif"
    list = "list"


@app.command()
@expand_groups
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
    from kwhatif.simulation.cluster_files import with_edits
    from kwhatif.simulation.inputs import Notes
    from kwhatif.snapshot.load import load_snapshot

    check_stdin(*files, *(edits.edits or ()))
    notes = Notes()
    snapshot = with_edits(load_snapshot(files, namespace), edits or None, notes).snapshot
    if to is Formats.list:
        from kwhatif.snapshot.format.model import list_losses, write_list

        write_list(snapshot, output)
        if lost := list_losses(snapshot):
            notes.note(f"a List has no place for {', '.join(lost)}")
    else:
        from kwhatif.snapshot.format.model import write_snapshot

        write_snapshot(snapshot, output)
    _summary(snapshot, notes)
    say(notes)


def _summary(snapshot: Snapshot, notes: Notes) -> None:
    """What was found, and what not."""
    from kwhatif.api.core import Node
    from kwhatif.results.amounts import format_counts

    notes.note(f"{snapshot.source}: {format_counts(+Counter(snapshot.counts())) or 'no objects'}")
    if snapshot.ignored:
        notes.note(f"left out: {format_counts(Counter(snapshot.ignored))}")
    for kind, why in sorted(snapshot.unreadable.items()):
        notes.warn(f"{kind} is not there in full: {why}")
    if not snapshot.objects.list_all(Node):
        notes.warn("there are no nodes")
