"""Take nodes away, with what drivers say about them. Their pods are made again elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwhatif.api.core import Node
from kwhatif.api.devices import ResourceSlice
from kwhatif.api.others import CSINode, VolumeAttachment
from kwhatif.whatif.edits.edited_nodes import check_meant, meant, spelt
from kwhatif.whatif.edits.kind import EditKind, Nodes, Option

if TYPE_CHECKING:
    from kwhatif.whatif.edits.draft import Draft


def _apply(draft: Draft, what: str, origin: str) -> str:
    from kwhatif.whatif.edits.departures import Cause, depart

    nodes = meant(draft, what)
    names = {node.name for node in nodes}
    draft.change(Node, lambda node: None if node.name in names else node)
    draft.change(CSINode, lambda csi_node: None if csi_node.name in names else csi_node)
    draft.change(VolumeAttachment, lambda one: None if one.spec.node_name in names else one)
    draft.change(ResourceSlice, lambda piece: None if piece.spec.node_name in names else piece)
    there = [pod for pod in draft.pods if pod.spec.node_name in names]
    draft.note_of(origin, depart(draft, there, Cause.NODE_GONE, origin) or "no pods were there")
    draft.moves_pods = True
    return f"remove {spelt(what, nodes)}"


REMOVE_NODES = EditKind("remove_nodes", Nodes, _apply, check_meant)
OPTION = Option.plain(
    "--remove-node", "NODES", "What if nodes were gone, their pods to go elsewhere? (repeatable)", REMOVE_NODES
)
