"""What `kwhatif expand` prints agrees with a real API server, where a snapshot file has what it decides by."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.admission.verdicts.judge import load
from tests.admission.verdicts.through_command import differences

FOUND, CASES = load(Path(__file__).with_name("cases.jsonl.gz"))
BY_NAMESPACE = {case["namespace"]: case for case in CASES}


@pytest.mark.parametrize(
    "namespace",
    [
        pytest.param("v0014", id="a field that is not in the schema is told with the namespace of the command"),
        pytest.param("v0389", id="a ConfigMap that is immutable is judged by what is there"),
        pytest.param("v0370", id="the parameters of a StorageClass may not change"),
        pytest.param("v0420", id="the accounts of a namespace are known where its default one is there"),
        pytest.param("v0572", id="a Namespace warns of the pods that break its new level"),
        pytest.param("v0649", id="a policy finds its parameters"),
        pytest.param("v0654", id="a policy finds its parameters by their labels"),
        pytest.param("v0434", id="with a named verb a pod comes before the account that is sent after it"),
        pytest.param("v0787", id="with a named verb an object comes before the namespace that is sent after it"),
    ],
)
def test_an_answer_of_the_command_is_the_recorded_one(namespace: str) -> None:
    assert differences(FOUND, BY_NAMESPACE[namespace]) == {}
