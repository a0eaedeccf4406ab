"""Nodes and pods of an edit: by name, or by a label selector; and what edits of nodes share.

A text with a character that no name can have is a selector: ``pool=batch``, ``!gpu``, ``zone in (a,b)``. In brackets it
is one in any case: ``[gpu]`` are the nodes with such a label. ``shop/[app=web]`` are pods of one namespace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import describe_value
from kwhatif.api.meta import Resource
from kwhatif.api.selectors import Selector, SelectorError, parse_selector
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.errors import InputError
from kwhatif.results.amounts import format_some
from kwhatif.simulation.node_pools import pool_of

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft


_NO_NAME = re.compile(r"[=!,()<>\[\] ]")
_POD_PREFIX = re.compile(r"(?:pods?|po)/")

R = TypeVar("R", bound=Resource)


def is_selector(text: str) -> bool:
    """Whether this cannot be a name."""
    return _NO_NAME.search(text) is not None


def chosen_nodes(text: str, nodes: Sequence[Node]) -> list[Node]:
    """The node of this name, or all that a selector selects. Raises InputError if there is none."""
    if not is_selector(text):
        return [node_named(text, nodes)]
    return _select_objects(text, nodes, "node")


def pool_nodes(text: str, nodes: Sequence[Node]) -> list[Node]:
    """The nodes of the pool of this name, or all that a selector selects, or the node of this name.

    Raises InputError if there is none.
    """
    members = [node for node in nodes if pool_of(node) == text]
    if members or is_selector(text) or any(node.name == text for node in nodes):
        return members or chosen_nodes(text, nodes)
    pools = sorted({*map(pool_of, nodes)} - {""})
    keys = sorted({key for node in nodes for key, value in (node.metadata.labels or {}).items() if value == text})
    hint = f"; did you mean {keys[0]}={text}?" if keys else suggest_spelling(text, pools)
    hint = hint or (f"; there are: {format_some(pools)}" if pools else "")
    raise InputError(f"there is no pool {describe_value(text)}{hint}")


def node_named(name: str, nodes: Sequence[Node]) -> Node:
    """The node of this name. Raises InputError if there is none."""
    for node in nodes:
        if node.name == name:
            return node
    hint = suggest_spelling(name, (node.name for node in nodes))
    if not hint and name in _keys(nodes):
        hint = f"; [{name}] are the nodes with such a label"
    raise InputError(f"there is no node {describe_value(name)}{hint}")


def chosen_pods(text: str, pods: Sequence[Pod]) -> list[Pod]:
    """The pod of this name, or all that a selector selects. Raises InputError if there is none.

    A name without a namespace may be in any, if only one has such a pod; else it is in ``default``.
    """
    namespace, slash, inner = text.partition("/")
    if slash and inner.startswith("[") and not is_selector(namespace):
        in_namespace = [pod for pod in pods if pod.namespace == namespace]
        if not in_namespace:
            hint = suggest_spelling(namespace, {pod.namespace for pod in pods})
            raise InputError(f"there are no pods in a namespace {describe_value(namespace)}{hint}")
        return _select_objects(inner, in_namespace, "pod")
    if is_selector(text):
        return _select_objects(text, pods, "pod")
    namespace, _, name = _POD_PREFIX.sub("", text, count=1).rpartition("/")
    by_namespace = {pod.namespace: pod for pod in pods if pod.name == name and namespace in ("", pod.namespace)}
    if len(by_namespace) > 1 and "default" not in by_namespace:
        raise InputError(
            f"pod {name} is in several namespaces ({', '.join(sorted(by_namespace))}): write NAMESPACE/{name}"
        )
    if by_namespace:
        return [by_namespace.get("default") or next(iter(by_namespace.values()))]
    names = [pod.key if namespace else pod.name for pod in pods]
    hint = suggest_spelling(f"{namespace}/{name}" if namespace else name, names)
    raise InputError(f"there is no pod {describe_value(f'{namespace}/{name}' if namespace else name)}{hint}")


def _select_objects(text: str, objects: Sequence[R], what: str) -> list[R]:
    selector = _parse_selector(text)
    selected = [obj for obj in objects if selector.matches(obj.metadata.labels or {})]
    if selected:
        return selected
    keys = _keys(objects)
    for requirement in selector.requirements:
        if requirement.key not in keys and requirement.operator in ("In", "Exists"):
            hint = suggest_spelling(requirement.key, keys)
            raise InputError(f"no {what} matches {describe_value(text)}: none has a label {requirement.key}{hint}")
    raise InputError(f"no {what} matches {describe_value(text)}")


def _parse_selector(text: str) -> Selector:
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        selector = parse_selector(inner)
    except SelectorError as error:
        raise InputError(f"{describe_value(text)} is no selector: {error}") from None
    if selector.empty:
        raise InputError(f"{describe_value(text)} is an empty selector, which would select everything")
    return selector


def _keys(objects: Iterable[Resource]) -> set[str]:
    return {key for obj in objects for key in obj.metadata.labels or ()}


Changes = list[tuple[Node, Node]]
"""Nodes before and after."""


def check_selection(text: str) -> None:
    """Raises InputError if the text selects no node."""
    if not text.strip():
        raise InputError("expected a node or a selector, found none")


def select_nodes(draft: Draft, text: str, place: str = "") -> list[Node]:
    """The nodes of a name or a selector. Raises InputError with the ``place`` if there is none."""
    try:
        return chosen_nodes(text, draft.nodes)
    except InputError as error:
        raise InputError(error.problem, place=place) from None


def change_nodes(draft: Draft, nodes: Sequence[Node], change: Callable[[Node], Node], origin: str) -> Changes:
    """Change nodes and let daemon sets react. Returns the nodes that did change."""
    from kwhatif.simulation.edits.daemon_pods import update_daemons

    changes = [(node, changed) for node in nodes if (changed := change(node)) is not node]
    draft.put_nodes(changed for _, changed in changes)
    draft.note_of(origin, update_daemons(draft, changes, origin))
    return changes


def with_spec(node: Node, **changes: object) -> Node:
    return replace(node, spec=replace(node.spec, **changes))


def describe_nodes(text: str, nodes: Sequence[Node]) -> str:
    """``node worker-1``, ``nodes pool=batch (3)``."""
    return f"nodes {text} ({len(nodes)})" if is_selector(text) else f"node {text}"
