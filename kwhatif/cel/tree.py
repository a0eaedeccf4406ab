"""The syntax tree of an expression; operators are calls of functions."""

from __future__ import annotations

from typing import Any

import msgspec

DEEPEST = 500
"""A tree that is deeper, by chains of calls and operators, cannot be compiled, nor walked by who calls himself."""


class Node(msgspec.Struct, frozen=True):
    """``at`` is where in the text it stands; of an operator, where its sign does."""

    at: int


class Literal(Node, frozen=True):
    """``kind`` is the type's name: int, uint, double, string, bytes, bool or null_type."""

    kind: str
    value: object


class Ident(Node, frozen=True):
    name: str


class Select(Node, frozen=True):
    """``of.field``, or ``of.?field`` when it is ``optional``."""

    of: Node
    field: str
    optional: bool = False


class Call(Node, frozen=True):
    """A function, an operator (named as ``_+_``) or, with a ``target``, a member function."""

    function: str
    args: tuple[Node, ...]
    target: Node | None = None


class ListOf(Node, frozen=True):
    """Elements, and which of them are written ``?element``."""

    elements: tuple[Node, ...]
    optional: frozenset[int]


class MapOf(Node, frozen=True):
    """Keys, values and which entries are written ``?key: value``."""

    entries: tuple[tuple[Node, Node], ...]
    optional: frozenset[int]


class StructOf(Node, frozen=True):
    """``name{field: value}``: fields, values and which of them are written ``?field: value``."""

    name: str
    entries: tuple[tuple[str, Node], ...]
    optional: frozenset[int]


def qualified_name_of(node: Node) -> str:
    """``a.b`` as a text, empty for anything else."""
    if isinstance(node, Ident):
        return node.name
    return f"{inner}.{node.field}" if isinstance(node, Select) and (inner := qualified_name_of(node.of)) else ""


def inner_nodes(node: Node) -> list[Node]:
    """What an expression is made of, one step down."""
    return [inner for name in node.__struct_fields__ for inner in _inner(getattr(node, name))]


def _inner(value: Any) -> list[Node]:
    if isinstance(value, Node):
        return [value]
    return [node for item in value for node in _inner(item)] if isinstance(value, tuple) else []


def depth_of(tree: Node) -> int:
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [inner for node in level for inner in inner_nodes(node)]
    return depth
