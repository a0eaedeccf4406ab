"""The JSON Schema of the snapshot format, made from the Structs that decode it.

``schemas/cluster-snapshot.schema.json`` is what this module prints:
``python -m kwhatif.snapshot.format.cluster_schema > schemas/cluster-snapshot.schema.json``.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from kwhatif.api.kinds import KINDS
from kwhatif.api.quantity import Quantity
from kwhatif.snapshot.format.model import API_VERSION, KIND, Metadata

__all__ = ["as_text", "cluster_snapshot_schema", "of_quantity", "schema_text", "tidy"]

_QUANTITY = {
    "description": 'A number with an optional suffix, such as "500m", "1Gi" or 2.',
    "type": ["string", "number"],
    "format": "quantity",
}
_NAMED = {
    "type": "object",
    "required": ["metadata"],
    "properties": {
        "metadata": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "minLength": 1}},
        }
    },
}
_UNSAID = ("default", "title")


def cluster_snapshot_schema() -> dict[str, Any]:
    """The schema as plain Python values. Fields that scheduling does not read are allowed everywhere."""
    (metadata, *kinds), definitions = msgspec.json.schema_components(
        [Metadata, *KINDS.values()], schema_hook=of_quantity, ref_template="#/$defs/{name}"
    )
    lists = {
        kind: {"type": ["array", "null"], "items": {"allOf": [of_kind, {"$ref": "#/$defs/Named"}]}}
        for kind, of_kind in zip(KINDS, kinds, strict=True)
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://kwhatif.dev/schemas/cluster-snapshot.schema.json",
        "title": KIND,
        "description": "The objects of a cluster that scheduling reads, by kind.",
        "type": "object",
        "required": ["apiVersion", "kind", "objects"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "metadata": metadata,
            "objects": {
                "type": "object",
                "properties": dict(sorted(lists.items())),
                "additionalProperties": {"type": ["array", "null"], "items": {"type": "object"}},
            },
        },
        "$defs": {"Named": _NAMED, **tidy(dict(sorted(definitions.items())))},
    }


def schema_text() -> str:
    """The schema as the file has it."""
    return as_text(cluster_snapshot_schema())


def as_text(schema: dict[str, Any]) -> str:
    """A schema as its file has it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def tidy(value: Any) -> Any:
    """The same schema for readers: "this or null" on one level, and without defaults and titles."""
    if isinstance(value, list):
        return [tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    # A property may be called like a keyword; what describes a property is always an object.
    kept = {key: tidy(item) for key, item in value.items() if key not in _UNSAID or isinstance(item, dict)}
    if kept.get("required") == []:
        del kept["required"]
    match kept.get("anyOf"):
        case [{"type": str(one), **rest}, {"type": "null"}]:
            return {"type": [one, "null"], **rest}
    return kept


def of_quantity(type_: type[Any]) -> dict[str, Any]:
    """The schema of what is decoded by a rule of our own."""
    if type_ is Quantity:
        return _QUANTITY
    raise NotImplementedError(f"no schema is known for {type_.__name__}")


if __name__ == "__main__":
    print(schema_text(), end="")
