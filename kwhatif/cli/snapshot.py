"""``kwhatif snapshot``: take, convert, look at, compare and cut down snapshots of clusters."""

from __future__ import annotations

import typer

from kwhatif.cli.common import LazyGroup


class _Snapshot(LazyGroup):
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
