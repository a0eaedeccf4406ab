"""Objects of node autoscalers: Karpenter's NodePools, NodeClaims and AWS node classes, and the objects of Cluster API
that cluster-autoscaler reads. OpenShift's Machine API (``machine.openshift.io``) serves two of the latter in the same
form.

Upstream: pkg/apis/v1 of kubernetes-sigs/karpenter, and of aws/karpenter-provider-aws;
cluster-autoscaler/cloudprovider/clusterapi, and cloudprovider/openshift of openshift/kubernetes-autoscaler.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.core import Condition, ResourceList, Taint
from kwhatif.api.meta import Base, Int32, Int64, Labels, Resource
from kwhatif.api.quantity import Quantity


class PoolRequirement(Base):
    """What a label of a machine has to be; ``min_values`` is how many of its values must be left to choose from."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None
    min_values: Int64 | None = None


class NodeClassRef(Base):
    group: str = ""
    kind: str = ""
    name: str = ""


class NodeClaimMetadata(Base):
    labels: Labels | None = None
    annotations: Labels | None = None


class NodeClaimSpec(Base):
    """The spec of a machine, or of all machines of a NodePool."""

    node_class_ref: NodeClassRef = msgspec.field(default_factory=NodeClassRef)
    requirements: list[PoolRequirement] | None = None
    taints: list[Taint] | None = None
    startup_taints: list[Taint] | None = None
    expire_after: str | None = None


class NodeClaimTemplateSpec(Base):
    metadata: NodeClaimMetadata = msgspec.field(default_factory=NodeClaimMetadata)
    spec: NodeClaimSpec = msgspec.field(default_factory=NodeClaimSpec)


class DisruptionBudget(Base):
    """How many nodes may be disrupted at once, for which reasons and when."""

    nodes: str | int = "10%"
    reasons: list[str] | None = None
    schedule: str | None = None
    duration: str | None = None


class Disruption(Base):
    consolidation_policy: str = "WhenEmptyOrUnderutilized"
    consolidate_after: str | None = None
    budgets: list[DisruptionBudget] | None = None


class NodePoolSpec(Base):
    template: NodeClaimTemplateSpec = msgspec.field(default_factory=NodeClaimTemplateSpec)
    disruption: Disruption = msgspec.field(default_factory=Disruption)
    limits: ResourceList | None = None
    weight: Int32 | None = None
    replicas: Int64 | None = None


class NodePoolStatus(Base):
    conditions: list[Condition] | None = None


class NodePool(Resource):
    spec: NodePoolSpec = msgspec.field(default_factory=NodePoolSpec)
    status: NodePoolStatus = msgspec.field(default_factory=NodePoolStatus)

    @property
    def takes_part(self) -> bool:
        """Whether machines are bought for pods: it is ready, not being deleted, and not of a fixed size."""
        ready = any(
            condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions or ()
        )
        return ready and self.spec.replicas is None and self.metadata.deletion_timestamp is None

    @property
    def taints(self) -> list[Taint]:
        return self.spec.template.spec.taints or []


class NodeClaimStatus(Base):
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    capacity: ResourceList | None = None
    allocatable: ResourceList | None = None
    conditions: list[Condition] | None = None
    last_pod_event_time: str | None = None


class NodeClaim(Resource):
    """A machine that Karpenter bought."""

    spec: NodeClaimSpec = msgspec.field(default_factory=NodeClaimSpec)
    status: NodeClaimStatus = msgspec.field(default_factory=NodeClaimStatus)


class KubeletSettings(Base):
    """What the kubelet keeps for itself. Thresholds are amounts or percentages of what there is."""

    max_pods: Int32 | None = None
    pods_per_core: Int32 | None = None
    system_reserved: ResourceList | None = None
    kube_reserved: ResourceList | None = None
    eviction_hard: dict[str, str] | None = None
    eviction_soft: dict[str, str] | None = None


class AMISelectorTerm(Base):
    """``alias`` is a family of images with its version: ``al2023@latest``."""

    alias: str | None = None


class EBSVolume(Base):
    volume_size: Quantity | None = None


class BlockDeviceMapping(Base):
    """A disk of a machine; the root volume, or the device that pods use, has their room."""

    device_name: str | None = None
    root_volume: bool | None = None
    ebs: EBSVolume = msgspec.field(default_factory=EBSVolume)


class NetworkInterface(Base):
    """An interface of a machine: ``interface``, or ``efa-only``, which has no addresses for pods."""

    network_card_index: Int32 = 0
    device_index: Int32 = 0
    interface_type: str | None = None


class EC2NodeClassSpec(Base):
    ami_family: str | None = None
    ami_selector_terms: list[AMISelectorTerm] | None = None
    kubelet: KubeletSettings | None = None
    block_device_mappings: list[BlockDeviceMapping] | None = None
    instance_store_policy: str | None = None
    network_interfaces: list[NetworkInterface] | None = None


class Subnet(Base):
    """The zone of a subnet, by its name and by its id."""

    zone: str | None = None
    zone_id: str | None = msgspec.field(default=None, name="zoneID")


class EC2NodeClassStatus(Base):
    subnets: list[Subnet] | None = None


class EC2NodeClass(Resource):
    """What machines on AWS are made from, as far as it decides what they leave for pods."""

    spec: EC2NodeClassSpec = msgspec.field(default_factory=EC2NodeClassSpec)
    status: EC2NodeClassStatus = msgspec.field(default_factory=EC2NodeClassStatus)


OWN_GROUPS = ("cluster.x-k8s.io", "machine.openshift.io")
"""The groups whose annotations say how large a group of machines may be."""

SIZES = tuple(f"{group}/cluster-api-autoscaler-node-group-{end}-size" for end in ("min", "max") for group in OWN_GROUPS)
OPTIONS = {
    f"{group}/autoscaling-options-{option.replace('-', '')}": option
    for option in (
        *("scale-down-utilization-threshold", "scale-down-gpu-utilization-threshold"),
        *("scale-down-unneeded-time", "scale-down-unready-time"),
        *("max-node-provision-time", "max-node-startup-time"),
    )
    for group in OWN_GROUPS
}
"""Annotation -> the flag that it has another value for, in one group."""

_OF_ZERO = "capacity.cluster-autoscaler.kubernetes.io"
CPU, MEMORY, DISK, GPUS, GPU_TYPE, MAX_PODS, LABELS, TAINTS = (
    f"{_OF_ZERO}/{what}"
    for what in ("cpu", "memory", "ephemeral-disk", "gpu-count", "gpu-type", "maxPods", "labels", "taints")
)
"""What a machine would have that is not there yet."""

OLD_CPU, OLD_MEMORY, OLD_GPUS, OLD_MAX_PODS = (
    f"machine.openshift.io/{what}" for what in ("vCPU", "memoryMb", "GPU", "maxPods")
)
"""The same as OpenShift once had it, memory in MiB."""


class MachineMetadata(Base):
    labels: Labels | None = None


class MachineSpec(Base):
    """Fields of the nodes to come."""

    metadata: MachineMetadata = msgspec.field(default_factory=MachineMetadata)
    taints: list[Taint] | None = None


class MachineTemplate(Base):
    spec: MachineSpec = msgspec.field(default_factory=MachineSpec)


class ScalableSpec(Base):
    replicas: Int32 | None = None
    template: MachineTemplate = msgspec.field(default_factory=MachineTemplate)


class NodeRef(Base):
    """The node that a machine has become."""

    name: str | None = None


class ScalableStatus(Base):
    """``node_refs`` are those of a pool, which has no Machines."""

    node_refs: list[NodeRef] | None = None


class Scalable(Resource):
    """An object that makes machines, as many as ``replicas``."""

    spec: ScalableSpec = msgspec.field(default_factory=ScalableSpec)
    status: ScalableStatus = msgspec.field(default_factory=ScalableStatus)


class MachineSet(Scalable):
    pass


class MachineDeployment(Scalable):
    pass


class MachinePool(Scalable):
    pass


class MachineStatus(Base):
    node_ref: NodeRef | None = None


class Machine(Resource):
    status: MachineStatus = msgspec.field(default_factory=MachineStatus)


FORKED = (Machine, MachineSet)
"""The kinds that OpenShift serves, too."""
