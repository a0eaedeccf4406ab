"""The rule that has the descheduler look at a change: are its pods evicted again in the next cycle?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kwhatif.errors import InputError
from kwhatif.results.gate import GateResult
from kwhatif.snapshot.format.descheduler_info import DeschedulerInfo
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import budget, node, select
from tests.commands.gate.judging import judged, new, only, snapshot_of

POLICY = """
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: tidy
  pluginConfig:
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
"""
OLD = """
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: tidy
  pluginConfig: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 60}}]
  plugins: {deschedule: {enabled: [PodLifeTime]}}
"""


def two(policy: str = POLICY) -> Snapshot:
    snapshot = snapshot_of([node("n1", cpu="4"), node("n2", cpu="4")])
    known = DeschedulerInfo(policy=yaml.safe_load(policy), source="ConfigMap tools/descheduler")
    return replace(snapshot, descheduler=known)


def ask(snapshot: Snapshot, *head: Any, **parameters: Any) -> GateResult:
    return judged(snapshot, *head, rules={"evicted-again": {"level": "error", **parameters}})


def test_a_pod_that_is_too_much_for_its_node_is_evicted_again_and_the_reason_is_told() -> None:
    finding = only(ask(two(), new("Deployment", "web", 1, cpu="3")).findings)
    assert finding.title == "the descheduler evicts 1 new pod again at once (LowNodeUtilization)"
    assert "By ConfigMap tools/descheduler the next cycle evicts shop/web-" in finding.message
    assert "is overutilized: cpu at 75.0%, above 50%." in finding.message
    assert finding.numbers == {"evicted": 1, "plugins": "LowNodeUtilization"}


def test_a_pod_that_leaves_room_is_left_alone() -> None:
    result = ask(two(), new("Deployment", "web", 1, cpu="1"))
    assert result.findings == ()
    assert result.rules[0].summary == "the next cycle by ConfigMap tools/descheduler evicts 0 new pods"


def test_a_budget_that_forbids_the_eviction_keeps_the_pod() -> None:
    snapshot = two()
    snapshot.objects.add(budget("web", select(app="web"), namespace="shop", allowed=1, least=1))
    assert ask(snapshot, new("Deployment", "web", 1, cpu="3")).findings == ()


def test_new_pods_are_young_when_the_descheduler_finds_them() -> None:
    assert ask(two(OLD), new("Deployment", "web", 1)).findings == ()


def test_the_policy_may_be_named_in_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    snapshot = snapshot_of([node("n1", cpu="4"), node("n2", cpu="4")])
    assert only(ask(snapshot, new("Deployment", "web", 1, cpu="3"), policy="policy.yaml").findings)


def test_without_any_policy_the_rule_says_so_and_finds_nothing() -> None:
    result = ask(snapshot_of([node("n1"), node("n2")]), new("Deployment", "web"))
    told = "the descheduler's policy is unknown: set policy"
    assert (result.findings, result.rules[0].summary) == ((), told)


def test_a_policy_that_the_descheduler_refuses_is_an_error() -> None:
    with pytest.raises(InputError, match="unknown field"):
        ask(two(POLICY + "surprise: 1\n"), new("Deployment", "web"))
