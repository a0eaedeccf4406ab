"""Findings that no single run shows: what goes wrong in some of the trials."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.results.gate import GateResult
from tests.builders import node, pod
from tests.commands.gate.judging import judged, new, snapshot_of

ROOM_FOR_TWO = [node("n1", cpu="2", zone="a")]
EQUAL = [node("n1", cpu="1", zone="a"), node("n2", cpu="1", zone="b")]
TWO_ZONES = [node("n1", cpu="4", zone="a"), node("n2", cpu="4", zone="b")]


def titles(result: GateResult, rule: str) -> list[str]:
    return [each.title for each in result.findings if each.rule == rule and "trials" in each.title]


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        pytest.param(None, 0, id="nobody asks"),
        pytest.param(0.1, 1, id="more often than that"),
        pytest.param(0.9, 0, id="not so often"),
    ],
)
def test_what_finds_room_in_this_run_may_find_none_in_another(chance: float | None, expected: int) -> None:
    # The lone pod comes first here and finds its node; in other orders it is the others who do.
    manifests = [new("Deployment", "one", 1, cpu="1"), new("Deployment", "two", 2, cpu="1")]
    given = {"unschedulable": {"most": 1, "trials": 60, **({} if chance is None else {"chance": chance})}}
    result = judged(snapshot_of(ROOM_FOR_TWO), *manifests, rules=given)
    assert not titles(result, "unschedulable")
    given["unschedulable"]["most"] = 0
    result = judged(snapshot_of(ROOM_FOR_TWO), *manifests, rules=given)
    assert len(titles(result, "unschedulable")) == expected
    assert all(title.endswith("of 60 trials pods stay pending") for title in titles(result, "unschedulable"))


@pytest.mark.long
def test_who_is_evicted_by_chance() -> None:
    important = [pod("held", on="n1", cpu="1", priority=100), pod("low", on="n2", cpu="1", priority=-10)]
    nodes = [*EQUAL, node("n3", cpu="1", zone="a")]
    manifests = [new("Deployment", "one", 1, cpu="1"), new("Deployment", "two", 1, cpu="1")]
    result = judged(snapshot_of(nodes, important), *manifests, rules={"preempts": {"chance": 0.2, "trials": 60}})
    # Whoever comes second evicts; in this run it is always the same.
    assert len(titles(result, "preempts")) == 1


def test_pods_that_always_lie_evenly_have_no_skew_by_chance() -> None:
    plain: dict[str, Any] = {"spread": {"chance": 0.0, "trials": 40, "maxSkew": 1}}
    assert not titles(judged(snapshot_of(TWO_ZONES), new("Deployment", "web", 2), rules=plain), "spread")
