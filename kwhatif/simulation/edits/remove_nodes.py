"""Removes nodes with their drivers' objects. Their pods are recreated elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwhatif.api.core import Node
from kwhatif.api.devices import ResourceSlice
from kwhatif.api.node_provisioning import NodeClaim
from kwhatif.api.workloads_and_storage import CSINode, VolumeAttachment
from kwhatif.simulation.edits.kind import EditKind, Nodes, Option
from kwhatif.simulation.edits.selection import check_selection, describe_nodes, select_nodes

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft


def _apply(draft: Draft, what: str, origin: str) -> str:
    from kwhatif.simulation.edits.draft import RemovalCause, remove_pods

    nodes = select_nodes(draft, what)
    names = {node.name for node in nodes}
    draft.change(Node, lambda node: None if node.name in names else node)
    draft.change(CSINode, lambda csi_node: None if csi_node.name in names else csi_node)
    draft.change(VolumeAttachment, lambda one: None if one.spec.node_name in names else one)
    machines = {node.spec.provider_id for node in nodes if node.spec.provider_id}
    draft.change(NodeClaim, lambda claim: None if claim.status.provider_id in machines else claim)
    draft.change(ResourceSlice, lambda piece: None if piece.spec.node_name in names else piece)
    there = [pod for pod in draft.pods if pod.spec.node_name in names]
    draft.note_of(origin, remove_pods(draft, there, RemovalCause.NODE_GONE, origin) or "no pods were there")
    draft.moves_pods = True
    return f"remove {describe_nodes(what, nodes)}"


REMOVE_NODES = EditKind("remove_nodes", Nodes, _apply, check_selection)
OPTION = Option.from_kind(
    "--remove-node", "NODES", "What if nodes were gone, and their pods rescheduled? (repeatable)", REMOVE_NODES
)
