"""What the first line says of a change that no rule objects to."""

from __future__ import annotations

from tests.builders import node
from tests.commands.gate.judging import judged, new
from tests.simulation.edits.editing import snapshot_of


def test_pods_that_find_no_node_and_that_no_rule_looks_at_are_in_the_first_line() -> None:
    rules = {"unschedulable": {"level": "error", "namespaces": ["default"]}}
    result = judged(snapshot_of([node("a", cpu="1")]), new("Deployment", "web", 2, cpu="3"), rules=rules)
    assert result.outcome.verdict.startswith("PASS  no findings, though 2 of 2 pods find no node: no rule forbids it")


def test_a_rule_says_which_workloads_it_was_told_to_look_at() -> None:
    rules = {"unschedulable": {"level": "error", "namespaces": ["shop"]}}
    result = judged(snapshot_of([node("a", cpu="4")]), new("Deployment", "web", 1, cpu="1"), rules=rules)
    assert [rule.summary for rule in result.rules] == ["1 of 1 new pods have a node (namespace shop alone)"]
    assert result.outcome.verdict.startswith("PASS  no findings")
