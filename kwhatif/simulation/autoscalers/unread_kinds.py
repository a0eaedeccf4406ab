"""Notes about Karpenter's objects in a snapshot that are not read here and would change the catalogue."""

from __future__ import annotations

from dataclasses import replace

from kwhatif.results.amounts import format_counts
from kwhatif.simulation.autoscalers.instance_types_document import CatalogueGap, OfferedCatalogue
from kwhatif.snapshot.format.model import Snapshot

_OVERLAYS = ("NodeOverlay",)
_CLASSES = ("AKSNodeClass", "GCENodeClass", "KWOKNodeClass", "NodeClass", "ExoscaleNodeClass", "OciNodeClass")


def noting_unread(known: OfferedCatalogue, snapshot: Snapshot) -> OfferedCatalogue:
    """The catalogue, with notes about the snapshot's objects that would change it and are not read here."""
    told, gaps = [known.incomplete] if known.incomplete else [], list(known.gaps)
    for kinds, effect in (
        (_OVERLAYS, "prices and amounts that they change are not changed"),
        (_CLASSES, "what machines of them leave for pods is what the catalogue says"),
    ):
        there = {kind: number for kind, number in snapshot.ignored.items() if kind.partition(" ")[0] in kinds}
        if not there:
            continue
        verb = "is" if sum(there.values()) == 1 else "are"
        unread = f"{format_counts(there)} of the snapshot {verb} not read"
        told.append(f"{unread}: {effect}")
        of_classes = [kind.partition(" ")[0] for kind in there] if kinds is _CLASSES else [""]
        gaps += [CatalogueGap(unread, node_class=kind) for kind in of_classes]
    return replace(known, incomplete="; ".join(told), gaps=tuple(gaps))
