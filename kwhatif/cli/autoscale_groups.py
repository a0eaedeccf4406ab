"""``kwhatif autoscale groups``: which node groups does a snapshot show?"""

from __future__ import annotations

import typer

from kwhatif.cli.cluster_options import ClusterOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.output import finish

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def groups(*, cluster: ClusterOptions) -> None:
    """Print the node groups that a snapshot shows, as a NodeGroups document to be completed and kept.

    They are found in the autoscaler's status and its own Deployment, in the annotations of Cluster API, and by the
    labels that clouds put on nodes. Each says where it was found; labels tell no sizes, so that maxima have to be
    filled in where nothing else is known.

    Exit codes: 0 groups were found, 1 none was, 2 usage or input error.
    """
    from msgspec import to_builtins

    from kwhatif.api.quantity import plain_quantity
    from kwhatif.report.structured import as_documents
    from kwhatif.whatif.autoscale.found_groups import found_groups
    from kwhatif.whatif.stages.clusters import snapshot_of
    from kwhatif.whatif.stages.notes import Notes

    notes = Notes()
    found = found_groups(snapshot_of(cluster.required(), notes))
    finish(as_documents([to_builtins(found, enc_hook=plain_quantity)]), 0 if found.groups else 1, notes)
