"""What the first line says of a change that no rule objects to."""

from __future__ import annotations

import pytest

from tests.builders import node
from tests.commands.gate.judging import judged, new
from tests.simulation.edits.editing import of, snapshot_of, workload


def test_pods_that_find_no_node_and_that_no_rule_looks_at_are_in_the_first_line() -> None:
    rules = {"unschedulable": {"level": "error", "namespaces": ["default"]}}
    result = judged(snapshot_of([node("a", cpu="1")]), new("Deployment", "web", 2, cpu="3"), rules=rules)
    assert result.outcome.verdict.startswith("PASS  no findings, though 2 of 2 pods find no node: no rule forbids it")


def test_a_rule_says_which_workloads_it_was_told_to_look_at() -> None:
    rules = {"unschedulable": {"level": "error", "namespaces": ["shop"]}}
    result = judged(snapshot_of([node("a", cpu="4")]), new("Deployment", "web", 1, cpu="1"), rules=rules)
    assert [rule.summary for rule in result.rules] == ["1 of 1 new pods have a node (namespace shop alone)"]
    assert result.outcome.verdict.startswith("PASS  no findings")


@pytest.mark.parametrize(
    ("replicas", "cpu", "after"),
    [
        pytest.param(4, "1", 4, id="one that waits stays while another comes"),
        pytest.param(6, "1", 6, id="two that come wait as well"),
        pytest.param(2, "1", 2, id="the one that waits goes first"),
        pytest.param(3, "2", 4, id="a stuck update has one more"),
    ],
)
def test_pods_of_a_change_are_those_that_are_there_that_wait_and_that_come(replicas: int, cpu: str, after: int) -> None:
    names = [("web-x-1", "n1"), ("web-x-2", "n1"), ("web-x-3", None)]
    pods = [of("ReplicaSet", "web-x", name, home, requests={"cpu": "1"}) for name, home in names]
    whole = [workload("Deployment", "web", 3, cpu="1"), workload("ReplicaSet", "web-x", 3, owner="web", cpu="1")]
    snapshot = snapshot_of([node("n1", cpu="3500m")], pods, [], whole)
    found = judged(snapshot, new("Deployment", "web", replicas, cpu=cpu), base=[new("Deployment", "web", 3, cpu="1")])
    assert [(each.pods_before, each.pods_after) for each in found.changes] == [(3, after)]
