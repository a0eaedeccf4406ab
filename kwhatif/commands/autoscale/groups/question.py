"""The task of ``autoscale groups``."""

from __future__ import annotations

from dataclasses import dataclass

from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.scenario_options import ClusterOptions


@dataclass(frozen=True, kw_only=True)
class Groups(Task[Printed]):
    """Print the node groups that a snapshot shows, as a NodeGroups document to be completed and kept.

    They are found in the autoscaler's status and its own Deployment, in the annotations of Cluster API, and by the
    labels that clouds put on nodes. Each says where it was found; labels tell no sizes, so that maxima have to be
    filled in where nothing else is known.
    """

    takes = ClusterOptions
    lacks = frozenset({"now"})
    prints = DOCUMENT
    exit_1_when = "no group is found"
    examples = ("--snapshot samples/autoscaled/cluster.yaml",)

    def answer(self, options: ClusterOptions, notes: Notes) -> Printed:
        from msgspec import to_builtins

        from kwhatif.api.quantity import plain_quantity
        from kwhatif.render.formats import as_documents
        from kwhatif.simulation.autoscalers.discovery import discover_groups
        from kwhatif.simulation.cluster_files import snapshot_of

        snapshot = snapshot_of(options.snapshot, notes)
        groups = discover_groups(snapshot)
        if not groups.groups:
            notes.warn(
                f"{snapshot.source}: no node group is found: neither the status of a cluster-autoscaler nor its "
                "Deployment, no annotations of Cluster API, no labels of a cloud's groups; write the document by hand"
            )
        return Printed(text=as_documents([to_builtins(groups, enc_hook=plain_quantity)]), code=int(not groups.groups))
