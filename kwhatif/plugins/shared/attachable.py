"""Which attachable volumes a pod uses, by driver and unique name; in-tree disks under the name of their CSI driver.

Upstream: plugins/nodevolumelimits/csi.go and csi-translation-lib/plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import DiskSource, Pod, Volume
from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import Storage, claim_names, class_of
from kwhatif.framework.interface import Plugin
from kwhatif.framework.status import Rejection, Skip

TOO_MANY = "node(s) exceed max volume count"

PORTWORX = "kubernetes.io/portworx-volume"

MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    PORTWORX: "pxd.portworx.com",
}
"""In-tree provisioners -> the CSI drivers that took their place."""

_ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
Named = tuple[str, str]
"""(driver, unique name) of a volume."""

Found = tuple[str, str, str]
"""The same with the in-tree plugin that the driver took the volume over from, or an empty string."""


class OwnVolumes(Protocol):
    """The pod's own volumes, as a plugin's PreFilter finds them, and what keeps them from being known at all."""

    @property
    def problem(self) -> str: ...


P = TypeVar("P", bound=Plugin[Any, Any])
V = TypeVar("V", bound=OwnVolumes)


def of_known_volumes(
    check: Callable[[P, PodInfo, NodeView, V], Iterator[Rejection]],
) -> Callable[[P, PodInfo, NodeView, V | None], Iterator[Rejection]]:
    """A Filter that has no node for a pod whose volumes are not known, and otherwise does what ``check`` does.

    A profile may leave the plugin's PreFilter out: upstream's Filter does not depend on it.
    """

    @wraps(check)
    def filter_(plugin: P, pod: PodInfo, nodes: NodeView, state: V | None) -> Iterator[Rejection]:
        found: Any = plugin.pre_filter(pod, nodes.cluster) if state is None else state
        if isinstance(found, Skip):
            return
        if found.problem:
            yield Rejection(np.ones(nodes.size, np.bool_), found.problem, unresolvable=True)
        else:
            yield from check(plugin, pod, nodes, found)

    return filter_


def is_attachable(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or _disk(volume, zone="") is not None
    )


def volumes_of(pod: Pod, storage: Storage, *, new: bool) -> tuple[frozenset[Found], str]:
    """The pod's attachable volumes, and for a ``new`` pod why they cannot be told."""
    found = {named for volume in pod.spec.volumes or () if (named := _disk(volume, zone="")) is not None}
    namespace = pod.metadata.namespace or "default"
    for name, _ in claim_names(pod):
        claim = storage.claims.get((namespace, name))
        if claim is None:
            if new:
                problem = f'looking up PVC {namespace}/{name}: persistentvolumeclaim "{name}" not found'
                return frozenset(found), problem
            continue
        named = _behind(claim, storage)
        if named is not None:
            found.add(named)
    return frozenset(found), ""


def with_claims_alone(pod: Pod) -> Pod:
    """The pod without the volumes that are not claims by name."""
    claims = [volume for volume in pod.spec.volumes or () if volume.persistent_volume_claim is not None]
    return replace(pod, spec=replace(pod.spec, volumes=claims))


def _behind(claim: PersistentVolumeClaim, storage: Storage) -> Found | None:
    """The volume behind a claim; one that is still to be made goes by its claim's name."""
    volume = storage.volumes.get(claim.spec.volume_name or "")
    if volume is not None:
        return _of_volume(volume)
    storage_class = storage.classes.get(class_of(claim))
    if storage_class is None or not storage_class.provisioner:
        return None
    driver, origin = storage_class.provisioner, ""
    if driver in MIGRATED:
        driver, origin = MIGRATED[driver], driver
    return driver, f"<to be provisioned>-{claim.namespace}/{claim.name}", origin


def _of_volume(volume: PersistentVolume) -> Found | None:
    if volume.spec.csi is not None:
        handle = volume.spec.csi.volume_handle or ""
        return (volume.spec.csi.driver, handle, "") if volume.spec.csi.driver and handle else None
    labels = volume.metadata.labels or {}
    zone = next((labels[key] for key in _ZONE_LABELS if labels.get(key)), "")
    return _disk(volume.spec, zone=zone)


def _disk(source: object, *, zone: str) -> Found | None:
    """An in-tree disk of a pod's volume or of a PersistentVolume, as its CSI driver would name it."""
    gce: DiskSource | None = getattr(source, "gce_persistent_disk", None)
    ebs: DiskSource | None = getattr(source, "aws_elastic_block_store", None)
    azure: DiskSource | None = getattr(source, "azure_disk", None)
    cinder: DiskSource | None = getattr(source, "cinder", None)
    if gce is not None:
        place = _gce_place(zone)
        name = f"projects/UNSPECIFIED/{place}/disks/{gce.pd_name}" if place else None
        return _migrated("kubernetes.io/gce-pd", name)
    if ebs is not None:
        name = _ebs_name(ebs.volume_id or "")
        return _migrated("kubernetes.io/aws-ebs", name)
    if azure is not None:
        return _migrated("kubernetes.io/azure-disk", azure.disk_uri or "")
    if cinder is not None:
        return _migrated("kubernetes.io/cinder", cinder.volume_id or "")
    return None


def _migrated(plugin: str, name: str | None) -> Found | None:
    return None if name is None else (MIGRATED[plugin], name, plugin)


def _gce_place(zones: str) -> str | None:
    """Where a disk is, by its zone label; None if several zones make no region."""
    if "__" not in zones:
        return f"zones/{zones or 'UNSPECIFIED'}"
    parts = [zone.split("-") for zone in zones.split("__")]
    regions = {"-".join(part[:2]) for part in parts}
    return f"regions/{regions.pop()}" if len(regions) == 1 and all(len(part) == 3 for part in parts) else None


def _ebs_name(volume_id: str) -> str | None:
    """The disk's name, which may follow its zone as in aws://zone/vol-1; None if what follows is no name."""
    if not volume_id.startswith("aws://"):
        return volume_id
    name = volume_id.removeprefix("aws://").partition("/")[2].strip("/")
    return name if name.startswith("vol-") and "/" not in name else None


def attached_by_api(storage: Storage, names: Sequence[str]) -> list[set[Named]]:
    """For each node, the volumes that VolumeAttachments say are attached."""
    rows = {name: row for row, name in enumerate(names)}
    found: list[set[Named]] = [set() for _ in names]
    for attachment in storage.attachments:
        spec = attachment.spec
        row = rows.get(spec.node_name)
        volume = storage.volumes.get(spec.source.persistent_volume_name or "")
        if row is not None and spec.attacher and volume is not None and volume.spec.csi is not None:
            found[row].add((spec.attacher, volume.spec.csi.volume_handle or ""))
    return found
