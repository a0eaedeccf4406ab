"""apps/v1, policy/v1, scheduling.k8s.io/v1 and storage.k8s.io/v1, with the fields that scheduling reads."""

from __future__ import annotations

import msgspec

from kwhatif.api.core import DiskSource, NodeSelector, PersistentVolumeClaimSpec, ResourceList
from kwhatif.api.meta import Base, Int32, LabelSelector, Resource
from kwhatif.api.quantity import Quantity

_NO_STORAGE = Quantity.from_units(0)

# --- apps/v1, policy/v1, scheduling.k8s.io/v1


class _SelectingSpec(Base):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None


class ReplicaSet(Resource):
    spec: _SelectingSpec = msgspec.field(default_factory=_SelectingSpec)


class StatefulSetOrdinals(Base):
    start: Int32 | None = None


class StatefulSetSpec(_SelectingSpec):
    pod_management_policy: str | None = None
    ordinals: StatefulSetOrdinals | None = None


class StatefulSet(Resource):
    spec: StatefulSetSpec = msgspec.field(default_factory=StatefulSetSpec)


class PodDisruptionBudgetSpec(Base):
    selector: LabelSelector | None = None
    max_unavailable: str | int | None = None
    min_available: str | int | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Base):
    current_healthy: Int32 | None = None
    desired_healthy: Int32 | None = None
    disruptions_allowed: Int32 | None = None
    disrupted_pods: dict[str, str | None] | None = None


class PodDisruptionBudget(Resource):
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)


class PriorityClass(Resource):
    value: Int32 = 0
    global_default: bool | None = None
    preemption_policy: str | None = None


# --- storage


class ObjectReference(Base):
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class VolumeNodeAffinity(Base):
    required: NodeSelector | None = None


class CSIPersistentVolumeSource(Base):
    driver: str = ""
    volume_handle: str | None = None


class LocalPath(Base):
    """A directory or disk of one node; which one does not matter here."""


class PersistentVolumeSpec(Base):
    capacity: ResourceList | None = None
    access_modes: list[str] | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None
    gce_persistent_disk: DiskSource | None = None
    aws_elastic_block_store: DiskSource | None = None
    azure_disk: DiskSource | None = None
    cinder: DiskSource | None = None
    local: LocalPath | None = None
    host_path: LocalPath | None = None
    volume_attributes_class_name: str | None = None


class VolumePhase(Base):
    phase: str | None = None


class PersistentVolume(Resource):
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: VolumePhase = msgspec.field(default_factory=VolumePhase)

    @property
    def storage(self) -> Quantity:
        """How much it holds; nothing if it does not say."""
        return (self.spec.capacity or {}).get("storage", _NO_STORAGE)


class PersistentVolumeClaim(Resource):
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: VolumePhase = msgspec.field(default_factory=VolumePhase)

    @property
    def storage(self) -> Quantity:
        """How much it asks for; nothing if it does not say."""
        resources = self.spec.resources
        return ((resources.requests if resources else None) or {}).get("storage", _NO_STORAGE)


class TopologySelectorRequirement(Base):
    key: str = ""
    values: list[str] | None = None


class TopologySelectorTerm(Base):
    match_label_expressions: list[TopologySelectorRequirement] | None = None


class StorageClass(Resource):
    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologySelectorTerm] | None = None


class VolumeNodeResources(Base):
    count: Int32 | None = None


class CSINodeDriver(Base):
    name: str = ""
    node_id: str | None = msgspec.field(default=None, name="nodeID")
    topology_keys: list[str] | None = None
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Base):
    drivers: list[CSINodeDriver] | None = None


class CSINode(Resource):
    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIDriverSpec(Base):
    storage_capacity: bool | None = None
    attach_required: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Resource):
    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(Resource):
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Base):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Base):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = msgspec.field(default_factory=VolumeAttachmentSource)


class VolumeAttachment(Resource):
    spec: VolumeAttachmentSpec = msgspec.field(default_factory=VolumeAttachmentSpec)
