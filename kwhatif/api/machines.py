"""Cluster API's objects as far as cluster-autoscaler reads them: what makes machines, and the machines.

OpenShift's Machine API (``machine.openshift.io``) serves two of the kinds in the same form.
Upstream: cluster-autoscaler/cloudprovider/clusterapi, and cloudprovider/openshift of openshift/kubernetes-autoscaler.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.core import Taint
from kwhatif.api.meta import Base, Int32, Labels, Resource

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
    """What is said of the nodes to come."""

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
    """Whatever makes machines, as many as ``replicas``."""

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
