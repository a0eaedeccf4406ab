"""Custom resources of kubernetes-sigs/scheduler-plugins, with only the fields that its plugins read.

Upstream: apis/scheduling/v1alpha1 of scheduler-plugins, noderesourcetopology-api, appgroup-api, networktopology-api and
security-profiles-operator.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.core import ResourceList
from kwhatif.api.meta import Base, Int32, Int64, Resource
from kwhatif.api.quantity import Quantity

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
APP_GROUP_LABEL = "appgroup.diktyo.x-k8s.io"
WORKLOAD_LABEL = "appgroup.diktyo.x-k8s.io.workload"


# --- scheduling.x-k8s.io/v1alpha1


class CoschedulingPodGroupSpec(Base):
    min_member: Int32 = 0
    min_resources: ResourceList | None = None
    schedule_timeout_seconds: Int32 | None = None


class CoschedulingPodGroup(Resource):
    """A PodGroup of Coscheduling, which has the name, but not the group, of Kubernetes' own."""

    spec: CoschedulingPodGroupSpec = msgspec.field(default_factory=CoschedulingPodGroupSpec)


class ElasticQuotaSpec(Base):
    min: ResourceList | None = None
    max: ResourceList | None = None


class ElasticQuota(Resource):
    spec: ElasticQuotaSpec = msgspec.field(default_factory=ElasticQuotaSpec)


# --- topology.node.k8s.io/v1alpha2


class ZoneCost(Base):
    name: str = ""
    value: Int64 = 0


class ZoneResource(Base):
    name: str = ""
    capacity: Quantity | None = None
    allocatable: Quantity | None = None
    available: Quantity | None = None

    @property
    def available_thousandths(self) -> int:
        """None at all where it is left out."""
        return 0 if self.available is None else self.available.milli_value()


class TopologyAttribute(Base):
    name: str = ""
    value: str = ""


class TopologyZone(Base):
    """A part of a node: of type ``Node`` a NUMA cell, whose name ends with its number."""

    name: str = ""
    type: str = ""
    costs: list[ZoneCost] | None = None
    resources: list[ZoneResource] | None = None


class NodeResourceTopology(Resource):
    """What a node's cells have; it has the node's name."""

    topology_policies: list[str] | None = None
    attributes: list[TopologyAttribute] | None = None
    zones: list[TopologyZone] | None = None


# --- appgroup.diktyo.x-k8s.io/v1alpha1


class AppGroupWorkloadInfo(Base):
    kind: str | None = None
    name: str | None = None
    selector: str = ""
    namespace: str | None = None


class AppGroupDependency(Base):
    workload: AppGroupWorkloadInfo = msgspec.field(default_factory=AppGroupWorkloadInfo)
    min_bandwidth: Quantity | None = None
    max_network_cost: Int64 = 0


class AppGroupWorkload(Base):
    workload: AppGroupWorkloadInfo = msgspec.field(default_factory=AppGroupWorkloadInfo)
    dependencies: list[AppGroupDependency] | None = None


class AppGroupSpec(Base):
    num_members: Int32 | None = None
    topology_sorting_algorithm: str | None = None
    workloads: list[AppGroupWorkload] | None = None


class AppGroupTopology(Base):
    workload: AppGroupWorkloadInfo = msgspec.field(default_factory=AppGroupWorkloadInfo)
    index: Int32 = 0


class AppGroupStatus(Base):
    topology_order: list[AppGroupTopology] | None = None


class AppGroup(Resource):
    spec: AppGroupSpec = msgspec.field(default_factory=AppGroupSpec)
    status: AppGroupStatus = msgspec.field(default_factory=AppGroupStatus)


# --- networktopology.diktyo.x-k8s.io/v1alpha1


class DestinationCost(Base):
    destination: str = ""
    network_cost: Int64 = 0


class OriginCosts(Base):
    origin: str = ""
    cost_list: list[DestinationCost] | None = None


class TopologyCosts(Base):
    topology_key: str = ""
    origin_list: list[OriginCosts] | None = None


class TopologyWeights(Base):
    name: str = ""
    topology_list: list[TopologyCosts] | None = None


class NetworkTopologySpec(Base):
    weights: list[TopologyWeights] | None = None


class NetworkTopology(Resource):
    spec: NetworkTopologySpec = msgspec.field(default_factory=NetworkTopologySpec)


# --- security-profiles-operator.x-k8s.io/v1beta1


class Syscalls(Base):
    names: list[str] | None = None
    action: str = ""


class SeccompProfileSpec(Base):
    syscalls: list[Syscalls] | None = None


class SeccompProfile(Resource):
    spec: SeccompProfileSpec = msgspec.field(default_factory=SeccompProfileSpec)
