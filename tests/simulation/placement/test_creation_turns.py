"""StatefulSets make their pods in order: a pod exists once those before it have a node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from tests.scheduler_plugin_builders import Json, namespace_named, plain_node, plain_pod, write_cluster
from tests.simulation.placement.test_rollouts_at_rest import IMPORTANT, deployment

STORAGE: Json = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "ssd"},
    "provisioner": "csi.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def stateful_set(cpus: str, *, policy: str = "OrderedReady", replicas: int = 3, first: int = 0) -> Json:
    claim: Json = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "ssd"}}
    claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    requests = {"requests": {"cpu": cpus, "memory": "1Mi"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default", "uid": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "podManagementPolicy": policy,
            "ordinals": {"start": first},
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{"name": "main", "image": "db:1", "resources": requests}]},
            },
            "volumeClaimTemplates": [claim],
        },
    }


def member(number: int, node: str) -> Json:
    pod = plain_pod(f"db-{number}", cpu="1", memory="1Mi")
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
    pod["metadata"] |= {"ownerReferences": [owner], "labels": {"app": "db"}, "uid": f"db-{number}"}
    pod["spec"]["nodeName"] = node
    pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return pod


def afterwards(tmp_path: Path, snapshot: str, change: Json) -> tuple[kwhatif.PlaceResult, dict[str, str], list[str]]:
    """The answer, and what is there then: the set's pods with their nodes, and its claims."""
    manifest, after = tmp_path / "change.json", tmp_path / "after.json"
    manifest.write_text(json.dumps(change), encoding="utf-8")
    result = kwhatif.place(manifest, snapshot=snapshot, kubernetes_version="1.36", write_snapshot=after)
    objects = json.loads(after.read_text(encoding="utf-8"))["objects"]
    pods = {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in objects["Pod"]}
    claims = sorted(each["metadata"]["name"] for each in objects.get("PersistentVolumeClaim", ()))
    return result, {name: node for name, node in pods.items() if name.startswith("db-")}, claims


@pytest.mark.parametrize(
    ("options", "pods"),
    [
        pytest.param({}, {"db-0": "n1", "db-1": ""}, id="in order the first that waits is the last that is made"),
        pytest.param({"policy": "Parallel"}, {"db-0": "n1", "db-1": "", "db-2": ""}, id="in parallel all are made"),
        pytest.param({"first": 5}, {"db-5": "n1", "db-6": ""}, id="the first one has the number that it starts with"),
        pytest.param({"replicas": 1}, {"db-0": "n1"}, id="all find a node"),
    ],
)
def test_a_new_set_makes_pods_and_claims_until_one_waits(
    tmp_path: Path, options: dict[str, Any], pods: dict[str, str]
) -> None:
    snapshot = write_cluster(tmp_path, plain_node("n1", cpu="3"), namespace_named("default"), STORAGE)
    _, there, claims = afterwards(tmp_path, snapshot, stateful_set("2", **options))
    assert there == pods
    assert claims == sorted(f"data-{name}" for name in pods)


def test_a_pod_that_is_not_made_yet_says_whom_it_waits_for(tmp_path: Path) -> None:
    snapshot = write_cluster(tmp_path, plain_node("n1", cpu="1"), namespace_named("default"), STORAGE)
    result, _, _ = afterwards(tmp_path, snapshot, stateful_set("2"))
    assert [(each.pod, each.outcome) for each in result.placements] == [
        ("default/db-0", "unschedulable"),
        ("default/db-1", "uncreated"),
        ("default/db-2", "uncreated"),
    ]
    assert result.placements[2].message == "it is made once default/db-0 is ready"
    assert [each.pod for each in result.outcome.pending] == ["default/db-0"]
    assert [(each.workload, each.pods) for each in result.outcome.not_created] == [("StatefulSet default/db", 2)]
    assert result.verdict == "Does not fit: 0 of 3 pods placed, 2 pods not created"
    assert result.exit_code == 1


@pytest.mark.parametrize(("policy", "pods"), [("OrderedReady", {"db-0": ""}), ("Parallel", {"db-0": "", "db-1": ""})])
def test_victims_of_an_ordered_set_are_made_again_one_after_the_other(
    tmp_path: Path, policy: str, pods: dict[str, str]
) -> None:
    """Both have to leave; the second is recreated only when the first has found a node, which it does not."""
    found = stateful_set("1", policy=policy, replicas=2)
    del found["spec"]["volumeClaimTemplates"]
    cluster = plain_node("n1", cpu="2"), namespace_named("default"), IMPORTANT, found, member(0, "n1"), member(1, "n1")
    _, there, _ = afterwards(tmp_path, write_cluster(tmp_path, *cluster), deployment("web", 2, important=True))
    assert there == pods
