"""What the API server answers agrees with a real one, kube-apiserver 1.36, request by request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.verdicts.judge import differences, load

FOUND, CASES = load(Path(__file__).with_name("cases.jsonl.gz"))


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case['group']}, {case['template']} ({case['namespace']})" for case in CASES]
)
def test_an_answer_is_the_recorded_one(case: dict[str, Any]) -> None:
    assert differences(FOUND, case) == {}
