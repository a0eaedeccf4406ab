"""The rule about Kueue: who waits for quota, and who is evicted."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.results.gate import GateResult
from tests.builders import node
from tests.commands.gate.judging import judged, new, only, snapshot_of
from tests.simulation.queueing.test_queued_scenario import cluster, read


def ask(*names: str, **parameters: Any) -> GateResult:
    """The gate's verdict on files of the sample."""
    manifests = [each for name in names for each in read(name)]
    return judged(cluster(), *manifests, rules={"queue-wait": {"level": "error", **parameters}})


def test_pods_that_wait_are_counted_with_kueues_reason() -> None:
    finding = only(ask("evaluate").findings)
    assert (finding.title, str(finding.subject)) == ("2 pods of 2 wait for quota", "Job vision/evaluate")
    assert finding.message.startswith("Kueue: couldn't assign flavors to pod set main: insufficient unused quota")
    assert finding.numbers == {"pods": 2, "waiting": 2, "most": 0}


def test_workloads_that_kueue_evicts_are_found_unless_they_may_go() -> None:
    finding = only(ask("train").findings)
    assert (finding.title, finding.message) == ("Kueue evicts 1 running pod", "vision/tune-0, 1 of which wait again")
    assert ask("train", evicted=False).verdict == "pass"


@pytest.mark.parametrize(("most", "verdict"), [(1, "fail"), (2, "pass")])
def test_as_many_pods_as_the_rule_allows_may_wait(most: int, verdict: str) -> None:
    assert ask("evaluate", most=most).verdict == verdict


def test_quota_that_comes_with_the_change_counts() -> None:
    assert ask("evaluate", "more").verdict == "pass"


def test_without_kueue_the_rule_has_nothing_to_look_at() -> None:
    result = judged(snapshot_of([node("n")]), new("Deployment", "web"), rules={"queue-wait": {"level": "error"}})
    assert [(each.rule, each.checked) for each in result.rules] == [("queue-wait", 0)]
