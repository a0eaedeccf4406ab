"""The task of ``autoscale catalogue``."""

from __future__ import annotations

from dataclasses import dataclass

from kwhatif.commands.autoscale.options import CatalogueOptions
from kwhatif.errors import UsageError
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import values_of
from kwhatif.simulation.inputs import NO_CLUSTER, Notes
from kwhatif.simulation.scenario_options import ClusterOptions


@dataclass(frozen=True, kw_only=True)
class Catalogue(CatalogueOptions, Task[Printed]):
    """Print a catalogue of instance types, as an InstanceTypes document to be completed and kept.

    It is made from what a snapshot shows, from the catalogue of Karpenter's KWOK provider, or from what the client of
    AWS, Azure or Google Cloud prints; no cloud is asked. What is missing or guessed is said in the document, and in
    each answer.
    """

    takes = ClusterOptions
    lacks = frozenset({"now"})
    needs_cluster = False
    prints = DOCUMENT
    exit_1_when = "no type is found"
    examples = ("--snapshot samples/karpenter/cluster.yaml",)

    def wants_cluster(self, *, is_named: bool) -> bool:
        self.check(with_snapshot=is_named)
        return is_named or not self.is_of_cloud

    def answer(self, options: ClusterOptions, notes: Notes) -> Printed:
        from msgspec import to_builtins

        from kwhatif.api.quantity import plain_quantity
        from kwhatif.render.formats import as_documents
        from kwhatif.simulation.autoscalers.catalogues import load_instance_types
        from kwhatif.simulation.cluster_files import snapshot_of

        if not options.snapshot and not self.is_of_cloud:
            raise UsageError(NO_CLUSTER)
        self.check(with_snapshot=bool(options.snapshot))
        sources = values_of(CatalogueOptions, self)
        instance_types = load_instance_types(snapshot_of(options.snapshot, notes), **sources)
        return Printed(
            text=as_documents([to_builtins(instance_types, enc_hook=plain_quantity)]),
            code=int(not instance_types.types),
        )
