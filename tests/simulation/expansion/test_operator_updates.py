"""Updates of operators' objects, from manifests to what is told: an object is there if pods of it are."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.workloads.operators.examples import Json, example
from tests.workloads.operators.test_operators import made_of


def cluster_with(obj: Json, tmp_path: Path, *, nodes: int = 4) -> str:
    """A snapshot in which all pods of an object run, each on a node of its own where there are enough."""
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    items: list[Json] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{number}", "labels": {"kubernetes.io/hostname": f"n{number}"}},
            "status": status,
        }
        for number in range(nodes)
    ]
    made = made_of(obj)
    for place, pod in enumerate(made.pods):
        pod["spec"]["nodeName"] = f"n{place % nodes}"
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    items += [*made.pods, *made.objects, *made.claims]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def update(before: Json, after: Json, tmp_path: Path) -> Json:
    """The one rollout of ``place``, with what is said beside it."""
    path = tmp_path / "after.json"
    path.write_text(json.dumps(after))
    ran = run("place", str(path), "--snapshot", cluster_with(before, tmp_path), "-o", "json")
    told: Json = json.loads(ran.out)
    (found,) = told["rollouts"]
    return {**found, "gaps": [gap["what"] for gap in told["fidelity"]["gaps"]]}


def changed(kind: str, **spec: Any) -> tuple[Json, Json]:
    before = example(kind)
    after = copy.deepcopy(before)
    after["spec"].update(spec)
    return before, after


RAY = example("RayCluster.ray.io")["spec"]
WORKERS = [{**RAY["workerGroupSpecs"][0], "minReplicas": 3}]
UPDATES = [
    ("one more worker of Ray", *changed("RayCluster.ray.io", workerGroupSpecs=WORKERS), 1, 0),
    ("a replica more of Alertmanager", *changed("Alertmanager.monitoring.coreos.com", replicas=4), 1, 0),
    ("a replica fewer", *changed("Alertmanager.monitoring.coreos.com", replicas=2), 0, 1),
    ("what stays as it is", *changed("Alertmanager.monitoring.coreos.com"), 0, 0),
    ("another image of all", *changed("Alertmanager.monitoring.coreos.com", image="other:2"), 3, 3),
    ("a job's pods stay", *changed("PyTorchJob.kubeflow.org", runPolicy={"cleanPodPolicy": "None"}), 0, 0),
]


@pytest.mark.parametrize(
    ("before", "after", "creates", "removes"), [row[1:] for row in UPDATES], ids=[row[0] for row in UPDATES]
)
def test_pods_that_differ_are_replaced_and_the_others_stay(
    before: Json, after: Json, creates: int, removes: int, tmp_path: Path
) -> None:
    found = update(before, after, tmp_path)
    assert (found["creates"], found["removes"]) == (creates, removes), found
    assert not found["unfinished"]
    assert not [gap for gap in found["gaps"] if "is not in the snapshot, though" in gap]


def test_a_canary_waits_for_nobody_and_says_so(tmp_path: Path) -> None:
    before = example("Rollout.argoproj.io")
    after = copy.deepcopy(before)
    after["spec"]["template"]["spec"]["containers"][0]["image"] = "shop:2"
    found = update(before, after, tmp_path)
    assert (found["creates"], found["removes"]) == (5, 5)
    assert "the steps of Rollout shop wait for time, for people or for measurements" in found["gaps"]


def test_an_order_that_nobody_knows_is_a_gap(tmp_path: Path) -> None:
    farm = {"apiVersion": "example.com/v1", "kind": "Farm", "metadata": {"name": "f", "namespace": "default"}}
    template = {"spec": {"containers": [{"name": "c", "image": "one"}]}}
    reference = {"apiVersion": "example.com/v1", "kind": "Farm", "name": "f", "uid": "u", "controller": True}
    metadata = {"name": "f-1", "namespace": "default", "ownerReferences": [reference]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"], "nodeName": "n0"}}
    snapshot, given = tmp_path / "cluster.json", tmp_path / "farm.json"
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}, "status": status}
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}))
    given.write_text(json.dumps({**farm, "spec": {"replicas": 2, "template": template}}))
    words = ("--snapshot", str(snapshot), "--pod-template-path", "example.com/Farm=$.spec.template")
    told = run("place", str(given), *words).out
    assert "in which order pods of Farm f are replaced is not known" in told
    assert "Farm default/f  1       1     0       goes through" in told
