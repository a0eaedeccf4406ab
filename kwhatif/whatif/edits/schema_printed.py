"""The JSON Schema of documents with what-if edits, made from the Structs that decode them.

``schemas/cluster-edits.schema.json`` is what this module prints:
``python -m kwhatif.whatif.edits.schema_printed > schemas/cluster-edits.schema.json``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.snapshot.format.cluster_schema import as_text, of_quantity, tidy
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.whatif.edits.document import KIND, Edit

__all__ = ["cluster_edits_schema", "schema_text"]


def cluster_edits_schema() -> dict[str, Any]:
    """The schema as plain Python values. Unlike in objects of Kubernetes, nothing else may stand there."""
    (edit,), definitions = msgspec.json.schema_components(
        [Edit], schema_hook=of_quantity, ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        definition["additionalProperties"] = False
    definitions["Edit"] |= {"minProperties": 1, "maxProperties": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://kwhatif.dev/schemas/cluster-edits.schema.json",
        "title": KIND,
        "description": "What-if edits of a cluster, made in their order.",
        "type": "object",
        "required": ["apiVersion", "kind", "edits"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "metadata": {"type": "object"},
            "edits": {"type": "array", "items": edit},
        },
        "additionalProperties": False,
        "$defs": tidy(dict(sorted(definitions.items()))),
    }


def schema_text() -> str:
    """The schema as the file has it."""
    return as_text(cluster_edits_schema())


if __name__ == "__main__":
    print(schema_text(), end="")
