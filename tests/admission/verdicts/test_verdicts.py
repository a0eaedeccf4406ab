"""What the API server answers agrees with a real one, kube-apiserver 1.36, request by request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.request import deep_copy_json
from kwhatif.admission.response import RequestRefusal
from kwhatif.admission.server import ApiServer
from tests.admission.verdicts.judge import differences, load

FOUND, CASES = load(Path(__file__).with_name("cases.jsonl.gz"))
BEFORE_DRY_RUNS, DRY_RUNS = load(Path(__file__).with_name("changed_fields.jsonl.gz"))


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case['group']}, {case['template']} ({case['namespace']})" for case in CASES]
)
def test_an_answer_is_the_recorded_one(case: dict[str, Any]) -> None:
    assert differences(FOUND, case) == {}


@pytest.mark.parametrize("case", DRY_RUNS, ids=[f"{case['name']} ({i})" for i, case in enumerate(DRY_RUNS)])
def test_a_dry_run_of_a_manifest_with_changed_fields_is_answered_as_recorded(case: dict[str, Any]) -> None:
    assert differences(BEFORE_DRY_RUNS, case) == {}


@pytest.mark.parametrize("verb", ["", "apply"])
def test_whatever_was_stored_takes_its_manifest_again_though_nobody_says_who_applied_what(verb: str) -> None:
    refused = {}
    for case in CASES:
        definitions = [one for one in case["context"] if one["kind"] == "CustomResourceDefinition"]
        for operation, response in zip(case["operations"], case["responses"], strict=True):
            manifest, stored = operation.get("object", {}), deep_copy_json(response.get("object", {}))
            if verb == "apply" and "managedFields" in manifest.get("metadata", {}):
                continue  # which is refused whatever is there
            # The labels of a recorded job have its uid, which is not told; a null is taken for a wish that it go away.
            if stored and "name" in manifest["metadata"] and manifest["kind"] not in ("Job", "Pod"):
                stored["metadata"].pop("managedFields", None)
                known = [*FOUND["global"], *definitions, stored]
                server = ApiServer(ObjectStore(known, pruned=True))
                answer = server.send(verb, manifest, namespace=case["namespace"])
                if isinstance(answer, RequestRefusal) and case["template"] != "null":
                    refused[case["namespace"]] = answer.message
    assert not refused
