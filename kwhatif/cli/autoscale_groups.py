"""``kwhatif autoscale groups``: which node groups does a snapshot show?"""

from __future__ import annotations

import typer

from kwhatif.cli.options import Snapshots
from kwhatif.cli.output import check_stdin, finish

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def groups(snapshot: Snapshots) -> None:
    """Print the node groups that a snapshot shows, as a NodeGroups document to be completed and kept.

    They are found in the autoscaler's status and its own Deployment, in the annotations of Cluster API, and by the
    labels that clouds put on nodes. Each says where it was found; labels tell no sizes, so that maxima have to be
    filled in where nothing else is known.

    Exit codes: 0 groups were found, 1 none was, 2 usage or input error.
    """
    from msgspec import to_builtins

    from kwhatif.api.quantity import plain_quantity
    from kwhatif.report.structured import as_documents
    from kwhatif.snapshot.load import load_snapshot
    from kwhatif.whatif.autoscale.found_groups import found_groups

    check_stdin(*snapshot)
    found = found_groups(load_snapshot(snapshot))
    finish(as_documents([to_builtins(found, enc_hook=plain_quantity)]), 0 if found.groups else 1)
