"""``kwhatif autoscale groups``: which node groups does a snapshot show?"""

from __future__ import annotations

import typer

from kwhatif.cli.options import Snapshots
from kwhatif.cli.output import check_stdin, finish

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def groups(snapshot: Snapshots) -> None:
    """Print the node groups that a snapshot shows, as a NodeGroups document to be completed and kept.

    They are found by the labels that clouds put on nodes, and in the autoscaler's own Deployment. Each says where it
    was found; labels tell no sizes, so that most maxima have to be filled in.

    Exit codes: 0 groups were found, 1 none was, 2 usage or input error.
    """
    from kwhatif.report.structured import as_yaml
    from kwhatif.snapshot.load import load_snapshot
    from kwhatif.whatif.autoscale.found_groups import found_groups

    check_stdin(*snapshot)
    found = found_groups(load_snapshot(snapshot))
    finish(as_yaml(found), 0 if found.groups else 1)
