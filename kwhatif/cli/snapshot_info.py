"""``kwhatif snapshot info``: what is in a snapshot, and what is missing?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import SnapshotFiles, Tables, TablesOutput, option
from kwhatif.cli.output import finish, rendered
from kwhatif.errors import UsageError
from kwhatif.whatif.stages.notes import Notes

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def info(
    files: SnapshotFiles,
    by: Annotated[
        str,
        option(
            "--by",
            metavar="LABEL",
            help="The label that says which pool a node is of. Default: those of well-known providers, or the role.",
        ),
    ] = "",
    nodes: Annotated[bool, typer.Option("--nodes", help="List each node, too.")] = False,
    output: TablesOutput = Tables.table,
    *,
    edits: EditOptions,
) -> None:
    """Show what is in a snapshot: nodes by pool and zone, what is free, who waits, how old it is, what is missing.

    Exit codes: 0 good, 2 usage or input error.
    """
    from datetime import UTC, datetime

    from kwhatif.api.core import Node
    from kwhatif.cli.output import check_stdin
    from kwhatif.report.snapshot_info_text import info_blocks
    from kwhatif.snapshot.load import load_snapshot
    from kwhatif.versions import features_of
    from kwhatif.whatif.info.device_uses import device_uses
    from kwhatif.whatif.info.info import info as ask
    from kwhatif.whatif.stages.clusters import with_edits

    check_stdin(*files, *(edits.edits or ()))
    notes = Notes()
    snapshot = with_edits(load_snapshot(files), edits or None, notes).snapshot
    known = snapshot.objects.of(Node)
    if by and known and not any(by in (node.metadata.labels or {}) for node in known):
        raise UsageError(f"--by {by}: no node has this label")
    features = features_of()
    result = ask(
        snapshot, features, datetime.now(UTC), by=by, nodes=nodes, devices=lambda given: device_uses(given, features)
    )
    finish(rendered(result, output, lambda: info_blocks(result)), result.exit_code, notes)
