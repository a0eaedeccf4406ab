"""Cordon nodes, and the opposite."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kwhatif.api.core import Node, Taint
from kwhatif.whatif.edits.edited_nodes import change_nodes, check_meant, meant, spelt, with_spec
from kwhatif.whatif.edits.kind import EditKind, Nodes, Option
from kwhatif.whatif.edits.taint import tainted, untainted

if TYPE_CHECKING:
    from kwhatif.whatif.edits.draft import Draft

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def cordoned(node: Node) -> Node:
    """No new pods, with the taint that the node lifecycle controller then adds.

    Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass).
    """
    if not node.spec.unschedulable:
        node = with_spec(node, unschedulable=True)
    return tainted(node, Taint(key=UNSCHEDULABLE, effect="NoSchedule"))


def uncordoned(node: Node) -> Node:
    """The opposite of ``cordoned``."""
    if node.spec.unschedulable:
        node = with_spec(node, unschedulable=None)
    return untainted(node, UNSCHEDULABLE)


def _kind(verb: str, change: Callable[[Node], Node]) -> EditKind[str]:
    def apply(draft: Draft, what: str, origin: str) -> str:
        nodes = meant(draft, what)
        change_nodes(draft, nodes, change, origin)
        return f"{verb} {spelt(what, nodes)}"

    return EditKind(verb, Nodes, apply, check_meant)


CORDON = _kind("cordon", cordoned)
UNCORDON = _kind("uncordon", uncordoned)
CORDON_OPTION = Option.plain(
    "--cordon", "NODES", "What if nodes, by name or label selector, were cordoned? (repeatable)", CORDON
)
UNCORDON_OPTION = Option.plain("--uncordon", "NODES", "What if they were not? (repeatable)", UNCORDON)
