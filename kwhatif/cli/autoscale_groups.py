"""``kwhatif autoscale groups``: which node groups does a snapshot show?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.output import finish

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def groups(*, cluster: Annotated[ClusterFlags, Excluding("now")]) -> None:
    """Print the node groups that a snapshot shows, as a NodeGroups document to be completed and kept.

    They are found in the autoscaler's status and its own Deployment, in the annotations of Cluster API, and by the
    labels that clouds put on nodes. Each says where it was found; labels tell no sizes, so that maxima have to be
    filled in where nothing else is known.

    Exit codes: 0 the answer is good, 1 it is not: no group is found, 2 usage or input error.
    """
    from msgspec import to_builtins

    from kwhatif.api.quantity import plain_quantity
    from kwhatif.render.formats import as_documents
    from kwhatif.simulation.autoscalers.discovery import discover_groups
    from kwhatif.simulation.cluster_files import snapshot_of
    from kwhatif.simulation.inputs import Notes

    notes = Notes()
    found = discover_groups(snapshot_of(cluster.require_source(), notes))
    finish(as_documents([to_builtins(found, enc_hook=plain_quantity)]), 0 if found.groups else 1, notes)
