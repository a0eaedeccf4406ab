"""Kueue's objects, with the fields that decide what it admits. One Struct reads both versions.

Where v1beta1 says something in another way, properties say it as v1beta2 does. Upstream: apis/kueue/v1beta2 and the
conversions of apis/kueue/v1beta1 in kubernetes-sigs/kueue.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.core import Condition, PodSpec, ResourceList, Taint, Toleration
from kwhatif.api.meta import Base, Int32, Labels, LabelSelector, ObjectMeta, Resource
from kwhatif.api.quantity import Quantity

GROUP = "kueue.x-k8s.io"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS_LABEL = "kueue.x-k8s.io/priority-class"
STOPPED = ("Hold", "HoldAndDrain")


class FairSharing(Base):
    weight: Quantity | None = None


class ResourceFlavorSpec(Base):
    node_labels: Labels | None = None
    node_taints: list[Taint] | None = None
    tolerations: list[Toleration] | None = None
    topology_name: str | None = None


class ResourceFlavor(Resource):
    spec: ResourceFlavorSpec = msgspec.field(default_factory=ResourceFlavorSpec)


class TopologyLevel(Base):
    node_label: str = ""


class TopologySpec(Base):
    levels: list[TopologyLevel] | None = None


class Topology(Resource):
    spec: TopologySpec = msgspec.field(default_factory=TopologySpec)


class WorkloadPriorityClass(Resource):
    value: Int32 = 0


class AdmissionCheckSpec(Base):
    controller_name: str = ""


class AdmissionCheckStatus(Base):
    conditions: list[Condition] | None = None


class AdmissionCheck(Resource):
    spec: AdmissionCheckSpec = msgspec.field(default_factory=AdmissionCheckSpec)
    status: AdmissionCheckStatus = msgspec.field(default_factory=AdmissionCheckStatus)

    @property
    def active(self) -> bool:
        return any(c.type == "Active" and c.status == "True" for c in self.status.conditions or ())


# --- ClusterQueue, Cohort, LocalQueue


class FlavorResourceQuota(Base):
    name: str = ""
    nominal_quota: Quantity | None = None
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(Base):
    name: str = ""
    resources: list[FlavorResourceQuota] | None = None


class ResourceGroup(Base):
    covered_resources: list[str] | None = None
    flavors: list[FlavorQuotas] | None = None


class FlavorFungibility(Base):
    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    preference: str | None = None


class BorrowWithinCohort(Base):
    policy: str | None = None
    max_priority_threshold: Int32 | None = None


class ClusterQueuePreemption(Base):
    reclaim_within_cohort: str | None = None
    borrow_within_cohort: BorrowWithinCohort | None = None
    within_cluster_queue: str | None = None


class AdmissionCheckStrategyRule(Base):
    name: str = ""
    on_flavors: list[str] | None = None


class AdmissionChecksStrategy(Base):
    admission_checks: list[AdmissionCheckStrategyRule] | None = None


class AdmissionScope(Base):
    admission_mode: str | None = None


class ClusterQueueSpec(Base):
    """``cohort`` and ``admission_checks`` are of v1beta1."""

    resource_groups: list[ResourceGroup] | None = None
    cohort_name: str | None = None
    cohort: str | None = None
    queueing_strategy: str | None = None
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility | None = None
    preemption: ClusterQueuePreemption | None = None
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    admission_checks: list[str] | None = None
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None

    @property
    def parent(self) -> str:
        """The cohort's name; empty for none."""
        return self.cohort_name or self.cohort or ""

    @property
    def checks(self) -> dict[str, tuple[str, ...]]:
        """The admission checks, each with the flavors that it is for; empty for all flavors."""
        rules = self.admission_checks_strategy.admission_checks if self.admission_checks_strategy else None
        by_name = {rule.name: tuple(rule.on_flavors or ()) for rule in rules or ()}
        return {**by_name, **dict.fromkeys(self.admission_checks or (), ())}

    @property
    def is_stopped(self) -> bool:
        return self.stop_policy in STOPPED


class ClusterQueue(Resource):
    spec: ClusterQueueSpec = msgspec.field(default_factory=ClusterQueueSpec)


class CohortSpec(Base):
    """``parent`` is of v1alpha1."""

    parent_name: str | None = None
    parent: str | None = None
    resource_groups: list[ResourceGroup] | None = None
    fair_sharing: FairSharing | None = None


class Cohort(Resource):
    spec: CohortSpec = msgspec.field(default_factory=CohortSpec)


class LocalQueueSpec(Base):
    cluster_queue: str = ""
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None

    @property
    def is_stopped(self) -> bool:
        return self.stop_policy in STOPPED


class LocalQueue(Resource):
    spec: LocalQueueSpec = msgspec.field(default_factory=LocalQueueSpec)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


# --- Workload


class SliceConstraint(Base):
    topology: str = ""
    size: Int32 = 0


class PodSetTopologyRequest(Base):
    """What a pod set wants of the topology. ``slice_constraints`` says what the two older fields say, and more."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: Int32 | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: Int32 | None = None
    slice_required_topology_constraints: list[SliceConstraint] | None = msgspec.field(
        default=None, name="podsetSliceRequiredTopologyConstraints"
    )

    @property
    def slice_constraints(self) -> tuple[SliceConstraint, ...]:
        """The layers of slices, the outermost first."""
        if self.slice_required_topology_constraints:
            return tuple(self.slice_required_topology_constraints)
        if self.pod_set_slice_required_topology is None:
            return ()
        return (SliceConstraint(topology=self.pod_set_slice_required_topology, size=self.pod_set_slice_size or 0),)

    @property
    def is_explicit(self) -> bool:
        """Whether it wants anything at all of the topology (upstream: IsExplicitlyRequestingTAS)."""
        return (
            self.required is not None
            or self.preferred is not None
            or self.unconstrained is not None
            or self.pod_set_slice_required_topology is not None
            or self.pod_set_slice_size is not None
            or bool(self.slice_required_topology_constraints)
        )


class WorkloadPodTemplate(Base):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class WorkloadPodSet(Base):
    name: str = "main"
    template: WorkloadPodTemplate = msgspec.field(default_factory=WorkloadPodTemplate)
    count: Int32 = 1
    min_count: Int32 | None = None
    topology_request: PodSetTopologyRequest | None = None

    @property
    def wants_topology(self) -> bool:
        return self.topology_request is not None and self.topology_request.is_explicit


class PriorityClassRef(Base):
    group: str | None = None
    kind: str | None = None
    name: str | None = None


class WorkloadSpec(Base):
    """``priority_class_name`` and ``priority_class_source`` are of v1beta1."""

    pod_sets: list[WorkloadPodSet] | None = None
    queue_name: str | None = None
    priority_class_ref: PriorityClassRef | None = None
    priority_class_name: str | None = None
    priority_class_source: str | None = None
    priority: Int32 | None = None
    active: bool | None = None
    maximum_execution_time_seconds: Int32 | None = None


class IndividualValues(Base):
    prefix: str | None = None
    suffix: str | None = None
    roots: list[str] | None = None


class LevelValues(Base):
    universal: str | None = None
    individual: IndividualValues | None = None


class PodCounts(Base):
    universal: Int32 | None = None
    individual: list[Int32] | None = None


class TopologyAssignmentSlice(Base):
    domain_count: Int32 = 0
    values_per_level: list[LevelValues] | None = None
    pod_counts: PodCounts = msgspec.field(default_factory=PodCounts)


class TopologyDomainAssignment(Base):
    values: list[str] | None = None
    count: Int32 = 0


class TopologyAssignment(Base):
    """``domains`` are of v1beta1; ``slices`` say the same in fewer bytes."""

    levels: list[str] | None = None
    slices: list[TopologyAssignmentSlice] | None = None
    domains: list[TopologyDomainAssignment] | None = None


class PodSetAssignment(Base):
    name: str = "main"
    flavors: Labels | None = None
    resource_usage: ResourceList | None = None
    count: Int32 | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: str | None = None


class Admission(Base):
    cluster_queue: str = ""
    pod_set_assignments: list[PodSetAssignment] | None = None


class AdmissionCheckState(Base):
    name: str = ""
    state: str = ""
    message: str | None = None
    last_transition_time: str | None = None
    requeue_after_seconds: Int32 | None = None


class ReclaimablePod(Base):
    name: str = ""
    count: Int32 = 0


class RequeueState(Base):
    count: Int32 | None = None
    requeue_at: str | None = None


class UnhealthyNode(Base):
    name: str = ""


class WorkloadStatus(Base):
    conditions: list[Condition] | None = None
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: list[ReclaimablePod] | None = None
    admission_checks: list[AdmissionCheckState] | None = None
    unhealthy_nodes: list[UnhealthyNode] | None = None


class KueueWorkload(Resource):
    """Kueue's Workload; the API has another kind of this name."""

    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    status: WorkloadStatus = msgspec.field(default_factory=WorkloadStatus)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"
