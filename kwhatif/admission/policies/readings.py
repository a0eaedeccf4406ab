"""What expressions read of a request. Requests that do not differ in it get the same answers: pods of one template.

An expression knows nothing but what it is given, and each field of that comes from the same field of the object as it
was sent. So its value is remembered by the values of the fields that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from kwhatif.admission.answer import Object
from kwhatif.admission.policies.policy_expressions import Failed
from kwhatif.admission.policies.view import View
from kwhatif.cel.faults import CompileError
from kwhatif.cel.syntax import Ident, Node, Select, inner_nodes, parse

Path = tuple[str, ...]

_ROOTS = ("object", "oldObject", "request", "namespaceObject", "params", "variables")
_MOST = 4096


class Remembered:
    """The values of expressions, by what they and their ``variables`` (texts, too) read."""

    def __init__(self, variables: Iterable[str] = ()) -> None:
        self._variables = frozenset(path for text in variables for path in _read_by(text))
        self._paths: dict[str, list[Path]] = {}
        self._values: dict[tuple[Any, ...], Any] = {}

    def value(self, text: str, use: str, view: View, params: Object | None, ask: Callable[[], Any]) -> Any:
        """The value of an expression, for some use, as ``ask`` works it out. Raises Failed if ``ask`` did."""
        paths = self._paths.get(text)
        if paths is None:
            paths = self._paths[text] = self._reads(text)
        told = (_told(view, params, path) if path[0] == "params" else told_of(view, path) for path in paths)
        key = text, use, told_of(view, ()), *told
        if key not in self._values:
            if len(self._values) >= _MOST:
                self._values.clear()
            try:
                self._values[key] = ask()
            except Failed as problem:
                self._values[key] = problem
        found = self._values[key]
        if isinstance(found, Failed):
            raise found
        return found

    def _reads(self, text: str) -> list[Path]:
        own = _read_by(text)
        found = own | self._variables if any(root == "variables" for root, *_ in own) else own
        paths = {path for path in found if path[0] != "variables"}
        # What is read whole need not be told again part by part.
        return sorted(p for p in paths if not any(p[:n] in paths for n in range(1, len(p))))


def told_of(view: View, path: Path) -> bytes:
    """A part of the request; of no path, what all expressions depend on."""
    found = view.told.get(path)
    if found is None:
        found = view.told[path] = _told(view, None, path)
    return found


def _told(view: View, params: Object | None, path: Path) -> bytes:
    request = view.request
    obj, old = request.object, request.old
    roots = {"object": obj, "oldObject": old, "params": params}
    told: Any
    match path:
        case ():
            told = obj.get("apiVersion"), obj.get("kind"), old is None
        case ("request", *rest):
            told = _at(view.asked, rest)
        case ("namespaceObject", *rest):
            told = request.namespace, _at(view.home, rest)
        case (root, *rest):
            told = _at(roots[root], rest)
    return msgspec.json.encode(told)


def _at(value: Any, path: list[str]) -> tuple[Any, int]:
    """The value at a path, or on the way there where it does not go on, and how far that is."""
    for far, name in enumerate(path):
        if not isinstance(value, dict) or name not in value:
            return None if isinstance(value, dict) else value, far
        value = value[name]
    return value, len(path)


@lru_cache(maxsize=4096)
def _read_by(text: str) -> frozenset[Path]:
    try:
        return frozenset(_paths(parse(text)))
    except CompileError:
        return frozenset()


def _paths(node: Node) -> Iterator[Path]:
    path = _path(node)
    if path:
        yield from [path] if path[0] in _ROOTS else []
        return
    for inner in inner_nodes(node):
        yield from _paths(inner)


def _path(node: Node) -> Path:
    """``object.spec.replicas`` as names; empty for what is more than that."""
    match node:
        case Ident():
            return (node.name,)
        case Select():
            before = _path(node.of)
            return (*before, node.field) if before else ()
    return ()
