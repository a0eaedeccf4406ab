"""``kwhatif autoscale catalogue``: what does a cloud offer to Karpenter?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import option
from kwhatif.cli.output import finish
from kwhatif.errors import UsageError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _file(name: str, help: str) -> Any:
    return option(name, metavar="FILE", help=help)


@app.command()
@expand_groups
def catalogue(
    kwok: Annotated[str, _file("--kwok", "instance_types.json of the KWOK provider.")] = "",
    types: Annotated[str, _file("--ec2-types", "What aws ec2 describe-instance-types prints, as JSON.")] = "",
    offerings: Annotated[str, _file("--ec2-offerings", "What describe-instance-type-offerings prints, by zone.")] = "",
    spot: Annotated[str, _file("--ec2-spot-prices", "What describe-spot-price-history prints.")] = "",
    prices: Annotated[str, _file("--on-demand-prices", 'On-demand prices by the hour: {"m5.large": 0.1}.')] = "",
    azure: Annotated[str, _file("--azure-skus", "What az vm list-skus -o json prints.")] = "",
    gcp: Annotated[str, _file("--gcp-machine-types", "What gcloud compute machine-types list prints, as JSON.")] = "",
    spot_prices: Annotated[str, _file("--spot-prices", "Spot prices by the hour, of Azure's or Google's types.")] = "",
    *,
    cluster: ClusterFlags,
) -> None:
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
    if sum(map(bool, (named and not types, kwok, types, azure, gcp))) > 1:
        clouds = "--ec2-types FILE (with --ec2-offerings FILE), --azure-skus FILE and --gcp-machine-types FILE"
        raise UsageError(f"expected one of --snapshot, --kwok FILE, {clouds}")
    if bool(types) != bool(offerings):
        raise UsageError("--ec2-types and --ec2-offerings go together")
    source = cluster.require_source() if not (kwok or types or azure or gcp) else cluster.find_source() if named else ()
    notes = Notes()
    files = {"kwok": kwok, "types": types, "offerings": offerings, "spot": spot, "prices": prices}
    files |= {"azure": azure, "gcp": gcp, "spot_prices": spot_prices}
    found = load_instance_types(snapshot_of(source, notes), **files)
    finish(as_documents([to_builtins(found, enc_hook=plain_quantity)]), 0 if found.types else 1, notes)
