"""Cordons and uncordons nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kwhatif.api.core import Node, Taint
from kwhatif.simulation.edits.kind import EditKind, Nodes, Option
from kwhatif.simulation.edits.selection import change_nodes, check_selection, describe_nodes, select_nodes, with_spec
from kwhatif.simulation.edits.taint import taint_node, untaint_node

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def cordon_node(node: Node) -> Node:
    """No new pods, with the taint that the node lifecycle controller then adds.

    Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass).
    """
    if not node.spec.unschedulable:
        node = with_spec(node, unschedulable=True)
    return taint_node(node, Taint(key=UNSCHEDULABLE, effect="NoSchedule"))


def uncordon_node(node: Node) -> Node:
    """The opposite of ``cordon_node``."""
    if node.spec.unschedulable:
        node = with_spec(node, unschedulable=None)
    return untaint_node(node, UNSCHEDULABLE)


def _kind(verb: str, change: Callable[[Node], Node]) -> EditKind[str]:
    def apply(draft: Draft, what: str, origin: str) -> str:
        nodes = select_nodes(draft, what)
        change_nodes(draft, nodes, change, origin)
        return f"{verb} {describe_nodes(what, nodes)}"

    return EditKind(verb, Nodes, apply, check_selection)


CORDON = _kind("cordon", cordon_node)
UNCORDON = _kind("uncordon", uncordon_node)
CORDON_OPTION = Option.from_kind(
    "--cordon", "NODES", "What if nodes, by name or label selector, were cordoned? (repeatable)", CORDON
)
UNCORDON_OPTION = Option.from_kind("--uncordon", "NODES", "What if nodes were uncordoned? (repeatable)", UNCORDON)
