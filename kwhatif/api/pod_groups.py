"""PodGroup and Workload of ``scheduling.k8s.io/v1alpha2``: pods that are scheduled together.

Upstream: staging/src/k8s.io/api/scheduling/v1alpha2/types.go.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.core import Condition
from kwhatif.api.meta import Base, Int32, Int64, ObjectMeta, Resource

GROUP = "scheduling.k8s.io"
DISRUPTION_MODE_POD_GROUP = "PodGroup"
POD_GROUP_SCHEDULED = "PodGroupScheduled"
"""The type of the condition that tells whether the group got its nodes."""


class GangPolicy(Base):
    min_count: Int32 = 0


class BasicPolicy(Base):
    pass


class SchedulingPolicy(Base):
    """Exactly one of the two is set."""

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Base):
    key: str = ""


class SchedulingConstraints(Base):
    topology: list[TopologyConstraint] | None = None


class PodGroupResourceClaim(Base):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupSpec(Base):
    scheduling_policy: SchedulingPolicy = msgspec.field(default_factory=SchedulingPolicy)
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: list[PodGroupResourceClaim] | None = None
    disruption_mode: str | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None


class PodGroupClaimStatus(Base):
    name: str = ""
    resource_claim_name: str | None = None


class PodGroupCondition(Condition):
    observed_generation: Int64 | None = None


class PodGroupMeta(ObjectMeta):
    generation: Int64 | None = None


class PodGroupStatus(Base):
    conditions: list[PodGroupCondition] | None = None
    resource_claim_statuses: list[PodGroupClaimStatus] | None = None


class PodGroup(Resource):
    metadata: PodGroupMeta = msgspec.field(default_factory=PodGroupMeta)
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)

    @property
    def priority(self) -> int:
        """The priority for preemption by the whole group; the pods' own priorities may differ."""
        return self.spec.priority or 0

    @property
    def min_count(self) -> int | None:
        """How many members must find a node before any of them runs; None under the basic policy."""
        gang = self.spec.scheduling_policy.gang
        return None if gang is None else gang.min_count

    @property
    def topology_key(self) -> str | None:
        """The label whose value all members' nodes have in common. The API allows one constraint at most."""
        constraints = self.spec.scheduling_constraints
        topology = constraints.topology if constraints is not None else None
        return topology[0].key if topology else None
