"""What expressions see of a request: the objects as Go's types spell them, who asks, and the namespace.

Upstream: apiserver/pkg/admission/plugin/cel/condition.go, apimachinery/pkg/runtime/converter.go.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from kwhatif.admission.answer import Object
from kwhatif.admission.policies.matching import operation_of, resource_of
from kwhatif.admission.request import Request
from kwhatif.admission.world import name_of
from kwhatif.api.field_types import FieldType, Types, newest_types

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


def seen(obj: Object) -> Object:
    """An object as expressions see it. Fields that are empty are left out; those that Go always writes are there.

    What Go has no type for is seen as it is.
    """
    types = newest_types()
    served = types.served(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))
    return obj if served is None else _written(obj, served.type, types)


def _seen_alike(obj: Object) -> Object:
    """``seen``, to read only: what have the same spec, as pods of one template do, share what is made of it."""
    types, spec = newest_types(), obj.get("spec")
    served = types.served(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))
    type_ = types.fields(served.type).get("spec") if served else None
    if type_ is None or not isinstance(spec, dict):
        return seen(obj)
    key = type_.name, msgspec.json.encode(spec)
    if key not in _SPECS:
        if len(_SPECS) >= _MOST_SPECS:
            _SPECS.clear()
        _SPECS[key] = _value(spec, type_, types)
    return {**seen({name: value for name, value in obj.items() if name != "spec"}), "spec": _SPECS[key]}


def _written(value: Object, name: str, types: Types) -> Object:
    """What Go writes of a struct."""
    fields = types.fields(name)
    found = {key: item for key, item in value.items() if key not in fields}
    for key, type_ in fields.items():
        item = value.get(key)
        if item is not None and (type_.written or type_.pointer or not _empty(item, type_)):
            found[key] = _value(item, type_, types)
        elif item is None and type_.written:
            found[key] = _zero(type_, types)
    return found


def _value(value: Any, type_: FieldType, types: Types) -> Any:
    if type_.item is not None:
        if isinstance(value, list):
            return [_value(item, type_.item, types) for item in value]
        return {key: _value(item, type_.item, types) for key, item in value.items()}
    return _written(value, type_.name, types) if type_.shape == "struct" and isinstance(value, dict) else value


def _zero(type_: FieldType, types: Types) -> Any:
    if type_.shape == "struct" and not type_.pointer:
        return _written({}, type_.name, types)
    return None if type_.pointer else _ZEROES.get(type_.name)


def _empty(value: Any, type_: FieldType) -> bool:
    return type_.shape != "struct" and type_.name not in _NEVER_EMPTY and not value


class View:
    """A request as expressions see it, as long as nobody changes its object. Each part is made when it is asked for."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.told: dict[tuple[str, ...], bytes] = {}
        """Parts of it, spelt out, by their paths."""

    @cached_property
    def home(self) -> Object | None:
        """The object's namespace, as it is stored."""
        name, kind = self.request.namespace, self.request.object.get("kind")
        return self.request.world.get("Namespace", "", name) if name and kind != "Namespace" else None

    @cached_property
    def asked(self) -> Object:
        """What is asked for, and who asks."""
        return _asked(self.request)

    @cached_property
    def values(self) -> dict[str, Any]:
        """``object``, ``oldObject``, ``request`` and ``namespaceObject``."""
        old = self.request.old
        return {
            "object": _seen_alike(self.request.object),
            "oldObject": None if old is None else _seen_alike(old),
            "request": self.asked,
            "namespaceObject": None if self.home is None else _namespace(self.home),
        }


def _asked(request: Request) -> Object:
    group, _, version = str(request.object.get("apiVersion") or "").rpartition("/")
    kind = str(request.object.get("kind") or "")
    gvk = {"group": group, "version": version, "kind": kind}
    gvr = {"group": group, "version": version, "resource": resource_of(request)}
    asked: Object = {
        "kind": gvk,
        "resource": gvr,
        "requestKind": gvk,
        "requestResource": gvr,
        "name": request.named_as,
        "operation": operation_of(request),
        "userInfo": _who(request),
        "dryRun": False,
        "options": {
            "kind": "CreateOptions" if request.old is None else "UpdateOptions",
            "apiVersion": "meta.k8s.io/v1",
        },
    }
    home = name_of(request.object) if kind == "Namespace" and not group else request.namespace
    return asked | {"namespace": home} if home else asked


def _who(request: Request) -> Object:
    """Whoever works with manifests is taken for the cluster's administrator."""
    for owner in (request.object.get("metadata") or {}).get("ownerReferences") or ():
        if owner.get("controller"):
            name = f"system:serviceaccount:kube-system:{str(owner.get('kind')).lower()}-controller"
            return {"username": name, "groups": _CONTROLLERS}
    return dict(_USER)


def _namespace(namespace: Object) -> Object:
    metadata = {
        key: value
        for key, value in (namespace.get("metadata") or {}).items()
        if key not in ("ownerReferences", "managedFields", "selfLink")
    }
    for key in ("creationTimestamp", "deletionTimestamp"):
        metadata.pop(key, None)
    metadata["labels"] = {"kubernetes.io/metadata.name": name_of(namespace), **(metadata.get("labels") or {})}
    return {"metadata": metadata, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}
