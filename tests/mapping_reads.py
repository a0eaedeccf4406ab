"""Where code reads a mapping by the name of a field, and whether anything says that the field is there.

What others wrote may lack any field, and have anything there. So ``obj["spec"]`` is read by ``part_of(obj, "spec")``,
which says what is missing, or the function has asked for it: there is a condition with ``"spec" in obj`` or
``obj.get("spec")``, it sets the field, or it has written the mapping down with it. And what is in a part is read by way
of ``section(obj, "spec")``, since ``obj.get("spec") or {}`` may be a text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

Place = tuple[str, str]
"""A mapping, as it is written, and the name of a field."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TYPES = frozenset(["Literal", "Annotated"])


def unasked_reads(module: ast.Module) -> Iterator[ast.Subscript]:
    """Each ``x["field"]`` in a module whose function neither asks for the field nor sets it."""
    for scope in _scopes(module):
        reads, sure = [], set[Place]()
        for node in scope:
            if (place := _read(node)) is not None:
                reads.append((node, place))
            sure.update(_assured(node))
        yield from (node for node, place in reads if place not in sure and isinstance(node, ast.Subscript))


def trusting_reads(nodes: Iterable[ast.AST]) -> Iterator[ast.BoolOp]:
    """Each ``x.get("field") or {}``."""
    for node in nodes:
        match node:
            case ast.BoolOp(
                op=ast.Or(),
                values=[
                    ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str())]),
                    ast.Dict(keys=[]),
                ],
            ):
                yield node


def mapping_of(read: ast.Subscript) -> str:
    """What is read, as it is written: ``pod`` of ``pod["spec"]["containers"]``."""
    mapping: ast.expr = read
    while isinstance(mapping, ast.Subscript):
        mapping = mapping.value
    return ast.unparse(mapping)


def _scopes(module: ast.Module) -> Iterator[Sequence[ast.AST]]:
    """The nodes of each outermost function, and all others: a function within another has asked if that one has."""
    others: list[ast.AST] = []
    waiting: list[ast.AST] = [module]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, _FUNCTIONS):
                yield list(ast.walk(node))
            else:
                others.append(node)
                waiting.append(node)
    yield others


def _read(node: ast.AST) -> Place | None:
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return None
    if isinstance(node.value, ast.Name) and node.value.id in _TYPES:
        return None
    return _place(node.value, node.slice)


def _place(mapping: ast.expr, field: ast.expr) -> Place | None:
    """None for what is no written name, as the number of an item."""
    text = isinstance(field, ast.Constant) and isinstance(field.value, str)
    return (ast.unparse(mapping), field.value) if text else None  # type: ignore[attr-defined]


def _assured(node: ast.AST) -> Iterator[Place]:
    """The fields of which a node says that they are there, or asks whether they are."""
    places: list[Place | None] = []
    match node:
        case ast.Subscript(ctx=ast.Store()):
            places = [_place(node.value, node.slice)]
        case ast.Call(func=ast.Attribute(attr="setdefault"), args=[field, *_]):
            places = [_place(node.func.value, field)]  # type: ignore[attr-defined]
        case ast.Assign(targets=[target], value=ast.Dict(keys=keys)):
            places = [_place(target, key) for key in keys if key is not None]
        case ast.AnnAssign(target=target, value=ast.Dict(keys=keys)):
            places = [_place(target, key) for key in keys if key is not None]
        case ast.If() | ast.IfExp() | ast.While() | ast.Assert():
            places = _asked(node.test)
        case ast.BoolOp():
            places = [place for value in node.values for place in _asked(value)]
        case ast.comprehension():
            places = [place for condition in node.ifs for place in _asked(condition)]
        case ast.match_case(guard=ast.expr() as guard):
            places = _asked(guard)
    return (place for place in places if place is not None)


def _asked(condition: ast.expr) -> list[Place | None]:
    """``"field" in x``, ``x.get("field")``."""
    places = []
    for node in ast.walk(condition):
        match node:
            case ast.Compare(left=field, ops=[ast.In() | ast.NotIn()], comparators=[mapping]):
                places.append(_place(mapping, field))
            case ast.Call(func=ast.Attribute(value=mapping, attr="get"), args=[field, *_]):
                places.append(_place(mapping, field))
    return places
