"""The JSON Schema of the gate's report, made from the Structs that it is written from.

``schemas/gate-report.schema.json`` is what this module prints:
``python -m kwhatif.whatif.gate.report_schema > schemas/gate-report.schema.json``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.results.gate import GateResult
from kwhatif.results.values import API_VERSION
from kwhatif.snapshot.format.cluster_schema import as_text, tidy

__all__ = ["KIND", "gate_report_schema", "schema_text"]

KIND = "GateReport"


def gate_report_schema() -> dict[str, Any]:
    """The schema as plain Python values. Every field is always there; later versions may have more."""
    _, definitions = msgspec.json.schema_components([GateResult], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        definition["required"] = list(definition["properties"])
        # A docstring, whose lines are broken as the code has them.
        definition["description"] = " ".join(definition["description"].split())
    report = definitions.pop("GateResult")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://kwhatif.dev/schemas/gate-report.schema.json",
        "title": KIND,
        "description": "What kwhatif gate says of a change, as -o json and -o yaml write it.",
        "type": "object",
        "required": report["required"],
        "properties": {
            **tidy(report["properties"]),
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
        },
        "$defs": tidy(dict(sorted(definitions.items()))),
    }


def schema_text() -> str:
    """The schema as the file has it."""
    return as_text(gate_report_schema())


if __name__ == "__main__":
    print(schema_text(), end="")
