"""The rule about groups of pods: those of a change are scheduled, and those that run keep their quorum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.api.core import Node
from kwhatif.api.meta import Resource
from kwhatif.results.gate import GateResult
from tests.builders import Json
from tests.commands.test_groups import RACKS, racks, snapshot_of, workers
from tests.scheduling.test_pod_groups import group


def judge(
    tmp_path: Path,
    nodes: list[Node],
    *running: Resource,
    least: int = 2,
    pods: int = 2,
    priority: int = 0,
    **rule: Any,
) -> GateResult:
    """A change that brings a gang of so many pods, each of one cpu, to racks of nodes with two."""
    api = "scheduling.k8s.io/v1alpha2"
    spec: Json = {"schedulingPolicy": {"gang": {"minCount": least}}}
    items: list[Json] = [{"apiVersion": api, "kind": "PodGroup", "metadata": {"name": "new"}, "spec": spec}]
    if priority:
        given = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
        items.append({**given, "value": priority})
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pod: Json = {"schedulingGroup": {"podGroupName": "new"}, "containers": [container]}
    if priority:
        pod["priorityClassName"] = "high"
    items += [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"new-{n}"}, "spec": pod} for n in range(pods)]
    head = tmp_path / "head.json"
    head.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "GatePolicy", "rules": {"pod-groups": rule}}))
    return kwhatif.gate([head], snapshot=snapshot_of(nodes, *running), config=rules, feature_gates=RACKS)


def told(result: GateResult) -> list[tuple[str, str]]:
    return [(str(each.subject), each.title) for each in result.findings if each.rule == "pod-groups"]


def test_a_gang_that_is_scheduled_passes(tmp_path: Path) -> None:
    assert told(judge(tmp_path, racks(a=1))) == []


def test_a_gang_that_is_not_scheduled_tells_what_it_lacks(tmp_path: Path) -> None:
    result = judge(tmp_path, racks(a=1), least=4, pods=4)
    assert told(result) == [("PodGroup default/new", "is not scheduled")]
    (finding,) = [each for each in result.findings if each.rule == "pod-groups"]
    assert "Gang default/new: 2 of 4 find a node, needs 4: none run." in finding.message
    assert "the cluster: 2 cpu short for 2 of 4 members." in finding.message
    assert finding.numbers == {"members": 4, "fit": 2, "needs": 4}
    assert finding.location is not None


@pytest.mark.parametrize(("disrupted", "expected"), [(True, 1), (False, 0)])
def test_a_gang_that_runs_must_keep_its_quorum(tmp_path: Path, disrupted: bool, expected: int) -> None:
    running = (group("g", least=2), *workers("a-0", "a-0"))
    result = judge(tmp_path, racks(a=1), *running, priority=10, disrupted=disrupted)
    lost = [finding for finding in told(result) if finding[0] == "PodGroup default/g"]
    assert lost == [("PodGroup default/g", "loses its quorum for good")] * expected


def test_other_namespaces_are_left_alone(tmp_path: Path) -> None:
    assert told(judge(tmp_path, racks(a=1), least=4, pods=4, namespaces=["shop"])) == []
