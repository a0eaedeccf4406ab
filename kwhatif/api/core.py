"""core/v1: what scheduling reads of Node, Pod, Namespace, Service and ReplicationController."""

from __future__ import annotations

import msgspec

from kwhatif.api.meta import Base, Int32, Int64, Labels, LabelSelector, ObjectMeta, Resource
from kwhatif.api.quantity import Quantity

ResourceList = dict[str, Quantity]


# --- nodes


class Taint(Base):
    key: str = ""
    value: str | None = None
    effect: str = ""
    time_added: str | None = None

    @property
    def text(self) -> str:
        """``key=value:Effect``, as kubectl has it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class NodeSpec(Base):
    unschedulable: bool | None = None
    taints: list[Taint] | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")


class ContainerImage(Base):
    names: list[str] | None = None
    size_bytes: Int64 | None = None


class Condition(Base):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class NodeSystemInfo(Base):
    kubelet_version: str | None = None


class NodeStatus(Base):
    capacity: ResourceList | None = None
    allocatable: ResourceList | None = None
    conditions: list[Condition] | None = None
    images: list[ContainerImage] | None = None
    declared_features: list[str] | None = None
    node_info: NodeSystemInfo | None = None

    @property
    def for_pods(self) -> ResourceList:
        """``allocatable``; where it is left out, the API server makes it the whole capacity."""
        return (self.capacity or {}) if self.allocatable is None else self.allocatable


class Node(Resource):
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)

    @property
    def is_ready(self) -> bool:
        """Whether no condition says otherwise."""
        return all(
            condition.status == "True" for condition in self.status.conditions or () if condition.type == "Ready"
        )


class NodeSelectorRequirement(Base):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class NodeSelectorTerm(Base):
    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None


class NodeSelector(Base):
    node_selector_terms: list[NodeSelectorTerm] | None = None


# --- pods


class PreferredSchedulingTerm(Base):
    weight: Int32 = 0
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(Base):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None


class PodAffinityTerm(Base):
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(Base):
    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = msgspec.field(default_factory=PodAffinityTerm)


class PodAffinity(Base):
    """The shape of both ``podAffinity`` and ``podAntiAffinity``."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None


class Affinity(Base):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Base):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class TopologySpreadConstraint(Base):
    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class ResourceClaimOfContainer(Base):
    name: str = ""
    request: str | None = None


class ResourceRequirements(Base):
    requests: ResourceList | None = None
    limits: ResourceList | None = None
    claims: list[ResourceClaimOfContainer] | None = None


class ContainerPort(Base):
    name: str | None = None
    container_port: Int32 | None = None
    host_port: Int32 | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = None


class ContainerRestartRule(Base):
    action: str | None = None


class SeccompProfileSource(Base):
    """Where the rules for system calls come from; ``localhost_profile`` is a path."""

    type: str = ""
    localhost_profile: str | None = None


class SecurityContext(Base):
    """What is read of a pod's and of a container's."""

    seccomp_profile: SeccompProfileSource | None = None


class Container(Base):
    name: str = ""
    image: str | None = None
    resources: ResourceRequirements | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] | None = None
    security_context: SecurityContext | None = None


class PersistentVolumeClaimSource(Base):
    claim_name: str = ""
    read_only: bool | None = None


class DiskSource(Base):
    """GCE persistent disk, EBS and Azure disk: a name, spelt in several ways, and a read-only flag."""

    pd_name: str | None = None
    volume_id: str | None = msgspec.field(default=None, name="volumeID")
    disk_name: str | None = None
    disk_uri: str | None = msgspec.field(default=None, name="diskURI")
    partition: Int32 | None = None
    read_only: bool | None = None


class ISCSISource(Base):
    target_portal: str | None = None
    iqn: str | None = None
    lun: Int32 | None = None
    read_only: bool | None = None


class RBDSource(Base):
    monitors: list[str] | None = None
    image: str | None = None
    pool: str | None = None
    read_only: bool | None = None


class CSIVolumeSource(Base):
    driver: str = ""
    volume_handle: str | None = None
    read_only: bool | None = None


class ImageVolumeSource(Base):
    reference: str | None = None


class ClaimResources(Base):
    requests: ResourceList | None = None


class PersistentVolumeClaimSpec(Base):
    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    resources: ClaimResources | None = None
    volume_name: str | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Base):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)


class EphemeralVolumeSource(Base):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class EmptyDirSource(Base):
    medium: str | None = None


class HostPathSource(Base):
    """That a volume is one is all that is read of it."""


class Volume(Base):
    name: str = ""
    empty_dir: EmptyDirSource | None = None
    host_path: HostPathSource | None = None
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: DiskSource | None = None
    aws_elastic_block_store: DiskSource | None = None
    azure_disk: DiskSource | None = None
    cinder: DiskSource | None = None
    iscsi: ISCSISource | None = None
    rbd: RBDSource | None = None


class PodSchedulingGate(Base):
    name: str = ""


class PodResourceClaim(Base):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Base):
    pod_group_name: str | None = None


class PodSpec(Base):
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: Int32 | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    node_selector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: ResourceRequirements | None = None
    overhead: ResourceList | None = None
    runtime_class_name: str | None = None
    scheduling_gates: list[PodSchedulingGate] | None = None
    resource_claims: list[PodResourceClaim] | None = None
    scheduling_group: PodSchedulingGroup | None = None
    volumes: list[Volume] | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    security_context: SecurityContext | None = None
    termination_grace_period_seconds: Int64 | None = None


class ContainerResizeStatus(Base):
    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ContainerStateWaiting(Base):
    reason: str | None = None


class ContainerStateTerminated(Base):
    reason: str | None = None
    exit_code: Int32 | None = None


class ContainerState(Base):
    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Base):
    name: str = ""
    resources: ContainerResizeStatus | None = None
    allocated_resources: ResourceList | None = None
    restart_count: Int32 | None = None
    state: ContainerState | None = None


class PodResourceClaimStatus(Base):
    name: str = ""
    resource_claim_name: str | None = None


class ExtendedResourceRequest(Base):
    """Which request of the claim behind a pod's extended resources a container's resource comes from."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedResourceClaimStatus(Base):
    request_mappings: list[ExtendedResourceRequest] | None = None
    resource_claim_name: str = ""


class PodStatus(Base):
    phase: str | None = None
    reason: str | None = None
    qos_class: str | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    ephemeral_container_statuses: list[ContainerStatus] | None = None
    resize: str | None = None
    resources: ContainerResizeStatus | None = None
    allocated_resources: ResourceList | None = None
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None


FINISHED = ("Succeeded", "Failed")
"""Phases of pods that have ended for good."""


class Pod(Resource):
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def is_finished(self) -> bool:
        """Whether it has ended for good: it takes no room, and its node has nothing more to do with it."""
        return self.status.phase in FINISHED

    @property
    def is_mirror(self) -> bool:
        """Whether it only shows a static pod, which a kubelet runs of its own accord."""
        return "kubernetes.io/config.mirror" in (self.metadata.annotations or {})

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


# --- what selects pods


class Namespace(Resource):
    pass


class ServiceSpec(Base):
    selector: Labels | None = None


class Service(Resource):
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)


class ReplicationControllerSpec(Base):
    replicas: Int32 | None = None
    selector: Labels | None = None


class ReplicationController(Resource):
    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)
