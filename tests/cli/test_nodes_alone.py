"""A snapshot of nodes without a list of pods says nothing of what is free."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import refused, run

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "ant-1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}


@pytest.fixture
def nodes(tmp_path: Path) -> str:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE]}))
    return str(path)


@pytest.mark.parametrize("command", ["place", "capacity", "gate", "explain"])
def test_there_is_no_answer_where_nobody_knows_what_runs_on_the_nodes(command: str, nodes: str) -> None:
    message = refused(command, "data/small.yaml", "--snapshot", nodes)
    assert message.startswith(f"{nodes}: expected the pods that run on the nodes, found no list of them")
    assert "kubectl get nodes,pods -A -o json" in message
    assert run(command, "data/small.yaml", "--snapshot", nodes, "--assume-empty").code == 0


def test_an_empty_list_of_pods_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [NODE]}))
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "PodList", "items": []}))
    assert run("place", "data/small.yaml", "--snapshot", str(tmp_path)).code == 0


def test_what_is_known_of_the_nodes_is_still_shown(nodes: str) -> None:
    assert run("snapshot", "info", nodes).code == 0


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        pytest.param(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}, 0, id="no pod at all"
        ),
        pytest.param(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"minAvailable": 1, "selector": {}}},
            2,
            id="a budget, whose pods are not known",
        ),
    ],
)
def test_a_change_that_depends_on_no_pod_is_judged_without_a_list_of_them(
    changed: dict[str, object], code: int, nodes: str, tmp_path: Path
) -> None:
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    new.write_text(json.dumps({**changed, "metadata": {"name": "a"}}))
    old.write_text(json.dumps({**changed, "metadata": {"name": "a", "labels": {"team": "old"}}}))
    assert run("gate", str(new), "--base", str(old), "--snapshot", nodes).code == code
