"""Claims of stateful sets across updates and changes of size, as clusters of a cloud hold them: of a dynamic class,
bound, without labels and owners, with a template as the API server stores it.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DRIVER = "ebs.csi.aws.com"
REPLICAS = 3


def _node(number: int) -> Any:
    labels = {"kubernetes.io/hostname": f"n{number}", ZONE: "abc"[number % 3]}
    allocatable = {"cpu": "4", "memory": "16Gi", "pods": "58"}
    status = {"allocatable": allocatable, "capacity": allocatable}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}, "status": status}


def _storage_class(provisioner: str, mode: str) -> Any:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "gp3"}}
    return head | {"provisioner": provisioner, "reclaimPolicy": "Delete", "volumeBindingMode": mode}


def _claim(ordinal: int) -> Any:
    annotations = {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
        "volume.kubernetes.io/selected-node": f"n{ordinal}",
    }
    metadata = {"name": f"data-kafka-{ordinal}", "namespace": "shop", "uid": f"c{ordinal}", "annotations": annotations}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "20Gi"}},
        "storageClassName": "gp3",
        "volumeMode": "Filesystem",
        "volumeName": f"pvc-c{ordinal}",
    }
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    return head | {"spec": spec, "status": {"phase": "Bound"}}


def _volume(ordinal: int) -> Any:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["abc"[ordinal % 3]]}]}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "20Gi"},
        "claimRef": {
            "kind": "PersistentVolumeClaim",
            "namespace": "shop",
            "name": f"data-kafka-{ordinal}",
            "uid": f"c{ordinal}",
        },
        "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{ordinal}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": "gp3",
    }
    head = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pvc-c{ordinal}"}}
    return head | {"spec": spec, "status": {"phase": "Bound"}}


def _stateful_set(image: str = "kafka:1", replicas: int = REPLICAS, *, stored: bool = True, **spec: Any) -> Any:
    template = {
        "metadata": {"labels": {"app": "kafka"}},
        "spec": {
            "containers": [
                {
                    "name": "kafka",
                    "image": image,
                    "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }
            ]
        },
    }
    claim: dict[str, Any] = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "20Gi"}},
            "storageClassName": "gp3",
        },
    }
    if stored:
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}
        claim["spec"]["volumeMode"] = "Filesystem"
    metadata = {"name": "kafka", "namespace": "shop"} | ({"uid": "s1"} if stored else {})
    head = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata}
    base = {
        "replicas": replicas,
        "serviceName": "kafka",
        "selector": {"matchLabels": {"app": "kafka"}},
        "template": template,
        "volumeClaimTemplates": [claim],
    }
    return head | {"spec": base | spec}


def _pod(ordinal: int) -> Any:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "kafka", "uid": "s1", "controller": True}
    labels = {"app": "kafka", "statefulset.kubernetes.io/pod-name": f"kafka-{ordinal}"}
    metadata = {"name": f"kafka-{ordinal}", "namespace": "shop", "labels": labels, "ownerReferences": [owner]}
    spec = deepcopy(_stateful_set()["spec"]["template"]["spec"])
    spec |= {
        "nodeName": f"n{ordinal}",
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-kafka-{ordinal}"}}],
    }
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    conditions = [{"type": "Ready", "status": "True"}]
    return head | {"spec": spec, "status": {"phase": "Running", "conditions": conditions}}


def _cluster(provisioner: str = "ebs.csi.aws.com", mode: str = "WaitForFirstConsumer", **spec: Any) -> list[Any]:
    ordinals = range(REPLICAS)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    return [
        namespace,
        *map(_node, range(4)),
        _storage_class(provisioner, mode),
        *map(_claim, ordinals),
        *map(_volume, ordinals),
        _stateful_set(**spec),
        *map(_pod, ordinals),
    ]


def _without_annotations(objects: list[Any]) -> list[Any]:
    for each in objects:
        if each["kind"] == "PersistentVolumeClaim":
            del each["metadata"]["annotations"]
    return objects


def _deleted(objects: list[Any], ordinal: int) -> list[Any]:
    """The claim of an ordinal is being deleted; its pod protects it."""
    for each in objects:
        if each["metadata"]["name"] == f"data-kafka-{ordinal}":
            each["metadata"] |= {
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": 0,
                "finalizers": ["kubernetes.io/pvc-protection"],
            }
    return objects


DELETES: dict[str, Any] = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Delete"}}
RETAINS: dict[str, Any] = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}}
PARALLEL: dict[str, Any] = {"podManagementPolicy": "Parallel"}
NEW: dict[str, Any] = {"image": "kafka:2", "stored": False}

CASES: dict[str, tuple[list[Any], dict[str, Any], int, int]] = {
    # what is there, what changes, pods with a node at rest, claims at rest
    "an update of the image leaves claims of a dynamic class": (_cluster(), NEW, 3, 3),
    "so it does with a class that binds at once": (_cluster(mode="Immediate"), NEW, 3, 3),
    "and with volumes that somebody made": (_cluster("kubernetes.io/no-provisioner"), NEW, 3, 3),
    "and in parallel": (_cluster(**PARALLEL), NEW | PARALLEL, 3, 3),
    "a stored claim without its annotations is bound all the same": (_without_annotations(_cluster()), NEW, 3, 3),
    "a bigger set gets the claim that it lacks": (_cluster(), {"replicas": 4, "stored": False}, 4, 4),
    "a smaller set retains its claims": (_cluster(), {"replicas": 1, "stored": False}, 1, 3),
    "unless they go with its pods": (_cluster(**DELETES), {"replicas": 1, "stored": False} | DELETES, 1, 1),
    "from the update on that says so": (_cluster(), {"replicas": 1, "stored": False} | DELETES, 1, 1),
    "deletion with the set alone is no deletion of size": (
        _cluster(**RETAINS),
        {"replicas": 1, "stored": False} | RETAINS,
        1,
        3,
    ),
    "a smaller set in parallel loses its claims too": (
        _cluster(**DELETES, **PARALLEL),
        {"replicas": 0, "stored": False} | DELETES | PARALLEL,
        0,
        0,
    ),
    "a claim that is being deleted is made anew once its pod has left": (_deleted(_cluster(), 2), NEW, 3, 3),
}


@pytest.mark.parametrize(("objects", "change", "placed", "claims"), CASES.values(), ids=CASES)
def test_stateful_sets_keep_and_lose_claims_as_their_controller_sees_to_it(
    objects: list[Any], change: dict[str, Any], placed: int, claims: int, tmp_path: Path
) -> None:
    snapshot, manifest, after = tmp_path / "cluster.json", tmp_path / "kafka.json", tmp_path / "after.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    manifest.write_text(json.dumps(_stateful_set(**change)))
    answer = run("place", str(manifest), "--snapshot", str(snapshot), "--write-snapshot", str(after), "-o", "json")
    assert "spec.volumeName" not in answer.out + answer.err
    assert answer.code == 0, answer.out + answer.err
    kept = json.loads(after.read_text())["objects"]
    pods = kept.get("Pod", [])
    image = change.get("image", "kafka:1")
    assert [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * placed
    assert all(pod["spec"].get("nodeName") for pod in pods)
    here = kept.get("PersistentVolumeClaim", [])
    assert len(here) == claims
    assert not any(claim["metadata"].get("deletionTimestamp") for claim in here)
    gated = run("gate", str(manifest), "--snapshot", str(snapshot))
    assert gated.code == 0, gated.out + gated.err


def _csi_nodes(*keys: str) -> list[Any]:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode"}
    return [
        head
        | {"metadata": {"name": name}, "spec": {"drivers": [{"name": DRIVER, "nodeID": name, "topologyKeys": [*keys]}]}}
        for name in ("n0", "n1", "n2", "n3")
    ]


def _of_another_driver(objects: list[Any]) -> list[Any]:
    for obj in objects:
        if obj["kind"] == "PersistentVolume":
            obj["spec"]["csi"]["driver"] = "older.example"
    return objects


def _drain(snapshot: Path, *edits: str) -> dict[str, str]:
    """Where the pods of n3 land, by pod."""
    answer = run("drain", "n3", "--snapshot", str(snapshot), "-o", "json", *edits)
    return {pod["pod"]: pod["landsOn"] for pod in json.loads(answer.out)["pods"]}


@pytest.mark.parametrize(
    ("objects", "node"),
    [
        pytest.param(
            [*_of_another_driver(_cluster()), *_csi_nodes(ZONE)], "n0", id="of the zone that its CSINode names"
        ),
        pytest.param([*_cluster(), *_csi_nodes(ZONE, HOST)], "n0", id="of the zone by which its driver's volumes go"),
        pytest.param(_cluster(), "n0", id="of the zone by which volumes go, without a CSINode"),
        pytest.param(
            _of_another_driver(_cluster()), "", id="of its node alone where the driver's topology is not known"
        ),
    ],
)
def test_a_volume_made_for_a_new_pod_is_reached_from_the_nodes(objects: list[Any], node: str, tmp_path: Path) -> None:
    snapshot, after = tmp_path / "cluster.json", tmp_path / "after.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    scale = ("--scale", "statefulset/shop/kafka=4")
    placed = run("place", "--snapshot", str(snapshot), *scale, "--write-snapshot", str(after), "-o", "json")
    assert {each["pod"]: each["node"] for each in json.loads(placed.out)["placements"]} == {"shop/kafka-3": "n3"}
    assert _drain(after) == {"shop/kafka-3": node}
    assert _drain(snapshot, *scale) == {"shop/kafka-3": node}


@pytest.mark.parametrize(("gates", "least"), [((), 2), (("--feature-gates", "MaxUnavailableStatefulSet=true"), 1)])
def test_several_pods_are_replaced_at_a_time_where_the_feature_gate_is_on(
    gates: tuple[str, ...], least: int, tmp_path: Path
) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    snapshot, manifest = tmp_path / "cluster.json", tmp_path / "kafka.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _cluster()}))
    manifest.write_text(json.dumps(_stateful_set("kafka:2", stored=False, updateStrategy=strategy)))
    where = ("--snapshot", str(snapshot), "--kubernetes-version", "1.35")
    (rollout,) = json.loads(run("place", str(manifest), *where, *gates, "-o", "json").out)["rollouts"]
    assert (rollout["leastAvailable"], rollout["unfinished"]) == (least, "")
