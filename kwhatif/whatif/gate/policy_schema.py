"""The JSON Schema of the gate's rules file, made from the Structs that decode it.

``schemas/gate-policy.schema.json`` is what this module prints:
``python -m kwhatif.whatif.gate.policy_schema > schemas/gate-policy.schema.json``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.snapshot.format.cluster_schema import as_text, of_quantity, tidy
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.whatif.gate.policy import KIND, GatePolicy
from kwhatif.whatif.gate.registry import in_tree
from kwhatif.whatif.gate.rule import LEVELS, Parameters

__all__ = ["gate_policy_schema", "schema_text"]


_LEVELS = [*LEVELS, False]
"""Some readers of YAML take a plain off for false."""


def gate_policy_schema() -> dict[str, Any]:
    """The schema as plain Python values. Rules that nobody here knows may come from outside."""
    rules = in_tree()
    structs = [GatePolicy, Parameters, *(rule.parameters for rule in rules.values())]
    references, definitions = msgspec.json.schema_components(
        structs, schema_hook=of_quantity, ref_template="#/$defs/{name}"
    )
    policy = definitions.pop("GatePolicy")
    for definition in definitions.values():
        definition["additionalProperties"] = False
        definition["properties"]["level"]["enum"] = _LEVELS
    of_rule = dict(zip(rules, references[2:], strict=True))
    properties = {
        name: {"description": rules[name].purpose, **_settings(reference)} for name, reference in of_rule.items()
    }
    definitions["OutsideParameters"] = {**definitions["Parameters"], "additionalProperties": True}
    policy["properties"]["rules"] = {
        "description": "Settings by rule. Only rules that are named are run; without any of this, those on by default.",
        "type": "object",
        "properties": properties,
        "additionalProperties": _settings({"$ref": "#/$defs/OutsideParameters"}),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://kwhatif.dev/schemas/gate-policy.schema.json",
        "title": KIND,
        "description": "The rules of kwhatif gate: .kwhatif.yaml.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            **tidy(policy["properties"]),
        },
        "additionalProperties": False,
        "$defs": tidy(dict(sorted(definitions.items()))),
    }


def _settings(reference: dict[str, Any]) -> dict[str, Any]:
    """The parameters, a level alone, or several lots of parameters."""
    several = {"type": "array", "minItems": 1, "items": reference}
    return {"anyOf": [reference, {"enum": _LEVELS}, several, {"type": "null"}]}


def schema_text() -> str:
    """The schema as the file has it."""
    return as_text(gate_policy_schema())


if __name__ == "__main__":
    print(schema_text(), end="")
