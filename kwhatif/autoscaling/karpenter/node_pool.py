"""NodePools: what machines may be bought, and how they may be given back.

Upstream: pkg/apis/v1/nodepool.go, nodeclaimtemplate.go in pkg/controllers/provisioning/scheduling.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec

from kwhatif.api.core import Condition, ResourceList, Taint
from kwhatif.api.meta import Base, Labels, Resource
from kwhatif.autoscaling.karpenter.known_labels import NODE_POOL
from kwhatif.autoscaling.karpenter.requirement import Requirement
from kwhatif.autoscaling.karpenter.requirements import NONE, Requirements, both, of_labels


class PoolRequirement(Base):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None
    min_values: int | None = None


class NodeClassRef(Base):
    group: str = ""
    kind: str = ""
    name: str = ""


class TemplateMetadata(Base):
    labels: Labels | None = None
    annotations: Labels | None = None


class TemplateSpec(Base):
    node_class_ref: NodeClassRef = msgspec.field(default_factory=NodeClassRef)
    requirements: list[PoolRequirement] | None = None
    taints: list[Taint] | None = None
    startup_taints: list[Taint] | None = None
    expire_after: str | None = None


class Template(Base):
    metadata: TemplateMetadata = msgspec.field(default_factory=TemplateMetadata)
    spec: TemplateSpec = msgspec.field(default_factory=TemplateSpec)


class Budget(Base):
    """How many nodes may be disrupted at once, for which reasons and when."""

    nodes: str | int = "10%"
    reasons: list[str] | None = None
    schedule: str | None = None
    duration: str | None = None


class Disruption(Base):
    consolidation_policy: str = "WhenEmptyOrUnderutilized"
    consolidate_after: str | None = None
    budgets: list[Budget] | None = None


class NodePoolSpec(Base):
    template: Template = msgspec.field(default_factory=Template)
    disruption: Disruption = msgspec.field(default_factory=Disruption)
    limits: ResourceList | None = None
    weight: int | None = None
    replicas: int | None = None


class NodePoolStatus(Base):
    conditions: list[Condition] | None = None


class NodePool(Resource):
    spec: NodePoolSpec = msgspec.field(default_factory=NodePoolSpec)
    status: NodePoolStatus = msgspec.field(default_factory=NodePoolStatus)

    @property
    def takes_part(self) -> bool:
        """Whether machines are bought for pods: it is ready, stays, and is not of a fixed size."""
        ready = any(each.type == "Ready" and each.status == "True" for each in self.status.conditions or ())
        return ready and self.spec.replicas is None and self.metadata.deletion_timestamp is None

    @property
    def taints(self) -> list[Taint]:
        return self.spec.template.spec.taints or []


@dataclass(frozen=True)
class NodeClaimTemplate:
    """What every new NodeClaim of a NodePool begins as."""

    pool: NodePool

    @property
    def name(self) -> str:
        return self.pool.name

    @cached_property
    def labels(self) -> Labels:
        reference = self.pool.spec.template.spec.node_class_ref
        return {
            **(self.pool.spec.template.metadata.labels or {}),
            NODE_POOL: self.pool.name,
            f"{reference.group}/{reference.kind.lower()}": reference.name,
        }

    @cached_property
    def requirements(self) -> Requirements:
        return both(pool_requirements(self.pool), *of_labels(self.labels).values())


def pool_requirements(pool: NodePool) -> Requirements:
    """What the pool asks of its machines, without their labels."""
    asked = pool.spec.template.spec.requirements or ()
    return both(NONE, *(Requirement.of(each.key, each.operator, each.values or (), each.min_values) for each in asked))


def by_weight(pools: list[NodePool]) -> list[NodePool]:
    """The heaviest first; of equal weight, the later in the alphabet."""
    ordered = sorted(pools, key=lambda pool: pool.name, reverse=True)
    return sorted(ordered, key=lambda pool: -(pool.spec.weight or 0))
