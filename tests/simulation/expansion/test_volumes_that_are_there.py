"""Manifests of volumes, drivers and devices that are in the cluster already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.admission.object_store import plain
from kwhatif.api.workloads_and_storage import PersistentVolume
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.snapshot.load import load_manifests, load_snapshot
from kwhatif.workloads.volumes import settle_volumes
from tests.admission.objects import Json, in_cluster

STORAGE, RESOURCE = "storage.k8s.io/v1", "resource.k8s.io/v1"
BOUND = {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data", "uid": "u-1"}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
TERM = {"matchExpressions": [ZONE]}
DEFAULTS: dict[str, Json] = {
    "PersistentVolume": {"volumeMode": "Filesystem"},
    "CSIDriver": {"attachRequired": True, "storageCapacity": False},
}


def volume(**fields: Any) -> Json:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", **fields}
    if not any(key in spec for key in ("nfs", "hostPath", "local")):
        spec.setdefault("csi", {"driver": "disk.example.com", "volumeHandle": "h-1"})
    return in_cluster("PersistentVolume", "pv", spec={key: value for key, value in spec.items() if value is not None})


def stored(**fields: Any) -> Json:
    """A volume as the cluster holds it, bound."""
    return {**volume(**{"claimRef": BOUND, **fields}), "status": {"phase": "Bound"}}


def attachment(node: str = "n1", **source: Any) -> Json:
    spec = {"attacher": "disk.example.com", "nodeName": node, "source": source or {"persistentVolumeName": "pv"}}
    return in_cluster("VolumeAttachment", "at", STORAGE, spec=spec)


def driver(**spec: Any) -> Json:
    return in_cluster("CSIDriver", "disk.example.com", STORAGE, spec=spec)


def node_drivers(*drivers: Json) -> Json:
    return in_cluster("CSINode", "n1", STORAGE, spec={"drivers": list(drivers)})


def on_node(name: str, node: str = "i-1", **fields: Any) -> Json:
    return {"name": name, "nodeID": node, "topologyKeys": ["zone"], **fields}


def device_class(*expressions: str) -> Json:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    return in_cluster("DeviceClass", "gpu", RESOURCE, spec={"selectors": selectors})


def devices(pool: str = "p", **spec: Any) -> Json:
    told = {"name": pool, "generation": 1, "resourceSliceCount": 1}
    whole = {"driver": "gpu.example.com", "pool": told, "nodeName": "n1", "devices": [{"name": "g0"}], **spec}
    return in_cluster("ResourceSlice", "slice", RESOURCE, spec=whole)


def asked(folder: Path, there: Json, manifest: Json, verb: str = "") -> ExpandedManifests:
    """What becomes of a manifest where the cluster holds one object, as a dump has it."""
    cluster = folder / "cluster.json"
    headless = {key: value for key, value in there.items() if key not in ("apiVersion", "kind")}
    head = {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "metadata": {}}
    cluster.write_text(json.dumps({**head, "objects": {there["kind"]: [headless]}}))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return expand(load_manifests([str(folder / "manifest.json")]), load_snapshot([str(cluster)]), verb=verb)


def now(folder: Path, there: Json, manifest: Json, verb: str = "") -> Any:
    done = asked(folder, there, manifest, verb)
    assert not done.refusals, done.refusals
    (made,) = done.objects
    return made


def refused(folder: Path, there: Json, manifest: Json, verb: str = "") -> tuple[str, str]:
    (refusal,) = asked(folder, there, manifest, verb).refusals
    return refusal.reason, refusal.message


EACH = [
    stored(),
    stored(csi=None, nfs={"server": "s", "path": "/"}),
    stored(csi=None, hostPath={"path": "/data"}),
    stored(csi=None, local={"path": "/data"}, nodeAffinity={"required": {"nodeSelectorTerms": [TERM]}}),
    stored(volumeMode="Block", persistentVolumeReclaimPolicy="Delete", mountOptions=["ro"]),
    attachment(),
    attachment(inlineVolumeSpec={"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d.x", "volumeHandle": "h"}}),
    driver(attachRequired=False, volumeLifecycleModes=["Ephemeral"], podInfoOnMount=True),
    node_drivers(on_node("disk.example.com", allocatable={"count": 3}), on_node("other.example.com")),
    device_class('device.driver == "gpu.example.com"'),
    devices(),
    devices(nodeName=None, allNodes=True),
]


@pytest.mark.parametrize("verb", ["", "apply", "replace"])
@pytest.mark.parametrize("there", EACH, ids=lambda obj: f"{obj['kind']} {','.join(obj['spec'])}")
def test_every_object_takes_its_own_manifest_and_is_as_before(there: Json, verb: str, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(there))
    (before,) = load_snapshot([str(tmp_path / "one.json")]).objects.list_kind(there["kind"])
    told, had = plain(now(tmp_path, there, there, verb), there["kind"]), plain(before, there["kind"])
    assert told["spec"] == {**DEFAULTS.get(there["kind"], {}), **had["spec"]}
    assert told.get("status") == had.get("status")


REFUSED: dict[str, tuple[Json, Json, str, str]] = {
    "a volume is another": (
        stored(),
        volume(csi={"driver": "disk.example.com", "volumeHandle": "h-2"}),
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
        "",
    ),
    "a volume becomes one of blocks": (
        stored(),
        volume(volumeMode="Block"),
        'volumeMode: Invalid value: "Block": field is immutable',
        "",
    ),
    "a volume moves to other nodes": (
        stored(nodeAffinity={"required": {"nodeSelectorTerms": [TERM]}}),
        volume(nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [{**ZONE, "values": ["b"]}]}]}}),
        "field is immutable, except for updating from beta label to GA",
        "",
    ),
    "a volume is replaced by one of no source": (
        stored(csi=None, nfs={"server": "s", "path": "/"}),
        in_cluster("PersistentVolume", "pv", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}),
        "spec: Required value: must specify a volume type",
        "replace",
    ),
    "an attachment goes to another node": (attachment(), attachment("n2"), "spec: Invalid value", ""),
    "a driver attaches no more": (
        driver(),
        driver(attachRequired=False),
        "spec.attachedRequired: Invalid value: false: field is immutable",
        "",
    ),
    "a driver knows a node by another name": (
        node_drivers(on_node("disk.example.com")),
        node_drivers(on_node("disk.example.com", "i-2")),
        "field is immutable",
        "",
    ),
    "a class of storage provisions otherwise": (
        in_cluster("StorageClass", "fast", STORAGE, provisioner="a.example.com"),
        in_cluster("StorageClass", "fast", STORAGE, provisioner="b.example.com"),
        'provisioner: Invalid value: "b.example.com": field is immutable',
        "",
    ),
    "devices move to another pool": (
        devices(),
        devices("q"),
        'spec.pool.name: Invalid value: "q": field is immutable',
        "",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_must_not_change_is_refused(case: str, tmp_path: Path) -> None:
    there, manifest, told, verb = REFUSED[case]
    reason, message = refused(tmp_path, there, manifest, verb)
    assert reason == "Invalid"
    assert told in message


@pytest.mark.parametrize("there", EACH[:1] + EACH[5:6], ids=lambda obj: str(obj["kind"]))
def test_what_is_there_is_not_created_again(there: Json, tmp_path: Path) -> None:
    reason, message = refused(tmp_path, there, there, "create")
    assert reason == "AlreadyExists"
    assert message.endswith("already exists")


def test_a_volume_that_grows_stays_bound(tmp_path: Path) -> None:
    made = now(tmp_path, stored(), volume(capacity={"storage": "2Gi"}))
    assert (made.spec.claim_ref.uid, made.status.phase) == ("u-1", "Bound")
    assert str(made.spec.capacity["storage"]) == "2Gi"


@pytest.mark.parametrize("verb", ["", "apply"])
def test_a_volume_kept_for_a_claim_knows_still_which_one_it_was(verb: str, tmp_path: Path) -> None:
    manifest = volume(claimRef={"namespace": "shop", "name": "data"})
    assert now(tmp_path, stored(), manifest, verb).spec.claim_ref.uid == "u-1"


@pytest.mark.parametrize("there", EACH[:6], ids=lambda obj: ",".join(obj["spec"]))
def test_a_manifest_of_labels_alone_leaves_the_rest(there: Json, tmp_path: Path) -> None:
    head = {"apiVersion": there["apiVersion"], "kind": there["kind"]}
    labelled = {**head, "metadata": {"name": there["metadata"]["name"], "labels": {"tier": "gold"}}}
    last = {**labelled, "metadata": {"name": there["metadata"]["name"], "labels": {"tier": "old"}}}
    told = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(last)}
    known = {**there, "metadata": {**there["metadata"], "annotations": told}}
    made = now(tmp_path, known, labelled)
    assert made.metadata.labels == {"tier": "gold"}


def test_a_volume_whose_manifest_drops_the_claim_is_bound_to_it_again(tmp_path: Path) -> None:
    metadata = {"namespace": "shop", "name": "data", "uid": "u-1"}
    bound = {"metadata": {**metadata, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **bound, "spec": {"volumeName": "pv"}}
    replaced = now(tmp_path, stored(), volume(), "replace")
    assert replaced.spec.claim_ref is None
    (tmp_path / "both.json").write_text(json.dumps(claim))
    objects = load_snapshot([str(tmp_path / "both.json")]).objects
    objects.add(replaced)
    assert settle_volumes(objects, [replaced]) == []
    (its,) = objects.list_all(PersistentVolume)
    assert its.spec.claim_ref is not None
    assert (its.spec.claim_ref.uid, its.status.phase) == ("u-1", "Bound")


def test_a_provisioned_volume_keeps_what_its_manifest_leaves_out(tmp_path: Path) -> None:
    there = stored(nodeAffinity={"required": {"nodeSelectorTerms": [TERM]}})
    there["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "disk.example.com"}
    made = now(tmp_path, there, volume(capacity={"storage": "2Gi"}))
    assert made.spec.node_affinity.required.node_selector_terms
    assert str(made.spec.capacity["storage"]) == "2Gi"


def test_a_class_of_devices_may_change(tmp_path: Path) -> None:
    made = now(tmp_path, device_class("true"), device_class("false"))
    assert [each.cel.expression for each in made.spec.selectors] == ["false"]
