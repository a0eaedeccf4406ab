"""Which nodes and pods somebody means: by name, or by a label selector.

What has a sign that no name can have is a selector: ``pool=batch``, ``!gpu``, ``zone in (a,b)``. In brackets it is
one in any case: ``[gpu]`` are the nodes with such a label. ``shop/[app=web]`` are pods of one namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from kwhatif.api.alike import did_you_mean
from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource
from kwhatif.api.mismatch import described
from kwhatif.api.selector_text import parse_selector
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.errors import InputError

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
    return _selected(text, nodes, "node")


def node_named(name: str, nodes: Sequence[Node]) -> Node:
    """The node of this name. Raises InputError if there is none."""
    for node in nodes:
        if node.name == name:
            return node
    hint = did_you_mean(name, (node.name for node in nodes))
    if not hint and name in _keys(nodes):
        hint = f"; [{name}] are the nodes with such a label"
    raise InputError(f"there is no node {described(name)}{hint}")


def chosen_pods(text: str, pods: Sequence[Pod]) -> list[Pod]:
    """The pod of this name, or all that a selector selects. Raises InputError if there is none.

    A name without a namespace may be in any, if only one has such a pod; else it is in ``default``.
    """
    namespace, slash, inner = text.partition("/")
    if slash and inner.startswith("[") and not is_selector(namespace):
        there = [pod for pod in pods if pod.namespace == namespace]
        if not there:
            hint = did_you_mean(namespace, {pod.namespace for pod in pods})
            raise InputError(f"there are no pods in a namespace {described(namespace)}{hint}")
        return _selected(inner, there, "pod")
    if is_selector(text):
        return _selected(text, pods, "pod")
    namespace, _, name = _POD_PREFIX.sub("", text, count=1).rpartition("/")
    found = {pod.namespace: pod for pod in pods if pod.name == name and namespace in ("", pod.namespace)}
    if len(found) > 1 and "default" not in found:
        raise InputError(f"pod {name} is in several namespaces ({', '.join(sorted(found))}): write NAMESPACE/{name}")
    if found:
        return [found.get("default") or next(iter(found.values()))]
    known = [pod.key if namespace else pod.name for pod in pods]
    hint = did_you_mean(f"{namespace}/{name}" if namespace else name, known)
    raise InputError(f"there is no pod {described(f'{namespace}/{name}' if namespace else name)}{hint}")


def _selected(text: str, objects: Sequence[R], what: str) -> list[R]:
    selector = _parsed(text)
    found = [obj for obj in objects if selector.matches(obj.metadata.labels or {})]
    if found:
        return found
    known = _keys(objects)
    for requirement in selector.requirements:
        if requirement.key not in known and requirement.operator in ("In", "Exists"):
            hint = did_you_mean(requirement.key, known)
            raise InputError(f"no {what} matches {described(text)}: none has a label {requirement.key}{hint}")
    raise InputError(f"no {what} matches {described(text)}")


def _parsed(text: str) -> Selector:
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        selector = parse_selector(inner)
    except SelectorError as error:
        raise InputError(f"{described(text)} is no selector: {error}") from None
    if selector.empty:
        raise InputError(f"{described(text)} is an empty selector, which would select everything")
    return selector


def _keys(objects: Iterable[Resource]) -> set[str]:
    return {key for obj in objects for key in obj.metadata.labels or ()}
