"""EBSLimits, GCEPDLimits, AzureDiskLimits, CinderLimits: how many in-tree disks a node can attach.

They counted only where no CSI driver had taken over. Upstream, until 1.31: plugins/nodevolumelimits/non_csi.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import ClassVar

import msgspec
import numpy as np

from kwhatif.api.core import DiskSource, Node, Pod
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.storage import Storage, claim_names
from kwhatif.cluster.types import BoolArray
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, Plugin, QueueingHint, always
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.plugins.shared.attachable_volumes import TOO_MANY, VOLUMES, migrates, of_known_volumes, volumes_of
from kwhatif.versions import Features

_INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_NITRO = re.compile(r"^[cmr]5.*|t3|z1d")
_EBS, _EBS_NITRO = 39, 25


class Disks(msgspec.Struct, frozen=True):
    """The pod's own disks of one kind, and the error if they cannot be resolved."""

    ids: frozenset[str]
    problem: str


class _InTreeVolumeLimits(Plugin[Disks, None]):
    """One kind of disk: its source in a volume, its provisioner, the resource of its limit, and the default limit."""

    source: ClassVar[str]
    identity: ClassVar[str]
    provisioner: ClassVar[str]
    resource: ClassVar[str]
    limit: ClassVar[int]
    dependencies = MappingProxyType(
        dict.fromkeys(("CSINode", "PersistentVolume", "PersistentVolumeClaim", "StorageClass"), VOLUMES)
    )
    events_to_register: ClassVar[dict[ClusterEvent, QueueingHint]] = {ClusterEvent.POD_DELETED: always}

    place: ClassVar[int | None] = None
    """Where it is among the default plugins, as long as they have it."""

    @classmethod
    def exists(cls, features: Features) -> bool:
        return features.in_tree_volume_limits

    @classmethod
    def is_removed(cls, features: Features) -> bool:
        return features.in_tree_volume_limits_are_refused

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        return DefaultPlugin(cls.place) if cls.place is not None and features.in_tree_volume_limits_by_default else None

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Disks | Skip:
        volumes = pod.shape.spec.volumes or ()
        if not any(self._id(v) or v.persistent_volume_claim or v.ephemeral for v in volumes):
            return SKIP
        claims_alone = self.handle.features.volume_limits_of_old
        _, problem = volumes_of(pod.pod, cluster.storage, new=not claims_alone)
        return Disks(frozenset(self._ids(pod.pod, cluster.storage)), problem)

    @of_known_volumes
    def filter(self, pod: PodInfo, nodes: NodeView, state: Disks) -> Iterator[Rejection]:
        if not state.ids:
            return
        over = np.zeros(nodes.size, np.bool_)
        moved = nodes.moved_pods()
        taken_over, columns = self._taken_over(nodes.cluster), nodes.columns
        for place in range(nodes.size):
            row = nodes.row(place)
            if taken_over[row]:
                continue
            shapes = moved(place) if moved else [info.shape for info in nodes.cluster.pods_on[row]]
            held = self._volumes_of_shapes(shapes, nodes.cluster)
            over[place] = len(held | state.ids) > self._limit(columns.nodes[row])
        yield Rejection(over, TOO_MANY, detail=lambda place: f"{self.name}: no room for {len(state.ids)} more")

    def _taken_over(self, cluster: Cluster) -> BoolArray:
        """bool[N]: nodes on which CSI migration is on; older minors checked it for all four kinds at once."""
        if self.handle.features.volume_limits_of_old:
            return migrates(cluster, self.provisioner)
        return np.array([name in cluster.storage.csi_nodes for name in cluster.columns.names], np.bool_)

    def usual_limit(self, node: Node) -> int:
        """The default limit of a node."""
        return self.limit

    def _limit(self, node: Node) -> int:
        said = (node.status.allocatable or {}).get(self.resource)
        return self.usual_limit(node) if said is None else said.value()

    def _volumes_of_shapes(self, shapes: Iterable[PodShape], cluster: Cluster) -> set[str]:
        held: set[str] = set()
        for shape in shapes:
            if shape.spec.volumes:
                held |= self._ids(cluster.shapes.example(shape), cluster.storage)
        return held

    def _ids(self, pod: Pod, storage: Storage) -> set[str]:
        ids = {id_ for volume in pod.spec.volumes or () if (id_ := self._id(volume))}
        for name, volume in claim_names(pod):
            if volume.ephemeral is not None and self.handle.features.volume_limits_of_old:
                continue
            claim = storage.claims.get((pod.metadata.namespace or "default", name))
            if claim is not None and (id_ := self._behind(claim, storage)):
                ids.add(id_)
        return ids

    def _behind(self, claim: PersistentVolumeClaim, storage: Storage) -> str:
        volume = storage.volumes.get(claim.spec.volume_name or "")
        if volume is not None:
            return self._id(volume.spec)
        made_by = storage.classes.get(claim.spec.storage_class_name or "")
        if made_by is None or made_by.provisioner != self.provisioner:
            return ""
        return f"<to be provisioned>-{claim.namespace}/{claim.name}"

    def _id(self, volume: object) -> str:
        disk: DiskSource | None = getattr(volume, self.source, None)
        return "" if disk is None else getattr(disk, self.identity) or ""


class EBSLimits(_InTreeVolumeLimits):
    name = "EBSLimits"
    place = 100
    source, identity = "aws_elastic_block_store", "volume_id"
    provisioner, resource, limit = "kubernetes.io/aws-ebs", "attachable-volumes-aws-ebs", _EBS

    def usual_limit(self, node: Node) -> int:
        labels = node.metadata.labels or {}
        kind = next((labels[key] for key in _INSTANCE_TYPES if key in labels), "")
        return _EBS_NITRO if _NITRO.search(kind) else _EBS


class GCEPDLimits(_InTreeVolumeLimits):
    name = "GCEPDLimits"
    place = 110
    source, identity = "gce_persistent_disk", "pd_name"
    provisioner, resource, limit = "kubernetes.io/gce-pd", "attachable-volumes-gce-pd", 16


class AzureDiskLimits(_InTreeVolumeLimits):
    name = "AzureDiskLimits"
    place = 130
    source, identity = "azure_disk", "disk_name"
    provisioner, resource, limit = "kubernetes.io/azure-disk", "attachable-volumes-azure-disk", 16


class CinderLimits(_InTreeVolumeLimits):
    name = "CinderLimits"
    source, identity = "cinder", "volume_id"
    provisioner, resource, limit = "kubernetes.io/cinder", "attachable-volumes-cinder", 256
