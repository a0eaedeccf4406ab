"""``kwhatif snapshot``: take, convert, look at, compare and cut down snapshots of clusters."""

from __future__ import annotations

import typer

from kwhatif.cli.common import LazyGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "dump": ("snapshot_dump", "Read a live cluster into a file."),
    "record": ("snapshot_record", "Write down a live cluster and all that changes there."),
    "rbac": ("snapshot_rbac", "Print what has to be allowed for a dump or a recording."),
    "convert": ("snapshot_convert", "Bring other tools' dumps and lists of kubectl into one file."),
    "info": ("snapshot_info", "What is in a snapshot, and what is missing?"),
    "validate": ("snapshot_validate", "Can a snapshot be read, and does all in it go together?"),
    "diff": ("snapshot_diff", "What changed between two snapshots that scheduling can see?"),
    "redact": ("snapshot_redact", "Replace all names by pseudonyms, so that a snapshot may be shared."),
    "reveal": ("snapshot_reveal", "Put the names back into an answer about a redacted snapshot."),
    "trim": ("snapshot_trim", "Cut a snapshot down to what a pod's decision depends on."),
}
"""Command -> (module in this room, one line of help)."""


class _Snapshot(LazyGroup):
    commands_by_name = COMMANDS
    path = "snapshot"


app = typer.Typer(
    name="snapshot",
    cls=_Snapshot,
    help="Take a snapshot of a cluster, look at it, compare it, share it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def root() -> None:
    """Take a snapshot of a cluster, look at it, compare it, share it."""
