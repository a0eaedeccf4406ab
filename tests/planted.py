"""An object of a kind with a secret in every field that may hold a text, by the table of all kinds' fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kwhatif.api.field_types import FieldType, Types, newest_types
from kwhatif.api.kinds import Kind

Secret = Callable[[str], str]
"""The text for a place such as ``spec.containers[].image`` or, for the key of a map, ``spec.nodeSelector{}``."""

_OTHERS: dict[str, Any] = {
    "bool": True,
    "float64": 1.5,
    "int32": 7,
    "int64": 7,
    "quantity": "7",
    "time": "2026-01-01T00:00:00Z",
    "microtime": "2026-01-01T00:00:00.000000Z",
}


def planted(kind: Kind, secret: Secret) -> dict[str, Any] | None:
    """The object; None if the newest minor does not serve the kind by default, so that nobody knows its fields."""
    types = newest_types()
    for version in kind.versions:
        served = types.api_resource_of(kind.api_version(version), kind.name)
        if served is not None:
            obj = _filled(FieldType("struct", served.type), types, secret, "", ())
            named = {"name": secret("metadata.name"), "namespace": secret("metadata.namespace")}
            head = {"apiVersion": kind.api_version(version), "kind": kind.name}
            return {**obj, **head, "metadata": obj["metadata"] | named}
    return None


def _filled(type_: FieldType, types: Types, secret: Secret, path: str, within: tuple[str, ...]) -> Any:
    if type_.item is not None and type_.shape == "list":
        return [_filled(type_.item, types, secret, f"{path}[]", within)]
    if type_.item is not None:
        return {secret(f"{path}{{}}"): _filled(type_.item, types, secret, f"{path}{{}}.value", within)}
    if type_.shape == "struct":
        if type_.name in within:
            return {}
        return {
            name: _filled(field, types, secret, f"{path}.{name}".removeprefix("."), (*within, type_.name))
            for name, field in types.fields(type_.name).items()
        }
    if type_.name == "any":
        return {"any": secret(f"{path}.any")}
    return _OTHERS.get(type_.name) or secret(path)
