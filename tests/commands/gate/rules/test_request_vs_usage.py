"""The rule that holds requests of a change against what ran."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.snapshot.load import load_snapshot
from tests.commands.gate.judging import judged

HOME = Path(__file__).parents[4] / "samples" / "usage" / "saves-40"
USAGE = [str(HOME / "usage.json")]


def billing(cpu: str, memory: str) -> dict[str, Any]:
    """The Deployment of the sample with other requests; it used 324m and a GiB at its peak."""
    kept = json.loads((HOME / "cluster.json").read_text())["objects"]["Deployment"]
    obj: dict[str, Any] = next(each for each in kept if each["metadata"]["name"] == "billing")
    metadata = {"name": "billing", "namespace": "shop"}
    obj["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu, "memory": memory}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": obj["spec"]}


@pytest.mark.parametrize(
    ("what", "cpu", "memory", "said"),
    [
        ("near to the peak of both", "400m", "1200Mi", []),
        ("far more CPU than ever ran", "1500m", "1200Mi", ["container main asks for 1500m of cpu, and used 324m"]),
        ("less memory than half the peak", "400m", "400Mi", ["container main asks for 400Mi of memory, and used"]),
    ],
)
def test_requests_that_lie_far_from_what_ran(what: str, cpu: str, memory: str, said: list[str]) -> None:
    snapshot = load_snapshot([str(HOME / "cluster.json")])
    result = judged(snapshot, billing(cpu, memory), rules={"request-vs-usage": {"usage": USAGE}})
    titles = [each.title for each in result.findings]
    assert len(titles) == len(said)
    assert all(title.startswith(text) for title, text in zip(titles, said, strict=True))


def test_without_usage_nobody_is_judged() -> None:
    snapshot = load_snapshot([str(HOME / "cluster.json")])
    result = judged(snapshot, billing("1", "1Gi"), rules={"request-vs-usage": {}})
    assert result.findings == ()
    assert [each.summary for each in result.rules if each.rule == "request-vs-usage"] == [
        "no usage is known: set usage, or dump the snapshot with --usage"
    ]
