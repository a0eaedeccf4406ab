"""The state of a cluster as Karpenter reads it, and everything that follows from it alone: provisionable pods, pods
that are refused before scheduling, daemon pods, and offers of the NodePools.

Upstream: pkg/controllers/provisioning/provisioner.go (also getDaemonSetPods), pkg/controllers/state/cluster.go,
pkg/utils/pod/scheduling.go, pkg/utils/daemonset.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import (
    Container,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.node_provisioning import NodePool
from kwhatif.api.objects import part_of, section
from kwhatif.api.selectors import is_label_key, is_label_value
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.autoscaling.karpenter.catalogue import Catalogue, KarpenterOptions, Types
from kwhatif.autoscaling.karpenter.map_order import MapOrder
from kwhatif.autoscaling.karpenter.node_pool import by_weight, pool_requirements
from kwhatif.autoscaling.karpenter.pod_data import PodData
from kwhatif.autoscaling.karpenter.requirements import (
    CAPACITY_TYPE,
    CAPACITY_TYPES,
    NODE_POOL,
    NORMALIZED_LABELS,
    WellKnown,
    merge_requirements,
    of_labels,
)
from kwhatif.autoscaling.karpenter.state import ClusterState, PodBudgets, StateNode, is_owned_by
from kwhatif.autoscaling.karpenter.topology_group import Domains
from kwhatif.autoscaling.karpenter.volume_topology import Volumes
from kwhatif.cluster.unbound_spec import with_required_nodes

_NOT_FOR_KARPENTER = f"configured to not run on a Karpenter provisioned node (requirement={NODE_POOL} DoesNotExist)"


def is_provisionable(pod: Pod) -> bool:
    """Whether a machine is launched for the pod: the scheduler found it unschedulable, and it has no nominated node."""
    unschedulable = any(
        condition.type == "PodScheduled" and condition.reason == "Unschedulable"
        for condition in pod.status.conditions or ()
    )
    return (
        unschedulable
        and not pod.spec.node_name
        and not pod.status.nominated_node_name
        and not is_owned_by(pod, "DaemonSet")
        and not is_owned_by(pod, "Node")
    )


def refusals(pod: Pod, well_known: WellKnown, volumes: Volumes) -> list[str]:
    """Why a pod is refused before it is scheduled: for its label requirements, or its claims."""
    pod_data = PodData.from_pod(pod)
    there = pod_data.requirements.get(NODE_POOL)
    avoids = [_NOT_FOR_KARPENTER] if there is not None and there.operator == "DoesNotExist" else []
    selector = [
        NodeSelectorRequirement(key=key, operator="In", values=[value])
        for key, value in sorted((pod.spec.node_selector or {}).items())
    ]
    problems = [
        *(error for requirement in selector for error in _wrong(requirement, well_known)),
        *_wrong_terms(pod_data.required, well_known),
    ]
    return [*avoids, *problems, *volumes.refusals(pod)]


def _wrong_terms(terms: Iterable[NodeSelectorTerm], well_known: WellKnown) -> Iterable[str]:
    for term in terms:
        if term.match_fields is not None:
            yield "node selector term with matchFields is not supported"
        for match_expression in term.match_expressions or ():
            yield from _wrong(match_expression, well_known)


def _wrong(requirement: NodeSelectorRequirement, well_known: WellKnown) -> Iterable[str]:
    key, values = NORMALIZED_LABELS.get(requirement.key, requirement.key), requirement.values or []
    refused = well_known.refusal(key)
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


Object = Mapping[str, Any]


def daemon_pods(daemon_sets: Iterable[Object], pods: Iterable[Pod]) -> list[PodData]:
    """One for each DaemonSet, by namespace and name. Pods of templates have neither."""
    newest: dict[str, Pod] = {}
    for pod in pods:
        controller = pod.controller
        if controller is not None and controller.uid:
            there = newest.get(controller.uid)
            if there is None or (pod.metadata.creation_timestamp or "") > (there.metadata.creation_timestamp or ""):
                newest[controller.uid] = pod
    ordered = sorted(
        daemon_sets,
        key=lambda pod: (part_of(pod, "metadata").get("namespace", ""), part_of(pod, "metadata", "name")),
    )
    return [PodData.from_pod(_pod(pod, newest.get(part_of(pod, "metadata").get("uid", "")))) for pod in ordered]


def _pod(daemon_set: Object, running: Pod | None) -> Pod:
    template = convert(section(part_of(daemon_set, "spec", "template"), "spec"), PodSpec)
    pod = running or Pod(spec=_limits_as_requests(template))
    node_affinity = template.affinity.node_affinity if template.affinity else None
    required = node_affinity.required_during_scheduling_ignored_during_execution if node_affinity else None
    return pod if required is None else replace(pod, spec=with_required_nodes(pod.spec, required))


def _limits_as_requests(spec: PodSpec) -> PodSpec:
    def fill_requests(containers: list[Container] | None) -> list[Container] | None:
        if containers is None:
            return None
        return [replace(container, resources=_merge_limits(container.resources)) for container in containers]

    return replace(spec, containers=fill_requests(spec.containers), init_containers=fill_requests(spec.init_containers))


def _merge_limits(resources: ResourceRequirements | None) -> ResourceRequirements:
    resources = resources or ResourceRequirements()
    return replace(resources, requests={**(resources.limits or {}), **(resources.requests or {})})


class Offer(msgspec.Struct, frozen=True):
    """What a cloud offers to a NodePool."""

    pool: NodePool
    types: Types


@dataclass(frozen=True)
class KarpenterSnapshot:
    """A moment of a cluster. ``pending`` are pods without a node; ``offered`` names the types of NodePools that are not
    offered the whole catalogue. DaemonSets are plain values; ``now`` counts nanoseconds.
    """

    now: int
    objects: Objects
    pending: Sequence[Pod]
    pools: Sequence[NodePool]
    catalogue: Catalogue
    offered: Mapping[str, Sequence[str]]
    options: KarpenterOptions
    daemon_sets: Sequence[Mapping[str, Any]] = ()
    budgets: Sequence[PodDisruptionBudget] = ()
    order: MapOrder = field(default_factory=MapOrder)
    volume_places_known: bool = True

    def with_map_order(self, order: MapOrder) -> KarpenterSnapshot:
        """The same moment with another map order. What follows from the cluster alone is shared."""
        other = copy.copy(self)
        object.__setattr__(other, "order", order)
        return other

    @cached_property
    def cluster(self) -> ClusterState:
        return ClusterState(self.objects, Volumes(self.objects, places_known=self.volume_places_known))

    @cached_property
    def pod_budgets(self) -> PodBudgets:
        return PodBudgets(self.budgets, self.now)

    @cached_property
    def daemons(self) -> list[PodData]:
        return daemon_pods(self.daemon_sets, self.objects.list_all(Pod))

    @cached_property
    def offers(self) -> list[Offer]:
        """NodePools that take part, by weight, with their instance types."""
        pools = by_weight([pool for pool in self.pools if pool.takes_part])
        return [Offer(pool, self.catalogue.rows(self.offered.get(pool.name))) for pool in pools]

    @cached_property
    def domains(self) -> Domains:
        """The domains of each label that machines of the NodePools may have."""
        domains = Domains()
        for offer in self.offers:
            _add_domains(domains, offer, self.catalogue)
        return domains

    @cached_property
    def provisionable_pods(self) -> list[Pod]:
        """The pods that found no node and that a machine may be bought for, by namespace and name."""
        return [pod for pod in _by_name(self.pending) if is_provisionable(pod)]

    @cached_property
    def refusals_by_pod(self) -> dict[str, list[str]]:
        """Those of them that are not scheduled at all, with the reasons."""
        by_pod = {pod.key: refusals(pod, self.catalogue.known, self.cluster.volumes) for pod in self.provisionable_pods}
        return {pod: reasons for pod, reasons in by_pod.items() if reasons}

    @cached_property
    def unprovisionable_pods(self) -> list[str]:
        """The pods without a node that no machine is launched for."""
        return [pod.key for pod in _by_name(self.pending) if not is_provisionable(pod)]

    @cached_property
    def waiting(self) -> list[Pod]:
        """The pods that machines are launched for."""
        return [pod for pod in self.provisionable_pods if pod.key not in self.refusals_by_pod]

    @cached_property
    def staying(self) -> list[StateNode]:
        return [node for node in self.cluster.nodes if not node.is_deleting]

    @cached_property
    def leaving(self) -> list[Pod]:
        """The reschedulable pods of nodes that are being deleted."""
        return [
            pod
            for node in self.cluster.nodes
            if node.is_deleting and node.node is not None
            for pod in self.cluster.pods_on(node.node.name)
            if self.pod_budgets.is_reschedulable_now(pod)
        ]


def _by_name(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (pod.namespace, pod.name))


def _add_domains(domains: Domains, offer: Offer, catalogue: Catalogue) -> None:
    pool = offer.pool
    if not len(offer.types):
        return
    required = merge_requirements(pool_requirements(pool), *of_labels(pool.spec.template.metadata.labels).values())
    for row in offer.types:
        for key, requirement in merge_requirements(required, *catalogue.types[row].requirements.values()).items():
            for value in requirement.values:
                domains.add(key, value, pool.taints)
    for key, requirement in required.items():
        if requirement.operator == "In":
            for value in requirement.values:
                domains.add(key, value, pool.taints)
