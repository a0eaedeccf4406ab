"""A request as CEL expressions see it, and a cache of their values by the fields that they read.

An expression depends on its variables alone, and each of their fields on the same field of the object as it was sent.
So requests that agree in these fields, such as those for the pods of one template, share the result. Upstream:
apiserver/pkg/admission/plugin/cel/condition.go, apimachinery/pkg/runtime/converter.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from kwhatif.admission.defaulting.unread_defaults import unread_defaults
from kwhatif.admission.object_store import name_of
from kwhatif.admission.policies.matching import operation_of, resource_of
from kwhatif.admission.policies.policy_expressions import EvaluationError
from kwhatif.admission.request import Request
from kwhatif.admission.response import Object
from kwhatif.api.field_types import FieldType, Types, newest_types
from kwhatif.api.objects import section
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.cel.syntax import parse
from kwhatif.cel.tree import Ident, Node, Select, inner_nodes
from kwhatif.cel.values import CompileError

_USER = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
_CONTROLLERS = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]

# What Go writes of a field that was not given; of the other types null.
_ZEROES: dict[str, Any] = {
    **dict.fromkeys(("int32", "int64", "int-or-string"), 0),
    "string": "",
    "bool": False,
    "float64": 0.0,
    "quantity": "0",
}
# Structs to Go, so that a value which is not behind a pointer is never empty.
_NEVER_EMPTY = ("quantity", "time", "microtime", "int-or-string", "any")
_SPECS: dict[tuple[str, bytes], Any] = {}
_MOST_SPECS = 1024


def to_unstructured(obj: Object) -> Object:
    """An object as expressions see it: empty fields are omitted, except those that Go always writes.

    A value of a type that Go does not know is passed as it is.
    """
    types = newest_types()
    served = types.api_resource_of(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))
    return obj if served is None else _struct_to_unstructured(obj, served.type, types)


def _seen_alike(obj: Object) -> Object:
    """As ``to_unstructured``, read-only: objects with the same spec, such as the pods of one template, share the
    result.
    """
    types, spec = newest_types(), obj.get("spec")
    served = types.api_resource_of(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))
    type_ = types.fields(served.type).get("spec") if served else None
    if type_ is None or not isinstance(spec, dict):
        return to_unstructured(obj)
    key = type_.name, msgspec.json.encode(spec)
    if key not in _SPECS:
        if len(_SPECS) >= _MOST_SPECS:
            _SPECS.clear()
        _SPECS[key] = _value(spec, type_, types)
    return {**to_unstructured({name: value for name, value in obj.items() if name != "spec"}), "spec": _SPECS[key]}


def _struct_to_unstructured(value: Object, name: str, types: Types) -> Object:
    """What Go writes of a struct."""
    fields = types.fields(name)
    defaults = unread_defaults(value, name)
    struct = {key: item for key, item in value.items() if key not in fields}
    for key, type_ in fields.items():
        item = value.get(key)
        if key in defaults and (item is None or not (item or type_.pointer)):
            item = defaults[key]
        if item is not None and (type_.written or type_.pointer or not _empty(item, type_)):
            struct[key] = _value(item, type_, types)
        elif item is None and type_.written:
            struct[key] = _zero(type_, types)
    return struct


def _value(value: Any, type_: FieldType, types: Types) -> Any:
    if type_.item is not None:
        if isinstance(value, list):
            return [_value(item, type_.item, types) for item in value]
        return {key: _value(item, type_.item, types) for key, item in value.items()}
    if type_.name == "quantity":
        return _canonical(value)
    return (
        _struct_to_unstructured(value, type_.name, types)
        if type_.shape == "struct" and isinstance(value, dict)
        else value
    )


def _canonical(amount: Any) -> Any:
    """A quantity as Go writes it: a text, ``1`` where a manifest has ``1000m``."""
    try:
        return str(Quantity.from_json(amount))
    except QuantityError:
        return amount


def _zero(type_: FieldType, types: Types) -> Any:
    if type_.shape == "struct" and not type_.pointer:
        return _struct_to_unstructured({}, type_.name, types)
    return None if type_.pointer else _ZEROES.get(type_.name)


def _empty(value: Any, type_: FieldType) -> bool:
    return type_.shape != "struct" and type_.name not in _NEVER_EMPTY and not value


class RequestView:
    """A request as expressions see it, valid as long as its object does not change. Each part is made on first use."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.encoded: dict[tuple[str, ...], bytes] = {}
        """Parts of it, spelt out, by their paths."""

    @cached_property
    def namespace_object(self) -> Object | None:
        """The object's namespace, as it is stored."""
        name, kind = self.request.namespace, self.request.object.get("kind")
        return self.request.store.get("Namespace", "", name) if name and kind != "Namespace" else None

    @cached_property
    def admission_request(self) -> Object:
        """The ``request`` variable: the operation and the user."""
        return _build_admission_request(self.request)

    @cached_property
    def values(self) -> dict[str, Any]:
        """``object``, ``oldObject``, ``request`` and ``namespaceObject``."""
        old = self.request.old
        return {
            "object": _seen_alike(self.request.object),
            "oldObject": None if old is None else _seen_alike(old),
            "request": self.admission_request,
            "namespaceObject": None if self.namespace_object is None else _namespace(self.namespace_object),
        }


def _build_admission_request(request: Request) -> Object:
    group, _, version = str(request.object.get("apiVersion") or "").rpartition("/")
    kind = str(request.object.get("kind") or "")
    gvk = {"group": group, "version": version, "kind": kind}
    gvr = {"group": group, "version": version, "resource": resource_of(request)}
    fields: Object = {
        "kind": gvk,
        "resource": gvr,
        "requestKind": gvk,
        "requestResource": gvr,
        "name": request.requested_name,
        "operation": operation_of(request),
        "userInfo": _who(request),
        "dryRun": False,
        "options": {
            "kind": "CreateOptions" if request.old is None else "UpdateOptions",
            "apiVersion": "meta.k8s.io/v1",
        },
    }
    home = name_of(request.object) if kind == "Namespace" and not group else request.namespace
    return fields | {"namespace": home} if home else fields


def _who(request: Request) -> Object:
    """The user who applies manifests is assumed to be a cluster administrator."""
    for owner in section(request.object, "metadata").get("ownerReferences") or ():
        if owner.get("controller"):
            name = f"system:serviceaccount:kube-system:{str(owner.get('kind')).lower()}-controller"
            return {"username": name, "groups": _CONTROLLERS}
    return dict(_USER)


def _namespace(namespace: Object) -> Object:
    metadata = {
        key: value
        for key, value in section(namespace, "metadata").items()
        if key not in ("ownerReferences", "managedFields", "selfLink")
    }
    for key in ("creationTimestamp", "deletionTimestamp"):
        metadata.pop(key, None)
    metadata["labels"] = {"kubernetes.io/metadata.name": name_of(namespace), **section(metadata, "labels")}
    return {"metadata": metadata, "spec": section(namespace, "spec"), "status": section(namespace, "status")}


Path = tuple[str, ...]

_ROOTS = ("object", "oldObject", "request", "namespaceObject", "params", "variables")
_MOST = 4096


class ExpressionCache:
    """The values of expressions, by the fields that they and their ``variables`` (texts, too) read."""

    def __init__(self, variables: Iterable[str] = ()) -> None:
        self._variables = frozenset(path for text in variables for path in _read_by(text))
        self._paths: dict[str, list[Path]] = {}
        self._values: dict[tuple[Any, ...], Any] = {}

    def value(self, text: str, use: str, view: RequestView, params: Object | None, ask: Callable[[], Any]) -> Any:
        """The value of an expression for one use, as ``ask`` evaluates it. Raises EvaluationError if ``ask`` did."""
        paths = self._paths.get(text)
        if paths is None:
            paths = self._paths[text] = self._paths_read_by(text)
        encoded = (
            _encode_root(view, params, path) if path[0] == "params" else encode_part(view, path) for path in paths
        )
        key = text, use, encode_part(view, ()), *encoded
        if key not in self._values:
            if len(self._values) >= _MOST:
                self._values.clear()
            try:
                self._values[key] = ask()
            except EvaluationError as problem:
                self._values[key] = problem
        value = self._values[key]
        if isinstance(value, EvaluationError):
            raise value
        return value

    def _paths_read_by(self, text: str) -> list[Path]:
        own = _read_by(text)
        reads = own | self._variables if any(root == "variables" for root, *_ in own) else own
        paths = {path for path in reads if path[0] != "variables"}
        # What is read whole need not be listed again part by part.
        return sorted(p for p in paths if not any(p[:n] in paths for n in range(1, len(p))))


def encode_part(view: RequestView, path: Path) -> bytes:
    """A part of the request as a key; with no path, what all expressions depend on."""
    part = view.encoded.get(path)
    if part is None:
        part = view.encoded[path] = _encode_root(view, None, path)
    return part


def _encode_root(view: RequestView, params: Object | None, path: Path) -> bytes:
    request = view.request
    obj, old = request.object, request.old
    roots = {"object": obj, "oldObject": old, "params": params}
    value: Any
    match path:
        case ():
            value = obj.get("apiVersion"), obj.get("kind"), old is None
        case ("request", *rest):
            value = _follow_path(view.admission_request, rest)
        case ("namespaceObject", *rest):
            value = request.namespace, _follow_path(view.namespace_object, rest)
        case (root, *rest):
            value = _follow_path(roots[root], rest)
    return msgspec.json.encode(value)


def _follow_path(value: Any, path: list[str]) -> tuple[Any, int]:
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
