"""A kind of storage that the snapshot does not hold is unknown, not absent: it keeps no pod from its node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.storage import Storage
from kwhatif.snapshot.load import load_snapshot

STATUS = {"cpu": "4", "memory": "8Gi", "pods": "110"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": STATUS}}
LISTS = {
    "PersistentVolumeClaim": "v1",
    "PersistentVolume": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "CSIDriver": "storage.k8s.io/v1",
    "CSIStorageCapacity": "storage.k8s.io/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
}
NOT_FOUND = 'persistentvolumeclaim "data" not found'
IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


def cluster(folder: Path, *missing: str) -> list[str]:
    """The file of a node, and of an empty list of each kind of storage but for those ``missing``."""
    kinds = {"Pod": "v1", "LimitRange": "v1", **LISTS}
    lists = [
        {"apiVersion": version, "kind": f"{kind}List", "items": []}
        for kind, version in kinds.items()
        if kind not in missing
    ]
    path = folder / f"cluster-{len(missing)}.json"
    path.write_text("".join(json.dumps(each) for each in (NODE, *lists)))
    return [str(path)]


def pod(claim: str = "data") -> dict[str, Any]:
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": claim}}]
    spec = {"containers": [{"name": "a", "image": "a"}], "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}


def claim(**spec: Any) -> dict[str, Any]:
    whole = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": whole}


def storage_class(provisioner: str, mode: str = "WaitForFirstConsumer") -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


DRIVER = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "csi.example.com"},
    "spec": {"storageCapacity": True},
}
LOCAL = storage_class("kubernetes.io/no-provisioner")
CASES: dict[str, tuple[list[dict[str, Any]], tuple[str, ...], str]] = {
    "a claim that nobody made": ([], ("PersistentVolumeClaim",), NOT_FOUND),
    "a class that is not there": ([claim(storageClassName="fast")], ("StorageClass",), IMMEDIATE),
    "no default class": ([claim()], ("StorageClass",), IMMEDIATE),
    "no class, said so": ([claim(storageClassName="")], ("PersistentVolume",), IMMEDIATE),
    "a volume that is not there": ([claim(volumeName="v")], ("PersistentVolume",), IMMEDIATE),
    "a class of volumes that somebody makes": (
        [LOCAL, claim(storageClassName="fast")],
        ("PersistentVolume",),
        "node(s) didn't find available persistent volumes to bind",
    ),
    "a driver that publishes its capacity": (
        [storage_class("csi.example.com"), claim(storageClassName="fast"), DRIVER],
        ("CSIStorageCapacity",),
        "node(s) did not have enough free storage",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_keeps_a_pod_from_its_node_only_where_the_kind_is_known(
    case: tuple[list[dict[str, Any]], tuple[str, ...], str], tmp_path: Path
) -> None:
    objects, kinds, reason = case
    result = kwhatif.place([*objects, pod()], snapshot=cluster(tmp_path))
    assert reason in result.placements[0].message
    result = kwhatif.place([*objects, pod()], snapshot=cluster(tmp_path, *kinds))
    assert [each.node for each in result.placements] == ["n1"]
    touching = {gap.what for gap in result.fidelity.touching}
    assert {f"the snapshot holds no {kind}" for kind in kinds} <= touching


def test_a_driver_need_not_be_on_a_node_of_which_nobody_knows_the_drivers(tmp_path: Path) -> None:
    objects = [
        storage_class("csi.example.com"),
        claim(storageClassName="fast"),
        {**DRIVER, "spec": {"preventPodSchedulingIfMissing": True}},
    ]
    options: dict[str, Any] = {"feature_gates": ["VolumeLimitScaling=true"]}
    here = kwhatif.place([*objects, pod()], snapshot=cluster(tmp_path), **options)
    assert "CSI driver is not installed" in here.placements[0].message
    unknown = kwhatif.place([*objects, pod()], snapshot=cluster(tmp_path, "CSINode"), **options)
    assert unknown.placements[0].node == "n1"


def test_what_stands_in_is_in_no_snapshot_that_is_written(tmp_path: Path) -> None:
    written = str(tmp_path / "after.json")
    other = {**pod("other"), "metadata": {"name": "two"}}
    result = kwhatif.place([claim(), pod(), other], snapshot=cluster(tmp_path, *Storage.KINDS), write_snapshot=written)
    assert [each.node for each in result.placements] == ["n1", "n1"]
    objects = load_snapshot(written).objects
    assert [(each.name, each.spec.volume_name) for each in objects.list_all(PersistentVolumeClaim)] == [("data", None)]
    assert not objects.list_all(PersistentVolume)


def test_what_git_has_unchanged_of_a_kind_that_is_not_known_is_there(tmp_path: Path) -> None:
    """Here the limits of a namespace, and its claim."""
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
    }
    containers = [{"name": "a", "image": "a", "resources": {"limits": {"cpu": "2"}}}]
    large = {**pod(), "spec": {"containers": containers}}
    judged = kwhatif.gate([limits, large], base=[limits], snapshot=cluster(tmp_path, "LimitRange"))
    assert [each.rule for each in judged.findings if each.level == "error"] == ["limits"]


def test_the_gate_says_how_to_learn_which_claim_has_no_volume_and_explain_names_it(tmp_path: Path) -> None:
    snapshot = cluster(tmp_path)
    objects = [claim(storageClassName="gone"), pod()]
    result = kwhatif.gate(objects, snapshot=snapshot)
    (finding,) = [each for each in result.findings if each.rule == "unschedulable"]
    assert finding.hint == "--explain default/web names the claims without a volume, and says why"
    (report,) = kwhatif.explain(objects, snapshot=snapshot).pods
    assert report.refusal_detail == "claim data: no volume that fits is free, and class gone does not exist"
