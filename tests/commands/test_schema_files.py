"""The schema files of our own formats are what the Structs say, and are installed with the package."""

from __future__ import annotations

import importlib.resources
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kwhatif
from kwhatif.commands.schema_files import SCHEMAS, schema_text
from kwhatif.results.base import Result

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "schemas"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_file_is_what_the_structs_say(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name]())
    text = (DIRECTORY / f"{name}.schema.json").read_text(encoding="utf-8")
    assert text == schema_text(name), "run: python -m kwhatif.commands.schema_files schemas"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_installed_with_the_package(name: str) -> None:
    pytest.importorskip("kwhatif.schemas", reason="needs an installed package")
    installed = importlib.resources.files("kwhatif.schemas") / f"{name}.schema.json"
    assert installed.read_text(encoding="utf-8") == schema_text(name)


def test_every_schema_file_is_one_of_a_format_of_our_own() -> None:
    assert {path.name for path in DIRECTORY.glob("*.json")} == {f"{name}.schema.json" for name in SCHEMAS}


@pytest.mark.long
def test_what_karpenter_is_asked_has_answers_that_hold_to_their_schemas() -> None:
    samples = ROOT / "samples/karpenter"
    world: dict[str, Any] = {"snapshot": samples / "cluster.yaml", "catalogue": samples / "catalogue.yaml"}
    answers: dict[str, Result] = {
        "karpenter-result": kwhatif.karpenter(samples / "web.yaml", **world, consolidate=True),
        "pools-diff": kwhatif.diff_node_pools(samples / "web.yaml", **world, node_pools=samples / "leave-spot.yaml"),
        "nodes-explained": kwhatif.explain_consolidation(["n1", "n4"], **world),
    }
    for name, answer in answers.items():
        jsonschema.Draft202012Validator(SCHEMAS[name]()).validate(json.loads(json.dumps(answer.to_dict())))


# --- recorded decisions


def test_scenarios_are_what_their_schema_says() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMAS["scenario"]())
    lines = (ROOT / "samples" / "scenario.jsonl").read_text(encoding="utf-8").splitlines()
    assert [error.message for line in lines for error in validator.iter_errors(json.loads(line))] == []


def test_the_page_on_conformance_tells_every_field_of_a_scenario() -> None:
    page = (ROOT / "docs/contributing/conformance.md").read_text(encoding="utf-8").partition("\n## What happens")[0]
    told = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    schema = SCHEMAS["scenario"]()
    parts = (schema, *(schema["$defs"][name] for name in ("Recorded", "RecordedAttempt")))
    assert told == {field for part in parts for field in part["properties"]}
