"""``kwhatif autoscale catalogue``: what does a cloud offer to Karpenter?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.output import finish
from kwhatif.commands.autoscale.options import CatalogueOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def catalogue(*, options: CatalogueOptions, cluster: Annotated[ClusterFlags, Excluding("now")]) -> None:
    """Print a catalogue of instance types, as an InstanceTypes document to be completed and kept.

    It is made from what a snapshot shows, from the catalogue of Karpenter's KWOK provider, or from what the client of
    AWS, Azure or Google Cloud prints; no cloud is asked. What is missing or guessed is said in the document, and in
    each answer.

    Exit codes: 0 the answer is good, 1 it is not: no type is found, 2 usage or input error.
    """
    from msgspec import to_builtins

    from kwhatif.api.quantity import plain_quantity
    from kwhatif.render.formats import as_documents
    from kwhatif.simulation.autoscalers.catalogues import load_instance_types
    from kwhatif.simulation.cluster_files import snapshot_of
    from kwhatif.simulation.inputs import Notes

    named = cluster.is_named()
    options.check(with_snapshot=named)
    source = cluster.require_source() if not options.is_of_cloud else cluster.find_source() if named else ()
    notes = Notes()
    found = load_instance_types(snapshot_of(source, notes), **vars(options))
    finish(as_documents([to_builtins(found, enc_hook=plain_quantity)]), 0 if found.types else 1, notes)
