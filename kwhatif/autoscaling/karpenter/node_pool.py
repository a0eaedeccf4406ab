"""What NodePools ask of the machines that are bought for them.

Upstream: pkg/apis/v1/nodepool.go, nodeclaimtemplate.go in pkg/controllers/provisioning/scheduling.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kwhatif.api.meta import Labels
from kwhatif.api.node_pools import NodePool
from kwhatif.autoscaling.karpenter.known_labels import NODE_POOL
from kwhatif.autoscaling.karpenter.requirement import Requirement
from kwhatif.autoscaling.karpenter.requirements import NONE, Requirements, both, of_labels


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
