"""Workloads that say which findings do not count."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.results.gate import GateResult
from tests.builders import Json, node
from tests.commands.gate.judging import annotated, found, judged, new, only, snapshot_of

RULES = {"single-node": {"level": "error"}, "unschedulable": {"level": "error"}}
ONE_NODE = [node("n1")]


def ask(text: str | None, *, exemptions: bool = True, **more: Any) -> GateResult:
    web = new("Deployment", "web", 2)
    head = web if text is None else annotated(web, text)
    return judged(snapshot_of(ONE_NODE), head, rules=RULES, exemptions=exemptions, **more)


def statuses(result: GateResult) -> dict[str, str]:
    return {rule.rule: rule.status for rule in result.rules}


def test_a_finding_that_is_exempted_does_not_count_and_is_listed_with_its_reason() -> None:
    assert ask(None).verdict == "fail"
    result = ask("single-node: a cache: it may be cold")
    assert (result.verdict, result.findings) == ("pass", ())
    (exemption,) = result.exemptions
    assert (exemption.rule, exemption.reason) == ("single-node", "a cache: it may be cold")
    assert exemption.finding.level == "error"
    assert statuses(result) == {"exemptions": "passed", "single-node": "exempted", "unschedulable": "passed"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("unschedulable: known; single-node: a cache", id="semicolon"),
        pytest.param("unschedulable: known\nsingle-node: a cache\n", id="lines"),
        pytest.param(" ;; single-node :a cache ; ", id="blanks"),
    ],
)
def test_several_stand_side_by_side(text: str) -> None:
    assert ask(text).verdict == "pass"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("single-node", "single-node is to be ignored without a reason", id="no colon"),
        pytest.param("single-node:  ", "single-node is to be ignored without a reason", id="no reason"),
        pytest.param("single-nodes: x", "unknown rule 'single-nodes'; did you mean single-node?", id="no such rule"),
    ],
)
def test_what_is_wrong_with_an_exemption_is_an_error_of_its_own(text: str, title: str) -> None:
    result = ask(text)
    assert ("exemptions", "Deployment shop/web", title) in found(result)
    assert statuses(result)["exemptions"] == "failed"
    assert ("single-node", "Deployment shop/web", "all 2 pods are on node n1") in found(result)


def test_a_pod_template_may_carry_them_and_the_workload_has_the_last_word() -> None:
    web = new("Deployment", "web", 2)
    web["spec"]["template"]["metadata"]["annotations"] = {"kwhatif.dev/ignore": "single-node: by template"}
    result = judged(snapshot_of(ONE_NODE), web, rules=RULES)
    assert result.exemptions[0].reason == "by template"
    result = judged(snapshot_of(ONE_NODE), annotated(web, "single-node: by workload"), rules=RULES)
    assert result.exemptions[0].reason == "by workload"


def test_they_are_void_where_they_are_forbidden_and_that_is_said() -> None:
    result = ask("single-node: a cache", exemptions=False)
    assert result.verdict == "fail"
    assert result.warnings == ("Deployment shop/web: kwhatif.dev/ignore is ignored: exemptions are forbidden",)
    assert "exemptions" not in statuses(result)


def test_an_exemption_is_for_its_workload_alone() -> None:
    web, other = annotated(new("Deployment", "web", 2), "single-node: a cache"), new("Deployment", "other", 2)
    result = judged(snapshot_of(ONE_NODE), web, other, rules=RULES)
    assert str(only(result.findings).subject) == "Deployment shop/other"


def test_fingerprints_stay_the_same_when_numbers_change() -> None:
    def finding(replicas: int, **more: Json) -> str:
        return only(judged(snapshot_of(ONE_NODE), new("Deployment", "web", replicas), rules=RULES).findings).fingerprint

    assert finding(2) == finding(3)
    other = judged(snapshot_of(ONE_NODE), new("Deployment", "other", 2), rules=RULES)
    assert finding(2) != only(other.findings).fingerprint
