"""Which pods a round is for, and the round itself.

Upstream: pkg/controllers/provisioning/provisioner.go, pkg/utils/pod/scheduling.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kwhatif.api.core import NodeSelectorRequirement, NodeSelectorTerm, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.label_text import is_label_key, is_label_value
from kwhatif.api.node_pools import NodePool
from kwhatif.autoscaling.karpenter.catalogue import Catalogue
from kwhatif.autoscaling.karpenter.daemon_overhead import daemon_pods
from kwhatif.autoscaling.karpenter.disruptability import PodBudgets
from kwhatif.autoscaling.karpenter.known_labels import (
    CAPACITY_TYPE,
    CAPACITY_TYPES,
    NODE_POOL,
    NORMALIZED,
    WellKnown,
)
from kwhatif.autoscaling.karpenter.scheduler import Offer, Round, Scheduler, Settings
from kwhatif.autoscaling.karpenter.state import ClusterState, StateNode, is_owned_by
from kwhatif.autoscaling.karpenter.volume_topology import Volumes
from kwhatif.autoscaling.karpenter.wants import Wants

_NOT_FOR_KARPENTER = f"configured to not run on a Karpenter provisioned node (requirement={NODE_POOL} DoesNotExist)"


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
        """NodePools that take part, with what the cloud offers to them."""
        return [Offer(pool, self.catalogue.rows(self.offered.get(pool.name))) for pool in self.pools if pool.takes_part]


@dataclass(frozen=True)
class Provisioning:
    """A round, and the pods that it is not for."""

    round: Round
    ignored: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_pending: Sequence[str] = ()


def is_provisionable(pod: Pod) -> bool:
    """Whether a machine is bought for the pod: the scheduler found none, and no node is kept for it."""
    unschedulable = any(
        each.type == "PodScheduled" and each.reason == "Unschedulable" for each in pod.status.conditions or ()
    )
    return (
        unschedulable
        and not pod.spec.node_name
        and not pod.status.nominated_node_name
        and not is_owned_by(pod, "DaemonSet")
        and not is_owned_by(pod, "Node")
    )


def pending_pods(world: KarpenterWorld) -> list[Pod]:
    """The pods that machines are bought for, by namespace and name."""
    return [pod for pod in _by_name(world.pending) if is_provisionable(pod) and not refusals(pod, world)]


def pods_of(world: KarpenterWorld, nodes: Sequence[StateNode]) -> list[Pod]:
    """The pods of nodes that are going, as far as another place is sought for them."""
    return [
        pod
        for node in nodes
        if node.node is not None
        for pod in world.cluster.pods_on(node.node.name)
        if world.pod_budgets.is_reschedulable_now(pod)
    ]


def provision(world: KarpenterWorld) -> Provisioning:
    """One round for all pending pods, and for those whose nodes are going."""
    looked_at = [pod for pod in _by_name(world.pending) if is_provisionable(pod)]
    refused = {_key(pod): found for pod in looked_at if (found := refusals(pod, world))}
    pods = [pod for pod in looked_at if _key(pod) not in refused]
    pods += pods_of(world, [node for node in world.cluster.nodes if node.deleting])
    staying = [node for node in world.cluster.nodes if not node.deleting]
    return Provisioning(
        simulated(world, staying, pods, strict=True) if pods else Round(),
        refused,
        [_key(pod) for pod in _by_name(world.pending) if not is_provisionable(pod)],
    )


def _by_name(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (pod.namespace, pod.name))


def simulated(world: KarpenterWorld, nodes: Sequence[StateNode], pods: Sequence[Pod], *, strict: bool) -> Round:
    """A round on these nodes. Without a NodePool that takes part nothing happens at all."""
    if not world.offers:
        return Round()
    return Scheduler(
        world.cluster, nodes, world.offers, world.catalogue, world.daemons, pods, world.settings, strict=strict
    ).solve()


def _key(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"


# --- pods that are not looked at


def refusals(pod: Pod, world: KarpenterWorld) -> list[str]:
    """Why a pod is refused before it is scheduled: for the labels it asks for, or its claims."""
    wants, known = Wants.of(pod), world.catalogue.known
    there = wants.requirements.get(NODE_POOL)
    avoids = [_NOT_FOR_KARPENTER] if there is not None and there.operator == "DoesNotExist" else []
    selector = [
        NodeSelectorRequirement(key=key, operator="In", values=[value])
        for key, value in sorted((pod.spec.node_selector or {}).items())
    ]
    asked = [*(error for each in selector for error in _wrong(each, known)), *_wrong_terms(wants.required, known)]
    return [*avoids, *asked, *world.cluster.volumes.refusals(pod)]


def _wrong_terms(terms: Iterable[NodeSelectorTerm], known: WellKnown) -> Iterable[str]:
    for term in terms:
        if term.match_fields is not None:
            yield "node selector term with matchFields is not supported"
        for each in term.match_expressions or ():
            yield from _wrong(each, known)


def _wrong(requirement: NodeSelectorRequirement, known: WellKnown) -> Iterable[str]:
    key, values = NORMALIZED.get(requirement.key, requirement.key), requirement.values or []
    refused = known.refusal(key)
    if refused:
        yield refused
    if key == CAPACITY_TYPE and requirement.operator == "In" and not set(values) & set(CAPACITY_TYPES):
        types = " ".join(sorted(CAPACITY_TYPES))
        yield f"no valid values found in [{' '.join(values)}] for {key}, expected one of: [{types}]"
    if not is_label_key(key):
        yield f"key {key} is not a qualified name, it is not a label"
    for value in values:
        if not is_label_value(value):
            yield f"invalid value {value} for key {key}, it is not a label's"
    if requirement.operator == "In" and not values:
        yield f"key {key} with operator In must have a value defined"
    if requirement.operator in ("Gt", "Lt") and not (len(values) == 1 and values[0].isdigit()):
        yield f"key {key} with operator {requirement.operator} must have a single positive integer value"
