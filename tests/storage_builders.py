"""Storage objects in few words, for tests about volumes: claims, volumes, classes and what drivers report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.workloads_and_storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.storage import BIND_COMPLETED, SELECTED_NODE
from kwhatif.framework.interface import Plugin
from tests.asking import made, refused
from tests.builders import Json, node_term, pod

WAIT, IMMEDIATE = "WaitForFirstConsumer", "Immediate"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
DRIVER = "disk.csi.example"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


def claim(
    name: str = "data",
    *,
    size: str | None = "1Gi",
    storage_class: str | None = "std",
    modes: Iterable[str] = ("ReadWriteOnce",),
    bound_to: str | None = None,
    completed: bool = True,
    selected: str | None = None,
    selector: Json | None = None,
    volume_mode: str | None = None,
    attributes: str | None = None,
    phase: str | None = None,
    deleting: bool = False,
    owner: str | None = None,
    namespace: str = "default",
    annotations: Mapping[str, str] | None = None,
) -> PersistentVolumeClaim:
    """A claim; ``bound_to`` names its volume, ``owner`` is the uid of the pod that controls it."""
    notes = dict(annotations or {})
    if bound_to is not None and completed:
        notes[BIND_COMPLETED] = "yes"
    if selected is not None:
        notes[SELECTED_NODE] = selected
    meta: Json = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "annotations": notes}
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if owner is not None:
        meta["ownerReferences"] = [{"kind": "Pod", "name": "owner", "uid": owner, "controller": True}]
    return convert(
        {
            "metadata": meta,
            "spec": {
                "accessModes": list(modes),
                "storageClassName": storage_class,
                "volumeName": bound_to,
                "selector": selector,
                "volumeMode": volume_mode,
                "volumeAttributesClassName": attributes,
                "resources": {"requests": {"storage": size}} if size else None,
            },
            "status": {"phase": phase or ("Bound" if bound_to is not None and completed else "Pending")},
        },
        PersistentVolumeClaim,
    )


def volume(
    name: str = "pv",
    *,
    size: str | None = "1Gi",
    storage_class: str | None = "std",
    modes: Iterable[str] = ("ReadWriteOnce",),
    on: str | None = None,
    terms: Iterable[Json] | None = None,
    kept_for: str | None = None,
    kept_uid: str | None = None,
    phase: str = "Available",
    labels: Mapping[str, str] | None = None,
    volume_mode: str | None = None,
    attributes: str | None = None,
    deleting: bool = False,
    annotations: Mapping[str, str] | None = None,
    source: Json | None = None,
) -> PersistentVolume:
    """A volume; ``on`` is the one host it is on, ``terms`` are node terms, ``kept_for`` its claim's name."""
    meta: Json = {"name": name, "labels": labels, "annotations": annotations}
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if on is not None:
        terms = [node_term(f"kubernetes.io/hostname In {on}")]
    ref = {"namespace": "default", "name": kept_for, "uid": kept_uid} if kept_for is not None else None
    return convert(
        {
            "metadata": meta,
            "spec": {
                "capacity": {"storage": size} if size else None,
                "accessModes": list(modes),
                "storageClassName": storage_class,
                "claimRef": ref,
                "volumeMode": volume_mode,
                "volumeAttributesClassName": attributes,
                "nodeAffinity": None if terms is None else {"required": {"nodeSelectorTerms": list(terms)}},
                **(source or {}),
            },
            "status": {"phase": phase},
        },
        PersistentVolume,
    )


def csi(handle: str, driver: str = DRIVER) -> Json:
    """The source of a CSI volume."""
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def storage_class(
    name: str = "std",
    *,
    provisioner: str = NO_PROVISIONER,
    binding: str | None = WAIT,
    topologies: Iterable[Mapping[str, Iterable[str]]] = (),
) -> StorageClass:
    """A class; each of ``topologies`` is a term, label -> values."""
    terms = [
        {"matchLabelExpressions": [{"key": key, "values": list(values)} for key, values in term.items()]}
        for term in topologies
    ]
    return convert(
        {
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": binding,
            "allowedTopologies": terms,
        },
        StorageClass,
    )


def csi_node(name: str, limits: Mapping[str, int | None] | None = None, migrated: Iterable[str] = ()) -> CSINode:
    """What a node's drivers say: how many volumes each can attach, None for a driver that does not say."""
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": None if count is None else {"count": count}}
        for driver, count in (limits or {}).items()
    ]
    notes = {MIGRATED_PLUGINS: ",".join(migrated)} if migrated else None
    return convert({"metadata": {"name": name, "annotations": notes}, "spec": {"drivers": drivers}}, CSINode)


def driver(name: str = DRIVER, *, capacity: bool | None = True) -> CSIDriver:
    return convert({"metadata": {"name": name}, "spec": {"storageCapacity": capacity}}, CSIDriver)


def capacity(
    size: str | None,
    *,
    at: Mapping[str, str] | None,
    largest: str | None = None,
    storage_class: str = "std",
    name: str = "capacity",
) -> CSIStorageCapacity:
    """Room reported for nodes with the labels ``at`` (None: for no node)."""
    return convert(
        {
            "metadata": {"name": name, "namespace": "kube-system"},
            "nodeTopology": None if at is None else {"matchLabels": dict(at)},
            "storageClassName": storage_class,
            "capacity": size,
            "maximumVolumeSize": largest,
        },
        CSIStorageCapacity,
    )


def attachment(volume: str | None, node: str, attacher: str = DRIVER) -> VolumeAttachment:
    return convert(
        {
            "metadata": {"name": f"{volume}-{node}"},
            "spec": {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}},
        },
        VolumeAttachment,
    )


# --- pods with volumes


def claiming(*claims: str, name: str = "pod", volumes: Iterable[Json] = (), **kind: Any) -> Pod:
    """A pod that uses claims, and ``volumes`` of its own."""
    own = [{"name": f"c{i}", "persistentVolumeClaim": {"claimName": found}} for i, found in enumerate(claims)]
    return mounting(*own, *volumes, name=name, **kind)


def mounting(*volumes: Json, name: str = "pod", **kind: Any) -> Pod:
    """A pod with these volumes."""
    return pod(name, spec={"volumes": [{"name": f"v{i}", **found} for i, found in enumerate(volumes)]}, **kind)


def gce(disk: str, *, read_only: bool = False) -> Json:
    return {"gcePersistentDisk": {"pdName": disk, "readOnly": read_only}}


def ebs(disk: str, *, read_only: bool = False) -> Json:
    return {"awsElasticBlockStore": {"volumeID": disk, "readOnly": read_only}}


def iscsi(iqn: str, *, read_only: bool = False) -> Json:
    return {"iscsi": {"targetPortal": "10.0.0.1", "iqn": iqn, "lun": 0, "readOnly": read_only}}


def rbd(image: str, *, monitors: Iterable[str] = ("m1",), pool: str = "p", read_only: bool = False) -> Json:
    return {"rbd": {"monitors": list(monitors), "pool": pool, "image": image, "readOnly": read_only}}


def ephemeral(name: str = "scratch") -> Json:
    """A generic ephemeral volume; its claim is called after pod and volume."""
    return {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


# --- what binding comes to


def choices(plugin: Plugin[Any, Any], waiting: Pod, cluster: Cluster) -> dict[str, dict[str, str]]:
    """Node -> claim -> the volume it would get there, of the nodes that pass; found by trying, then undone."""
    info, storage = cluster.shapes.info(waiting), cluster.storage
    places = sorted(set(cluster.columns.names) - refused(plugin, waiting, cluster))
    found = {}
    for place in places:
        before = set(storage.reserved)
        state = made(plugin, info, cluster)
        assert plugin.reserve(info, place, state) is None
        found[place] = {key[1]: name for name, key in sorted(storage.reserved.items()) if name not in before}
        plugin.unreserve(info, place, state)
    return found
