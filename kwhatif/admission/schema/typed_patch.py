"""How the API server reads a manifest that is applied: as a patch whose every field has an owner.

All that does not fit is told together. Upstream: sigs.k8s.io/structured-merge-diff (typed, schema) as
apimachinery/pkg/util/managedfields uses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.admission.schema.strict_decoding import unreadable
from kwhatif.api.field_types import FieldType, Types
from kwhatif.golang.base64_text import misread_base64

# What may hold any plain value, as the published schema has no better word for it.
_UNTYPED = ("any", "int-or-string", "quantity", "time", "microtime")
_DEFAULT_KEYS = {"protocol": "TCP"}


def patch_errors(value: Any, name: str, types: Types) -> list[str]:
    """``.spec.replicas: expected numeric (int or float), got string``, for each place that does not fit."""
    return list(_struct(value, name, types, ""))


def misfit(value: Any, name: str, types: Types) -> str | None:
    """What Go's types say of a patch that suits the schema: the first value that cannot be read into its field."""
    for key, field in types.fields(name).items():
        item = value.get(key)
        wrong = None if item is None else _misfit(item, field, types)
        if wrong:
            return wrong
    return None


def _misfit(value: Any, type_: FieldType, types: Types) -> str | None:
    if type_.shape == "struct":
        return misfit(value, type_.name, types)
    if type_.item is not None:
        items = value if isinstance(value, list) else value.values()
        found = (_misfit(item, type_.item, types) for item in items if item is not None)
        return next(filter(None, found), None)
    match type_.name:
        case "int32" | "int64" if isinstance(value, float) and not value.is_integer():
            return f"cannot convert float64 to {type_.name}"
        case "bytes" if wrong := misread_base64(value):
            return f"error decoding from json: {wrong}"
    return unreadable(value, type_.name)


def _struct(value: dict[str, Any], name: str, types: Types, path: str) -> Iterator[str]:
    fields = types.fields(name)
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            yield f"{path}.{key}: field not declared in schema"
        elif item is not None:
            yield from _value(item, field, types, f"{path}.{key}")


def _value(value: Any, type_: FieldType, types: Types, path: str) -> Iterator[str]:
    match type_.shape:
        case "struct" | "map" if not isinstance(value, dict):
            yield f"{path}: expected map, got &{{{go_value(value)}}}"
        case "struct":
            yield from _struct(value, type_.name, types, path)
        case "map":
            assert type_.item is not None
            for key, item in value.items():
                if item is not None:
                    yield from _value(item, type_.item, types, f"{path}.{key}")
        case "list" if not isinstance(value, list):
            yield f"{path}: expected list, got &{{{go_value(value)}}}"
        case "list":
            yield from _items(value, type_, types, path)
        case _:
            yield from _scalar(value, type_.name, path)


def _items(value: Sequence[Any], type_: FieldType, types: Types, path: str) -> Iterator[str]:
    assert type_.item is not None
    seen: set[str] = set()
    for i, item in enumerate(value):
        place = f"[{i}]"
        if type_.keys == ("*",):
            place = f"[={json.dumps(item)}]"
        elif type_.keys and isinstance(item, dict):
            missing = [key for key in type_.keys if item.get(key) is None and key not in _DEFAULT_KEYS]
            if missing and len(missing) == len(type_.keys):
                yield (
                    f"{path}: element {i}: associative list with keys has an element that omits key field "
                    f"{json.dumps(missing[0])} (and doesn't have default value)"
                )
                continue
            keys = ((key, item.get(key, _DEFAULT_KEYS.get(key))) for key in type_.keys)
            place = "[" + ",".join(f"{key}={json.dumps(found)}" for key, found in keys if found is not None) + "]"
        if type_.keys:
            if place in seen:
                yield f"{path}: duplicate entries for key {place}"
                continue
            seen.add(place)
        if item is not None:
            yield from _value(item, type_.item, types, f"{path}{place}")


def _scalar(value: Any, name: str, path: str) -> Iterator[str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match name:
        case _ if name in _UNTYPED:
            return
        case "string" | "bytes":
            if not isinstance(value, str):
                yield f"{path}: expected string, got &value.valueUnstructured{{Value:{go_value(value, quoted=True)}}}"
        case "bool":
            if not isinstance(value, bool):
                yield f"{path}: expected boolean, got &{{{go_value(value)}}}"
        case _:
            if not number:
                yield f"{path}: expected numeric (int or float), got {_go_type(value)}"


def _go_type(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "[]interface {}"
    return "map[string]interface {}"


def go_value(value: Any, *, quoted: bool = False) -> str:
    """A plain value as Go prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value) if quoted else value
        case list():
            inner = " ".join(go_value(item) for item in value)
            return f"[{inner}]"
        case dict():
            inner = " ".join(f"{key}:{go_value(item)}" for key, item in sorted(value.items()))
            return f"map[{inner}]"
    return str(value)
