"""The JSON Schema of the snapshot format: ``schemas/cluster-snapshot.schema.json``, made from the Structs."""

from __future__ import annotations

from typing import Any

from kwhatif.api.json_schema import components, document_schema
from kwhatif.api.kinds import KINDS
from kwhatif.snapshot.format.model import API_VERSION, KIND, Metadata

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


def cluster_snapshot_schema() -> dict[str, Any]:
    """The schema as plain Python values. Fields that scheduling does not read are allowed everywhere."""
    (metadata, *kinds), definitions = components(Metadata, *KINDS.values())
    lists = {
        kind: {"type": ["array", "null"], "items": {"allOf": [of_kind, {"$ref": "#/$defs/Named"}]}}
        for kind, of_kind in zip(KINDS, kinds, strict=True)
    }
    return document_schema(
        "cluster-snapshot",
        API_VERSION,
        KIND,
        "The objects of a cluster that scheduling reads, by kind.",
        {
            "metadata": metadata,
            "objects": {
                "type": "object",
                "properties": dict(sorted(lists.items())),
                "additionalProperties": {"type": ["array", "null"], "items": {"type": "object"}},
            },
        },
        required=("apiVersion", "kind", "objects"),
        definitions={"Named": _NAMED, **definitions},
        closed=False,
    )
