"""The JSON Schemas of all formats of our own, made from the Structs that decode and write them.

``python -m kwhatif.commands.schema_files schemas`` writes them to the files of the package ``kwhatif.schemas``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from kwhatif.api.json_schema import components, document_schema
from kwhatif.commands.autoscale.karpenter_result import KarpenterResult, NodesExplained, PoolsDiff
from kwhatif.commands.backtest.diff_result import BacktestDiff
from kwhatif.commands.backtest.result import BacktestResult
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.commands.gate import gate_policy
from kwhatif.commands.gate.rule import LEVELS, Parameters, in_tree
from kwhatif.commands.sweep import space_document
from kwhatif.commands.sweep.result import SweepResult
from kwhatif.redaction import translation as translation_file
from kwhatif.results.base import Result
from kwhatif.results.gate import GateResult
from kwhatif.results.place import PlaceResult
from kwhatif.simulation.autoscalers import instance_types_document, node_groups_document
from kwhatif.simulation.edits import document
from kwhatif.snapshot.format.atomic_files import draft_of
from kwhatif.snapshot.format.documents import cluster_snapshot_schema
from kwhatif.snapshot.format.model import API_VERSION

Schema = dict[str, Any]

_LEVELS = [*LEVELS, False]
"""Some readers of YAML take a plain off for false."""


def cluster_edits_schema() -> Schema:
    (edit,), definitions = components(document.Edit)
    definitions["Edit"] |= {"minProperties": 1, "maxProperties": 1}
    return document_schema(
        "cluster-edits",
        API_VERSION,
        document.KIND,
        "What-if edits of a cluster, made in their order.",
        {"metadata": {"type": "object"}, "edits": {"type": "array", "items": edit}},
        required=("apiVersion", "kind", "edits"),
        definitions=definitions,
    )


def gate_policy_schema() -> Schema:
    """Rules that nobody here knows may come from outside."""
    rules = in_tree()
    (_, _, *parameters), definitions = components(
        gate_policy.GatePolicy, Parameters, *(rule.parameters for rule in rules.values())
    )
    properties = definitions.pop("GatePolicy")["properties"]
    for definition in definitions.values():
        definition["properties"]["level"]["enum"] = _LEVELS
    definitions["OutsideParameters"] = {**definitions["Parameters"], "additionalProperties": True}
    of_rules = {
        name: {"description": rule.purpose, **_settings(reference)}
        for (name, rule), reference in zip(rules.items(), parameters, strict=True)
    }
    properties["rules"] = {
        "description": "Settings by rule. Only rules that are named are run; without any of this, those on by default.",
        "type": "object",
        "properties": of_rules,
        "additionalProperties": _settings({"$ref": "#/$defs/OutsideParameters"}),
    }
    purpose = "The rules of kwhatif gate: .kwhatif.yaml."
    return document_schema(
        "gate-policy", API_VERSION, gate_policy.KIND, purpose, _without_head(properties), definitions=definitions
    )


def _settings(reference: Schema) -> Schema:
    """The parameters, a level alone, or several lots of parameters."""
    several = {"type": "array", "minItems": 1, "items": reference}
    return {"anyOf": [reference, {"enum": _LEVELS}, several, {"type": "null"}]}


def gate_report_schema() -> Schema:
    return _result_schema("gate-report", GateResult, "What kwhatif gate says of a change")


def backtest_result_schema() -> Schema:
    return _result_schema("backtest-result", BacktestResult, "How far the decisions of a recording come out again")


def backtest_diff_schema() -> Schema:
    return _result_schema("backtest-diff", BacktestDiff, "What another configuration would have made of a recorded day")


def place_result_schema() -> Schema:
    return _result_schema("place-result", PlaceResult, "Where kwhatif place puts pods")


def karpenter_result_schema() -> Schema:
    return _result_schema("karpenter-result", KarpenterResult, "What Karpenter would do, by kwhatif autoscale")


def pools_diff_schema() -> Schema:
    return _result_schema("pools-diff", PoolsDiff, "What Karpenter buys with two sets of NodePools, by kwhatif diff")


def nodes_explained_schema() -> Schema:
    return _result_schema(
        "nodes-explained", NodesExplained, "Why Karpenter gives nodes back or keeps them, by kwhatif explain"
    )


def _result_schema(name: str, result: type[Result], purpose: str) -> Schema:
    """Every field is always there but those that may be unset; later versions may have more."""
    _, definitions = components(result)
    for definition in definitions.values():
        given = definition.get("required", ())
        fields = definition["properties"].items()
        definition["required"] = [name for name, field in fields if name in given or "default" in field]
        # A docstring, whose lines are broken as the code has them.
        definition["description"] = " ".join(definition["description"].split())
    whole = definitions.pop(result.__name__)
    return document_schema(
        name,
        API_VERSION,
        whole["properties"]["kind"]["default"],
        f"{purpose}, as -o json and -o yaml write it.",
        _without_head(whole["properties"]),
        required=tuple(whole["required"]),
        definitions=definitions,
        closed=False,
    )


def node_groups_schema() -> Schema:
    _, definitions = components(node_groups_document.NodeGroupsFile)
    file = definitions.pop("NodeGroupsFile")
    definitions["Group"]["properties"]["options"]["description"] = "Flags of the group's own, without dashes."
    return document_schema(
        "node-groups",
        API_VERSION,
        node_groups_document.KIND,
        "The node groups that cluster-autoscaler scales, and its flags: what kwhatif autoscale --groups reads.",
        _without_head(file["properties"]),
        required=("apiVersion", "kind", "groups"),
        definitions=definitions,
    )


def instance_types_schema() -> Schema:
    _, definitions = components(instance_types_document.InstanceTypesFile)
    file = definitions.pop("InstanceTypesFile")
    return document_schema(
        "instance-types",
        API_VERSION,
        instance_types_document.KIND,
        "What a cloud offers to Karpenter, and how that was started: what kwhatif autoscale --catalogue reads.",
        _without_head(file["properties"]),
        required=("apiVersion", "kind", "types"),
        definitions=definitions,
    )


def sweep_space_schema() -> Schema:
    _, definitions = components(space_document.SweepSpace)
    file = definitions.pop("SweepSpace")
    return document_schema(
        "sweep-space",
        API_VERSION,
        space_document.KIND,
        "The settings that kwhatif sweep tries, and how it chooses among them.",
        _without_head(file["properties"]),
        definitions=definitions,
    )


def sweep_result_schema() -> Schema:
    return _result_schema("sweep-result", SweepResult, "The policies that kwhatif sweep compared")


def scenario_schema() -> Schema:
    """Objects and pods are held to their kinds when they are read."""
    _, definitions = components(SchedulerScenario)
    scenario = definitions.pop("SchedulerScenario")
    return document_schema(
        "scenario",
        "",
        "Scenario",
        "A cluster, a policy, pods that arrive one at a time, and what a scheduler did with them: a line of a file of "
        "recorded decisions.",
        scenario["properties"],
        required=tuple(scenario["required"]),
        definitions=definitions,
        closed=False,
    )


def translation_schema() -> Schema:
    _, definitions = components(translation_file.File)
    return document_schema(
        "translation",
        API_VERSION,
        translation_file.KIND,
        "Which pseudonyms of a redacted snapshot stand for what. Not to be shared.",
        _without_head(definitions["File"]["properties"]),
        closed=False,
    )


def _without_head(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    return {name: schema for name, schema in properties.items() if name not in ("apiVersion", "kind")}


SCHEMAS = {
    "backtest-diff": backtest_diff_schema,
    "backtest-result": backtest_result_schema,
    "cluster-edits": cluster_edits_schema,
    "cluster-snapshot": cluster_snapshot_schema,
    "gate-policy": gate_policy_schema,
    "gate-report": gate_report_schema,
    "instance-types": instance_types_schema,
    "karpenter-result": karpenter_result_schema,
    "node-groups": node_groups_schema,
    "nodes-explained": nodes_explained_schema,
    "place-result": place_result_schema,
    "pools-diff": pools_diff_schema,
    "scenario": scenario_schema,
    "sweep-result": sweep_result_schema,
    "sweep-space": sweep_space_schema,
    "translation": translation_schema,
}


def schema_text(name: str) -> str:
    """A schema as its file has it."""
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in SCHEMAS:
        with draft_of(os.path.join(sys.argv[1], f"{name}.schema.json")) as file:
            file.write(schema_text(name).encode())
