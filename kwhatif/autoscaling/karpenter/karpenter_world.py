"""A moment of a cluster as Karpenter sees it, and what follows from it alone, whatever is simulated in it.

Upstream: pkg/controllers/provisioning/provisioner.go, pkg/controllers/state/cluster.go.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kwhatif.api.core import Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.node_pools import NodePool
from kwhatif.autoscaling.karpenter.catalogue import Catalogue, Types
from kwhatif.autoscaling.karpenter.daemon_overhead import daemon_pods
from kwhatif.autoscaling.karpenter.disruptability import PodBudgets
from kwhatif.autoscaling.karpenter.map_order import MapOrder
from kwhatif.autoscaling.karpenter.node_pool import by_weight, pool_requirements
from kwhatif.autoscaling.karpenter.pending_pods import is_provisionable, refusals
from kwhatif.autoscaling.karpenter.requirements import both, of_labels
from kwhatif.autoscaling.karpenter.state import ClusterState, StateNode
from kwhatif.autoscaling.karpenter.topology_group import Domains
from kwhatif.autoscaling.karpenter.volume_topology import Volumes
from kwhatif.autoscaling.karpenter.wants import Wants


@dataclass(frozen=True)
class Settings:
    """How Karpenter was started, as far as it matters here."""

    ignores_preferences: bool = False
    best_effort_minimum: bool = False
    reserved_capacity: bool = True
    spot_to_spot: bool = False
    volume_places_known: bool = True


@dataclass(frozen=True)
class Offer:
    """What a cloud offers to a NodePool."""

    pool: NodePool
    types: Types


@dataclass(frozen=True)
class KarpenterWorld:
    """A moment of a cluster. ``pending`` are pods without a node; ``offered`` names the types of NodePools that are not
    offered the whole catalogue. DaemonSets and PodDisruptionBudgets are plain values; ``now`` counts nanoseconds."""

    now: int
    objects: Objects
    pending: Sequence[Pod]
    pools: Sequence[NodePool]
    catalogue: Catalogue
    offered: Mapping[str, Sequence[str]]
    settings: Settings
    daemon_sets: Sequence[Mapping[str, Any]] = ()
    budgets: Sequence[Mapping[str, Any]] = ()
    order: MapOrder = field(default_factory=MapOrder)

    def in_another_order(self, order: MapOrder) -> KarpenterWorld:
        """The same moment, with chance falling otherwise. What follows from the cluster alone is shared."""
        other = copy.copy(self)
        object.__setattr__(other, "order", order)
        return other

    @cached_property
    def cluster(self) -> ClusterState:
        return ClusterState(self.objects, Volumes(self.objects, places_known=self.settings.volume_places_known))

    @cached_property
    def pod_budgets(self) -> PodBudgets:
        return PodBudgets(self.budgets, self.now)

    @cached_property
    def daemons(self) -> list[Wants]:
        return daemon_pods(self.daemon_sets, self.objects.of(Pod))

    @cached_property
    def offers(self) -> list[Offer]:
        """NodePools that take part, the heaviest first, with what the cloud offers to them."""
        pools = by_weight([pool for pool in self.pools if pool.takes_part])
        return [Offer(pool, self.catalogue.rows(self.offered.get(pool.name))) for pool in pools]

    @cached_property
    def domains(self) -> Domains:
        """The domains of each label that machines of the NodePools may have."""
        found = Domains()
        for offer in self.offers:
            _add_domains(found, offer, self.catalogue)
        return found

    @cached_property
    def asked(self) -> list[Pod]:
        """The pods that found no node and that a machine may be bought for, by namespace and name."""
        return [pod for pod in _by_name(self.pending) if is_provisionable(pod)]

    @cached_property
    def refused(self) -> dict[str, list[str]]:
        """Those of them that are not scheduled at all, with the reasons."""
        found = {pod.key: refusals(pod, self.catalogue.known, self.cluster.volumes) for pod in self.asked}
        return {pod: reasons for pod, reasons in found.items() if reasons}

    @cached_property
    def not_asked(self) -> list[str]:
        """The pods without a node that no machine is bought for."""
        return [pod.key for pod in _by_name(self.pending) if not is_provisionable(pod)]

    @cached_property
    def waiting(self) -> list[Pod]:
        """The pods that machines are bought for."""
        return [pod for pod in self.asked if pod.key not in self.refused]

    @cached_property
    def staying(self) -> list[StateNode]:
        return [node for node in self.cluster.nodes if not node.deleting]

    @cached_property
    def leaving(self) -> list[Pod]:
        """The pods of nodes that are going, as far as another place is sought for them."""
        return [
            pod
            for node in self.cluster.nodes
            if node.deleting and node.node is not None
            for pod in self.cluster.pods_on(node.node.name)
            if self.pod_budgets.is_reschedulable_now(pod)
        ]


def _by_name(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (pod.namespace, pod.name))


def _add_domains(found: Domains, offer: Offer, catalogue: Catalogue) -> None:
    pool = offer.pool
    if not len(offer.types):
        return
    asked = both(pool_requirements(pool), *of_labels(pool.spec.template.metadata.labels).values())
    for row in offer.types:
        for key, requirement in both(asked, *catalogue.types[row].requirements.values()).items():
            for value in requirement.values:
                found.add(key, value, pool.taints)
    for key, requirement in asked.items():
        if requirement.operator == "In":
            for value in requirement.values:
                found.add(key, value, pool.taints)
