"""Changes that were applied to a real control plane come out as ``place`` says."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.happened.judge import judge_change, kind_of, main

RECORDED = Path(__file__).parent / "changes.jsonl.gz"


def changes() -> list[dict[str, Any]]:
    with gzip.open(RECORDED, "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("recorded", changes(), ids=lambda one: f"{one['what']} {kind_of(one)} {one['id']}")
def test_what_place_says_of_a_change_is_what_happens(recorded: dict[str, Any]) -> None:
    assert judge_change(recorded)[0] == []


def test_a_change_that_comes_out_otherwise_is_told_with_both_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = changes()[1]
    pods = next(each for each in recorded["after"] if each["kind"] == "PodList")["items"]
    gone = pods.pop()
    app = f"{gone['metadata']['namespace']}/{gone['metadata']['labels']['app']}"
    path = tmp_path / "other.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps(recorded))
    assert main([str(path)]) == 1
    printed = capsys.readouterr().out
    assert app in printed
    assert printed.endswith("0 of 1 changes came out as said\n")
