"""Claims and volumes of manifests get each other as the controller of volumes sees to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run

LISTS = {
    "PodList": "v1",
    "PersistentVolumeList": "v1",
    "PersistentVolumeClaimList": "v1",
    "StorageClassList": "storage.k8s.io/v1",
}
ZONE = "topology.kubernetes.io/zone"


def node(name: str, zone: str) -> Any:
    labels = {"kubernetes.io/hostname": name, ZONE: zone}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


def storage_class(name: str = "fast", mode: str = "", provisioner: str = "csi.example", **more: Any) -> Any:
    binding = {"volumeBindingMode": mode} if mode else {}
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return head | {"provisioner": provisioner} | binding | more


def volume(name: str = "disk", size: str = "10Gi", **spec: Any) -> Any:
    base = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    source = {"csi": {"driver": "csi.example", "volumeHandle": name}}
    head = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}
    return head | {"spec": base | source | spec}


def claim(**spec: Any) -> Any:
    asks = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}, "storageClassName": "fast"}
    metadata = {"name": "data", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": asks | spec}


USER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "db"},
    "spec": {
        "containers": [{"name": "main", "image": "db"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    },
}
IN_B = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}]}}
ONLY_B = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
UNBOUND = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."


def released(**ref: str) -> Any:
    """A volume on the second node, once used by the claim."""
    kept = volume(nodeAffinity=IN_B, claimRef={"namespace": "default", "name": "data", **ref})
    return {**kept, "status": {"phase": "Released"}}


CASES: dict[str, tuple[list[Any], list[Any], str, str]] = {
    "a class that says nothing provisions at once": (
        [storage_class()],
        [claim(), USER],
        "ant",
        "taken to be in any zone",
    ),
    "where the class allows it": (
        [storage_class(allowedTopologies=ONLY_B)],
        [claim(), USER],
        "bee",
        "taken to be where its class allows it",
    ),
    "so does a class of the same manifest": ([], [storage_class(), claim(), USER], "ant", "gets a new volume at once"),
    "a volume and a claim of one manifest meet": (
        [storage_class(provisioner="kubernetes.io/no-provisioner")],
        [volume(nodeAffinity=IN_B), claim(), USER],
        "bee",
        "PersistentVolumeClaim default/data is bound to disk",
    ),
    "of volumes that will do the smallest": (
        [storage_class()],
        [volume("large", "90Gi"), volume("small", "6Gi", nodeAffinity=IN_B), volume("tiny", "1Gi"), claim(), USER],
        "bee",
        "is bound to small",
    ),
    "a volume that names the claim goes before smaller ones": (
        [storage_class()],
        [
            volume("mine", "90Gi", nodeAffinity=IN_B, claimRef={"namespace": "default", "name": "data"}),
            volume("small"),
            claim(),
            USER,
        ],
        "bee",
        "is bound to mine",
    ),
    "a claim that names its volume gets that or none": (
        [storage_class()],
        [volume("other"), claim(volumeName="missing"), USER],
        "",
        "",
    ),
    "a volume of another claim is nobody else's": (
        [storage_class(provisioner="kubernetes.io/no-provisioner")],
        [volume(claimRef={"namespace": "default", "name": "another"}), claim(), USER],
        "",
        "",
    ),
    "a volume kept for a deleted claim of this name is not given again": (
        [storage_class(provisioner="kubernetes.io/no-provisioner"), released(uid="of-the-deleted")],
        [claim(), USER],
        "",
        "",
    ),
    "unless somebody cleared its uid, whatever the phase says": (
        [storage_class(provisioner="kubernetes.io/no-provisioner"), released()],
        [claim(), USER],
        "bee",
        "is bound to disk",
    ),
    "a class that waits leaves it to the scheduler": (
        [storage_class(mode="WaitForFirstConsumer")],
        [claim(), USER],
        "ant",
        "",
    ),
    "a claim of the cluster may get a volume of the manifest": (
        [storage_class(), claim()],
        [volume(nodeAffinity=IN_B), USER],
        "bee",
        "is bound to disk",
    ),
    "but none is provisioned for it, which was tried before": (
        [storage_class(), claim()],
        [storage_class("unrelated"), USER],
        "",
        "",
    ),
}


@pytest.mark.parametrize("more", [(), ("--timeline",)], ids=["at once", "over time"])
@pytest.mark.parametrize(("there", "given", "home", "said"), CASES.values(), ids=list(CASES))
def test_claims_get_their_volumes(
    there: list[Any], given: list[Any], home: str, said: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    empty: list[Any] = [{"apiVersion": version, "kind": kind, "items": []} for kind, version in LISTS.items()]
    cluster = [*empty, node("ant", "a"), node("bee", "b"), *there]
    for name, objects in (("cluster", cluster), ("given", given)):
        (tmp_path / f"{name}.json").write_text("\n".join(map(json.dumps, objects)))
    words = (str(tmp_path / "given.json"), "--snapshot", str(tmp_path / "cluster.json"), "-o", "json")
    ran = run("place", *words, *more)
    (found,) = json.loads(ran.out)["placements"]
    assert found.get("node", "") == home, ran.out
    assert home or found["message"].startswith(UNBOUND)
    assert said in ran.err
    assert bool(said) == ("PersistentVolumeClaim default/data " in ran.err.replace("data added", ""))


# --- claims that come into being while pods are scheduled


OF_POD = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}, "storageClassName": "fast"}
BY_HAND = storage_class(provisioner="kubernetes.io/no-provisioner")


def workload(kind: str, *, replicas: int, volumes: Any = (), **spec: Any) -> Any:
    labels = {"app": "db"}
    pod = {"containers": [{"name": "main", "image": "db"}], "volumes": list(volumes)}
    template = {"metadata": {"labels": labels}, "spec": pod}
    asks = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "db", "namespace": "default"},
        "spec": asks | spec,
    }


def stateful_set(replicas: int) -> Any:
    return workload(
        "StatefulSet", replicas=replicas, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": OF_POD}]
    )


EPHEMERAL = workload(
    "Deployment", replicas=1, volumes=[{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": OF_POD}}}]
)


def asked(tmp_path: Path, command: str, there: list[Any], given: list[Any], *more: str) -> Any:
    """What a command says in JSON of a cluster of two nodes."""
    empty: list[Any] = [{"apiVersion": version, "kind": kind, "items": []} for kind, version in LISTS.items()]
    for name, objects in (("cluster", [*empty, node("ant", "a"), node("bee", "b"), *there]), ("given", given)):
        (tmp_path / f"{name}.json").write_text("\n".join(map(json.dumps, objects)))
    words = (str(tmp_path / "given.json"), "--snapshot", str(tmp_path / "cluster.json"), "-o", "json")
    return json.loads(run(command, *words, *more).out)


@pytest.mark.long
@pytest.mark.parametrize(
    ("there", "given", "fits"),
    [
        pytest.param([storage_class()], stateful_set(1), 220, id="a volume is made for every copy of a stateful pod"),
        pytest.param([storage_class()], EPHEMERAL, 220, id="and of a pod with an ephemeral volume"),
        pytest.param(
            [BY_HAND, *(volume(name) | {"status": {"phase": "Available"}} for name in ("a", "b", "c"))],
            stateful_set(1),
            3,
            id="where volumes are made by hand there is none left after the last one",
        ),
    ],
)
def test_copies_have_volumes_of_their_own(there: list[Any], given: Any, fits: int, tmp_path: Path) -> None:
    assert asked(tmp_path, "capacity", there, [given])["fits"] == fits


def test_a_claim_of_a_later_step_of_a_rollout_gets_its_volume(tmp_path: Path) -> None:
    runs = stateful_set(1) | {"status": {"replicas": 1, "readyReplicas": 1, "currentRevision": "db-1"}}
    placed = asked(tmp_path, "place", [storage_class(), runs], [stateful_set(3)])["placements"]
    assert [(each["pod"], each["outcome"]) for each in placed] == [(f"default/db-{i}", "placed") for i in range(3)]
