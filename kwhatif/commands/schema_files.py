"""The JSON Schemas of all formats of our own, made from the Structs that decode and encode them.

``python -m kwhatif.commands.schema_files schemas`` writes them to the files of the package ``kwhatif.schemas``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kwhatif.api.json_schema import components, document_schema
from kwhatif.commands.conformance.group_answers import GroupScenario
from kwhatif.commands.conformance.kueue_answers import KueueScenario
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.commands.gate.rule import LEVELS, Parameters, in_tree
from kwhatif.commands.registry import all_results
from kwhatif.commands.rightsize import policy_document
from kwhatif.commands.serve import watch_document
from kwhatif.commands.sweep import space_document
from kwhatif.redaction import translation as translation_file
from kwhatif.results.base import Result, ResultContext
from kwhatif.simulation import repository_policy
from kwhatif.simulation.autoscalers import instance_types_document, node_groups_document
from kwhatif.simulation.edits import document
from kwhatif.snapshot.format.atomic_files import draft_of
from kwhatif.snapshot.format.documents import cluster_snapshot_schema
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.workloads.operators import kinds_document

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
    """Unknown rules may come from outside."""
    rules = in_tree()
    (_, _, *parameters), definitions = components(
        repository_policy.GatePolicy, Parameters, *(rule.parameters for rule in rules.values())
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
        "gate-policy", API_VERSION, repository_policy.KIND, purpose, _without_head(properties), definitions=definitions
    )


def _settings(reference: Schema) -> Schema:
    """The parameters, a level alone, or several lots of parameters."""
    several = {"type": "array", "minItems": 1, "items": reference}
    return {"anyOf": [reference, {"enum": _LEVELS}, several, {"type": "null"}]}


def _result_schema(result: type[Result]) -> Schema:
    """Every field is always there but those that may be unset; later versions may have more."""
    _, definitions = components(result, opaque=(ResultContext,))
    for definition in definitions.values():
        definition.get("properties", {}).pop("context", None)
        given = definition.get("required", ())
        fields = definition["properties"].items()
        definition["required"] = [name for name, field in fields if name in given or "default" in field]
    whole = definitions.pop(result.__name__)
    return document_schema(
        result.schema,
        API_VERSION,
        whole["properties"]["kind"]["default"],
        f"{result.about}, as -o json and -o yaml write it.",
        _without_head(whole["properties"]),
        required=tuple(whole["required"]),
        definitions=definitions,
        closed=False,
    )


def _file_schema(
    title: str,
    kind: str,
    type_: type,
    description: str,
    required: Sequence[str] = ("apiVersion", "kind"),
) -> Schema:
    """The schema of a document that the Struct ``type_`` decodes, without what all documents begin with."""
    _, definitions = components(type_)
    file = definitions.pop(type_.__name__)
    return document_schema(
        title,
        API_VERSION,
        kind,
        description,
        _without_head(file["properties"]),
        required=tuple(required),
        definitions=definitions,
    )


def scenario_schema() -> Schema:
    return _recording_schema(
        "scenario",
        SchedulerScenario,
        "A cluster, a policy, pods that arrive one at a time, and what a scheduler did with them: a line of a file of "
        "recorded decisions.",
    )


def group_scenario_schema() -> Schema:
    return _recording_schema(
        "group-scenario",
        GroupScenario,
        "A cluster, steps in which pods and groups of pods come and go, and what a scheduler did then: a line of a "
        "file of recorded decisions.",
    )


def kueue_scenario_schema() -> Schema:
    return _recording_schema(
        "kueue-scenario",
        KueueScenario,
        "A cluster with Kueue, steps in which workloads come and end, and what Kueue did then: a line of a file of "
        "recorded decisions.",
    )


def _recording_schema(name: str, struct: type, description: str) -> Schema:
    """Objects and pods are held to their kinds when they are read."""
    _, definitions = components(struct)
    scenario = definitions.pop(struct.__name__)
    return document_schema(
        name,
        "",
        struct.__name__.removeprefix("Scheduler"),
        description,
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
        "Which pseudonyms of a redacted snapshot stand for what. Keep it private.",
        _without_head(definitions["File"]["properties"]),
        closed=False,
    )


def _without_head(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    return {name: schema for name, schema in properties.items() if name not in ("apiVersion", "kind")}


SCHEMAS: dict[str, Callable[[], Schema]] = {
    "cluster-edits": cluster_edits_schema,
    "cluster-snapshot": cluster_snapshot_schema,
    "gate-policy": gate_policy_schema,
    "group-scenario": group_scenario_schema,
    "instance-types": partial(
        _file_schema,
        "instance-types",
        instance_types_document.KIND,
        instance_types_document.InstanceTypesFile,
        "What a cloud offers to Karpenter, and how that was started: what kwhatif autoscale --catalogue reads.",
        ("apiVersion", "kind", "types"),
    ),
    "kueue-scenario": kueue_scenario_schema,
    "node-groups": partial(
        _file_schema,
        "node-groups",
        node_groups_document.KIND,
        node_groups_document.NodeGroupsFile,
        "The node groups that cluster-autoscaler scales, and its flags: what kwhatif autoscale --groups reads.",
        ("apiVersion", "kind", "groups"),
    ),
    "rightsizing-policy": partial(
        _file_schema,
        "rightsizing-policy",
        policy_document.KIND,
        policy_document.PolicyFile,
        "How requests are derived from usage: what kwhatif rightsize --sizing reads.",
    ),
    "scenario": scenario_schema,
    "sweep-space": partial(
        _file_schema,
        "sweep-space",
        space_document.KIND,
        space_document.SweepSpace,
        "The settings that kwhatif sweep tries, and how it chooses among them.",
    ),
    "translation": translation_schema,
    "watched-questions": partial(
        _file_schema,
        "watched-questions",
        watch_document.KIND,
        watch_document.WatchFile,
        "Questions that a server asks again and again: what kwhatif serve --watch reads.",
        ("apiVersion", "kind", "questions"),
    ),
    "workload-kinds": partial(
        _file_schema,
        "workload-kinds",
        kinds_document.KIND,
        kinds_document.WorkloadKindsFile,
        "How kinds that are not Kubernetes' own make pods: what --pod-template-path FILE reads.",
        ("apiVersion", "kind", "kinds"),
    ),
}


SCHEMAS |= {all_result.schema: partial(_result_schema, all_result) for all_result in all_results()}


def schema_text(name: str) -> str:
    """A schema as its file has it."""
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in SCHEMAS:
        with draft_of(os.path.join(sys.argv[1], f"{name}.schema.json")) as file:
            file.write(schema_text(name).encode())
