"""What edits of nodes have in common: which nodes are meant, and what changes with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.errors import InputError
from kwhatif.snapshot.chosen import chosen_nodes, is_selector

if TYPE_CHECKING:
    from kwhatif.whatif.edits.draft import Draft

Changes = list[tuple[Node, Node]]
"""Nodes before and after."""


def check_meant(text: str) -> None:
    """Raises InputError if the text means no node at all."""
    if not text.strip():
        raise InputError("expected a node or a selector, found none")


def meant(draft: Draft, text: str, place: str = "") -> list[Node]:
    """The nodes that a name or a selector means. Raises InputError with the ``place`` if there is none."""
    try:
        return chosen_nodes(text, draft.nodes)
    except InputError as error:
        raise InputError(error.problem, place=place) from None


def change_nodes(draft: Draft, nodes: Sequence[Node], change: Callable[[Node], Node], origin: str) -> Changes:
    """Change nodes and let daemon sets react. Returns what was really changed."""
    from kwhatif.whatif.edits.daemons import daemons_react

    changes = [(node, changed) for node in nodes if (changed := change(node)) is not node]
    draft.put_nodes(changed for _, changed in changes)
    draft.note_of(origin, daemons_react(draft, changes, origin))
    return changes


def with_spec(node: Node, **changes: object) -> Node:
    return replace(node, spec=replace(node.spec, **changes))


def spelt(text: str, nodes: Sequence[Node]) -> str:
    """``node worker-1``, ``nodes pool=batch (3)``."""
    return f"nodes {text} ({len(nodes)})" if is_selector(text) else f"node {text}"
