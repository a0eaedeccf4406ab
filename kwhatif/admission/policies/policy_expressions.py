"""CEL expressions of admission policies: their variables, compilation and errors.

Upstream: apiserver/pkg/admission/plugin/cel (compile.go, composition.go, activation.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from kwhatif.admission.custom.formats import FORMATS
from kwhatif.cel.declarations import (
    BOOL,
    DYN,
    INT,
    NULL,
    STRING,
    Kind,
    define,
    fits,
    list_of,
    map_of,
    merge_definitions,
)
from kwhatif.cel.program import Program
from kwhatif.cel.syntax import parse
from kwhatif.cel.tree import Ident, Node, Select, inner_nodes
from kwhatif.cel.values import CompileError, Fault, OverBudget

COST_LIMIT = 1_000_000
"""The cost limit of one expression."""

EXPRESSION_GONE = "left_out"
"""Stands for an expression that redaction removed from a snapshot."""

_REQUEST, _NAMESPACE, _VARIABLES = "kubernetes.AdmissionRequest", "kubernetes.Namespace", "kubernetes.variables"
_TIME = Kind("google.protobuf.Timestamp")
_TEXTS, _LABELS = list_of(STRING), map_of(STRING, STRING)


def _texts(*names: str) -> dict[str, Kind]:
    return dict.fromkeys(names, STRING)


_FIELDS: dict[str, Mapping[str, Kind]] = {
    "kubernetes.GroupVersionKind": _texts("group", "version", "kind"),
    "kubernetes.GroupVersionResource": _texts("group", "version", "resource"),
    "kubernetes.UserInfo": {
        **_texts("username", "uid"),
        "groups": _TEXTS,
        "extra": map_of(STRING, _TEXTS),
    },
    _REQUEST: {
        **_texts("subResource", "requestSubResource", "name", "namespace", "operation"),
        **dict.fromkeys(("kind", "requestKind"), Kind("kubernetes.GroupVersionKind")),
        **dict.fromkeys(("resource", "requestResource"), Kind("kubernetes.GroupVersionResource")),
        "userInfo": Kind("kubernetes.UserInfo"),
        "dryRun": BOOL,
        "options": DYN,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceCondition": {**_texts("status", "type", "message", "reason"), "lastTransitionTime": _TIME},
    "kubernetes.NamespaceStatus": {
        "conditions": list_of(Kind("kubernetes.NamespaceCondition")),
        "phase": STRING,
    },
    "kubernetes.NamespaceMetadata": {
        **_texts("name", "generateName", "namespace", "UID", "resourceVersion"),
        **dict.fromkeys(("labels", "annotations"), _LABELS),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    },
    _NAMESPACE: {
        "metadata": Kind("kubernetes.NamespaceMetadata"),
        "spec": Kind("kubernetes.NamespaceSpec"),
        "status": Kind("kubernetes.NamespaceStatus"),
    },
}


class _AnyField(dict[str, Kind]):
    def get(self, key: str, default: Any = None) -> Kind:
        return DYN


class _Patches(dict[str, Mapping[str, Kind]]):
    """What mutations make: ``JSONPatch{}``, and ``Object{}`` whose parts are called as the path to them."""

    def get(self, key: str, default: Any = None) -> Any:
        if key == "JSONPatch":
            return {**_texts("op", "path", "from"), "value": DYN}
        return _AnyField() if key == "Object" or key.startswith("Object.") else default


def _escape_pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


_PATCH_FUNCTIONS = merge_definitions(define("jsonpatch.escapeKey(string) -> string", _escape_pointer))
_PATCHES = _Patches()

_RESULTS: dict[str, tuple[Kind, ...]] = {
    "bool": (BOOL,),
    "string": (STRING,),
    "annotation": (STRING, NULL),
    "any": (),
    "Object": (Kind("Object"),),
    "JSONPatch": (list_of(Kind("JSONPatch")),),
}
"""Use of an expression -> the types that its value may have."""


class ExpressionEnvironment(msgspec.Struct, frozen=True):
    """The variables of an expression besides ``object``, ``oldObject``, ``request`` and ``namespaceObject``.

    ``variables`` are pairs of name and type, None where there is no ``variables`` at all.
    """

    params: bool = False
    patches: bool = False
    variables: tuple[tuple[str, Kind], ...] | None = None


class EvaluationError(Exception):
    """An expression that failed; ``str`` is the message in the policy's answer."""


@lru_cache(maxsize=4096)
def compile_expression(text: str, result: str, scenery: ExpressionEnvironment) -> Program | str:
    """An expression ready to run, or what is wrong with it. ``result`` is a key of the table of results."""
    kinds = {"object": DYN, "oldObject": DYN, "request": Kind(_REQUEST), "namespaceObject": Kind(_NAMESPACE)}
    fields = _FIELDS
    if scenery.params:
        kinds["params"] = DYN
    if scenery.variables is not None:
        kinds["variables"] = Kind(_VARIABLES)
        fields = fields | {_VARIABLES: dict(scenery.variables)}
    more = (FORMATS | _PATCH_FUNCTIONS, _PATCHES) if scenery.patches else (FORMATS, None)
    try:
        program = Program(text, kinds, fields, *more)
    except CompileError as error:
        return f"compilation failed: {error}"
    allowed = _RESULTS[result]
    if not allowed or any(_is(program.kind, kind, text) for kind in allowed):
        return program
    if len(allowed) == 1:
        return f"must evaluate to {allowed[0]} but got {program.kind}"
    return f"must evaluate to one of [{' '.join(map(str, allowed))}] but got {program.kind}"


def _is(kind: Kind, result: Kind, text: str) -> bool:
    """A value whose type is known only at run time is refused if it is plainly of another type."""
    if kind.loose:
        return not isinstance(parse(text), Ident | Select)
    return fits(kind, result, {})


@lru_cache(maxsize=4096)
def asks_authorizer(text: str) -> bool:
    """Whether an expression uses the authorizer, whose answers are unknown here."""
    try:
        tree = parse(text)
    except CompileError:
        return False
    return any(isinstance(node, Ident) and node.name == "authorizer" for node in _nodes(tree))


def _nodes(tree: Node) -> Sequence[Node]:
    nodes, rest = [], [tree]
    while rest:
        node = rest.pop()
        nodes.append(node)
        rest += inner_nodes(node)
    return nodes


def evaluate_expression(program: Program | str, text: str, values: Mapping[str, Any]) -> Any:
    """The value of an expression. Raises EvaluationError."""
    if isinstance(program, str):
        raise EvaluationError(f"compilation error: {program}")
    try:
        return program.evaluate(values, COST_LIMIT)
    except (Fault, OverBudget) as error:
        raise EvaluationError(f"expression '{text}' resulted in error: {error}") from None
