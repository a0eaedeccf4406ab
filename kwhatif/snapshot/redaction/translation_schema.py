"""The JSON Schema of translations.

``schemas/translation.schema.json`` is what this module prints:
``python -m kwhatif.snapshot.redaction.translation_schema > schemas/translation.schema.json``.
"""

from __future__ import annotations

from typing import Any

from kwhatif.snapshot.format.cluster_schema import as_text
from kwhatif.snapshot.redaction.translation import API_VERSION, KIND

__all__ = ["schema_text", "translation_schema"]

_CODES = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[a-z]{1,2}[0-9]*[1-9]$"}}
_NODES = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^node-[0-9]*[1-9]$"}}
_POOLS = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^pool-[0-9]*[1-9]$"}}
_NUMBERS = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}}


def translation_schema() -> dict[str, Any]:
    """The schema as plain Python values."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://kwhatif.dev/schemas/translation.schema.json",
        "title": KIND,
        "description": "Which pseudonyms of a redacted snapshot stand for what. Not to be shared.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "words": {"description": "Parts of names; the codes are in the order of the words.", **_CODES},
            "resources": {"description": "Parts of the names of resources, likewise.", **_CODES},
            "nodes": {"description": "Whole names of nodes, likewise.", **_NODES},
            "pools": {"description": "Whole names of pools of devices, likewise.", **_POOLS},
            "uids": {"description": "Unique identifiers by number.", **_NUMBERS},
            "addresses": {"description": "IP addresses of host ports by number.", **_NUMBERS},
            "numericKeys": {
                "description": "Keys of labels whose values are compared as numbers (Gt, Lt): their numbers stay.",
                "type": "array",
                "items": {"type": "string"},
            },
        },
    }


def schema_text() -> str:
    """The schema as the file has it."""
    return as_text(translation_schema())


if __name__ == "__main__":
    print(schema_text(), end="")
