"""The cluster state: nodes with their NodeClaims, their pods, taints, and which pods may be evicted.

Upstream: pkg/controllers/state (cluster.go, statenode.go), pkg/utils/pod/scheduling.go, pkg/utils/pdb/pdb.go,
pkg/scheduling/taints.go. All taints repel, also those of effect PreferNoSchedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from kwhatif.api.core import Node, Pod, Taint, Toleration
from kwhatif.api.kinds import Objects
from kwhatif.api.node_provisioning import NodeClaim
from kwhatif.api.selectors import TolerationIndex
from kwhatif.api.workloads_and_storage import CSINode, PodDisruptionBudget
from kwhatif.autoscaling.karpenter.pod_data import Amounts, HostPorts, PodData, amounts, subtract, total
from kwhatif.autoscaling.karpenter.requirements import (
    DO_NOT_DISRUPT,
    GROUP,
    HOSTNAME,
    INITIALIZED,
    INSTANCE_TYPE,
    NODE_POOL,
    REGISTERED,
    Requirements,
    of_labels,
)
from kwhatif.autoscaling.karpenter.volume_topology import Volumes, VolumeUsage
from kwhatif.cluster.shapes import start_time
from kwhatif.errors import InputError
from kwhatif.golang.parsing import Duration
from kwhatif.scheduling.selected_budgets import SelectedBudgets

_EPHEMERAL = frozenset(
    {
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
        ("karpenter.sh/unregistered", "NoExecute"),
    }
)


def explain_untolerated_taints(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> list[str]:
    """The message about each taint that no toleration tolerates."""
    index = TolerationIndex(tolerations, comparison_operators=True)
    return [f"did not tolerate taint (taint={taint.text})" for taint in taints if not index.tolerates(taint)]


def is_ephemeral(taint: Taint) -> bool:
    """Whether it is removed once the node has started. Taints are compared by key and effect."""
    return (taint.key, taint.effect) in _EPHEMERAL or taint.key.startswith("readiness.k8s.io/")


def same(one: Taint, other: Taint) -> bool:
    return (one.key, one.effect) == (other.key, other.effect)


NODES = "nodes"
"""What limits call a node itself."""


class StateNode(msgspec.Struct, eq=False, dict=True):
    """A node, the NodeClaim it comes from, or both."""

    node: Node | None
    claim: NodeClaim | None
    pods: list[PodData] = []
    ports: HostPorts = msgspec.field(default_factory=HostPorts)
    volumes: VolumeUsage = msgspec.field(default_factory=VolumeUsage)

    @property
    def is_managed(self) -> bool:
        return self.claim is not None

    @cached_property
    def is_registered(self) -> bool:
        return self._has_label(REGISTERED)

    @cached_property
    def is_initialized(self) -> bool:
        return self._has_label(INITIALIZED)

    def _has_label(self, label: str) -> bool:
        if self.claim is None:
            return True
        return self.node is not None and (self.node.metadata.labels or {}).get(label) == "true"

    @cached_property
    def metadata_source(self) -> Node | NodeClaim:
        """The object whose name, labels and annotations count: the NodeClaim until the node has registered."""
        if self.node is not None and (self.claim is None or self.is_registered):
            return self.node
        assert self.claim is not None
        return self.claim

    @property
    def name(self) -> str:
        return self.metadata_source.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.metadata_source.metadata.labels or {}

    @cached_property
    def requirements(self) -> Requirements:
        """The requirement of each label's value."""
        return of_labels(self.labels)

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.metadata_source.metadata.annotations or {}

    @property
    def hostname(self) -> str:
        return self.labels.get(HOSTNAME) or self.name

    @property
    def pool(self) -> str:
        return self.labels.get(NODE_POOL, "")

    @cached_property
    def taints(self) -> list[Taint]:
        """Until the node is initialized, without ephemeral and startup taints."""
        spec = self.claim.spec if self.claim and (self.node is None or not self.is_registered) else None
        taints = list((spec.taints if spec else self.node.spec.taints if self.node else None) or ())
        if self.is_initialized or self.claim is None:
            return taints
        at_start = self.claim.spec.startup_taints or ()
        return [taint for taint in taints if not is_ephemeral(taint) and not any(same(taint, one) for one in at_start)]

    @cached_property
    def capacity(self) -> Amounts:
        return {**self._amounts("capacity"), NODES: 1000}

    @cached_property
    def allocatable(self) -> Amounts:
        return self._amounts("allocatable")

    def _amounts(self, what: str) -> Amounts:
        """The node's amounts; until it is initialized, those that it lacks or has as zero are the NodeClaim's."""
        own = amounts(getattr(self.node.status, what)) if self.node else {}
        if self.is_initialized or self.claim is None:
            return own
        promised = amounts(getattr(self.claim.status, what))
        return {**own, **{name: amount for name, amount in promised.items() if not own.get(name)}}

    @property
    def available(self) -> Amounts:
        """Allocatable minus the pods' requests."""
        return subtract(self.allocatable, total(pod_data.requests for pod_data in self.pods))

    @property
    def daemon_requests(self) -> Amounts:
        return total(pod_data.requests for pod_data in self.pods if is_owned_by(pod_data.pod, "DaemonSet"))

    @cached_property
    def is_terminating(self) -> bool:
        """Whether the machine itself is being terminated."""
        conditions = (self.claim.status.conditions if self.claim else None) or ()
        return any(condition.type == "InstanceTerminating" and condition.status == "True" for condition in conditions)

    @cached_property
    def is_deleting(self) -> bool:
        if self.claim is None:
            return self.node is not None and self.node.metadata.deletion_timestamp is not None
        return self.claim.metadata.deletion_timestamp is not None or self.is_terminating


class ClusterState:
    """Nodes by provider ID, in the order of their names; pods by the node they are bound to."""

    def __init__(self, objects: Objects, volumes: Volumes) -> None:
        self.objects = objects
        self.volumes = volumes
        self.nodes_by_name = {node.name: node for node in objects.list_all(Node)}
        self._pods: dict[str, list[Pod]] = {}
        for pod in sorted(objects.list_all(Pod), key=lambda pod: (pod.namespace, pod.name)):
            if pod.spec.node_name:
                self._pods.setdefault(pod.spec.node_name, []).append(pod)
        self._labels: dict[str, Requirements] = {}
        self._csi_nodes = {csinode.name: csinode for csinode in objects.list_all(CSINode)}
        nodes: dict[str, StateNode] = {}
        for node in sorted(objects.list_all(Node), key=lambda node: node.name):
            provider_id = self._provider_id(node)
            if provider_id is not None:
                nodes[provider_id] = self._state(node)
        for claim in sorted(objects.list_all(NodeClaim), key=lambda claim: claim.name):
            provider_id = claim.status.provider_id
            if provider_id:
                there = nodes.setdefault(provider_id, StateNode(None, None))
                nodes[provider_id] = StateNode(there.node, claim, there.pods, there.ports, there.volumes)
        self.nodes: list[StateNode] = list(nodes.values())

    def labels_of(self, node: Node) -> Requirements:
        """The requirements of a node's labels, computed once."""
        labels = self._labels.get(node.name)
        if labels is None:
            labels = self._labels[node.name] = of_labels(node.metadata.labels)
        return labels

    @staticmethod
    def _provider_id(node: Node) -> str | None:
        """The identity of a node; None for a managed one that has none yet."""
        labels = node.metadata.labels or {}
        managed = bool(labels.get(NODE_POOL))
        if not node.spec.provider_id:
            return None if managed else node.name
        if managed and not labels.get(INSTANCE_TYPE) and not labels.get(INITIALIZED):
            return None
        return node.spec.provider_id

    def _state(self, node: Node) -> StateNode:
        state = StateNode(node, None)
        for pod in self.pods_on(node.name):
            if not is_terminal(pod):
                pod_data = PodData.from_pod(pod)
                state.pods.append(pod_data)
                state.ports.take(pod_data.key, pod_data.ports)
                state.volumes.add(self.volumes.of_pod(pod) or {})
        csi = self._csi_nodes.get(node.name)
        for driver in (csi.spec.drivers or ()) if csi else ():
            if driver.allocatable is not None:
                state.volumes.limits[driver.name] = driver.allocatable.count or 0
        return state

    def pods_on(self, node: str) -> Sequence[Pod]:
        return self._pods.get(node, ())

    def list_bound_pods(self, namespaces: Iterable[str]) -> Iterator[Pod]:
        """Pods of these namespaces that count for topology: bound, neither finished nor terminating."""
        wanted = set(namespaces)
        for pods in self._pods.values():
            for pod in pods:
                if pod.namespace in wanted and not is_terminal(pod) and not is_terminating(pod):
                    yield pod

    def list_anti_affinity_pods(self) -> Iterator[tuple[Pod, Node]]:
        """Pods with required anti-affinity and the nodes they run on, by namespace and name."""
        known = {state.node.name for state in self.nodes if state.node is not None}
        opponents = [
            pod
            for name, pods in self._pods.items()
            if name in known
            for pod in pods
            if not is_terminal(pod) and PodData.from_pod(pod).terms("pod_anti_affinity", preferred=False)
        ]
        for pod in sorted(opponents, key=lambda pod: (pod.namespace, pod.name)):
            yield pod, self.nodes_by_name[pod.spec.node_name or ""]


def is_terminal(pod: Pod) -> bool:
    return pod.is_finished


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_owned_by(pod: Pod, kind: str) -> bool:
    version = "v1" if kind == "Node" else "apps/v1"
    return any(owner.kind == kind and owner.api_version == version for owner in pod.metadata.owner_references or ())


_DISRUPTED = Taint(key=f"{GROUP}/disrupted", effect="NoSchedule")


def is_active(pod: Pod) -> bool:
    return not is_terminal(pod) and not is_terminating(pod)


def asks_to_stay(pod: Pod, now: int) -> bool:
    """Whether the pod has the annotation do-not-disrupt: for good, or for a time after its start."""
    value = (pod.metadata.annotations or {}).get(DO_NOT_DISRUPT)
    if value is None or value == "true":
        return value is not None
    try:
        duration = Duration.parse(value)
    except ValueError:
        return False
    if duration <= 0:
        return False
    started = pod.status.start_time
    return started is None or now - start_time(started) < duration


def is_disruptable(pod: Pod, now: int) -> bool:
    return not is_active(pod) or not asks_to_stay(pod, now)


def is_evictable(pod: Pod, now: int) -> bool:
    """Whether disruption budgets apply to the pod."""
    stays = not explain_untolerated_taints([_DISRUPTED], pod.spec.tolerations or ())
    return is_active(pod) and not stays and not is_owned_by(pod, "Node") and not asks_to_stay(pod, now)


def is_reschedulable(pod: Pod) -> bool:
    """Whether the pod needs another node once its node is deleted."""
    comes_back = is_active(pod) or (is_owned_by(pod, "StatefulSet") and is_terminating(pod))
    return comes_back and not is_owned_by(pod, "DaemonSet") and not is_owned_by(pod, "Node")


class _Budget(msgspec.Struct, frozen=True):
    key: str
    allowed: int
    never: bool
    unhealthy_may_go: bool


class PodBudgets:
    """The PodDisruptionBudgets, by namespace and name.

    Other than the eviction API, Karpenter applies none of them to pods that tolerate its own taint or that ask to stay,
    takes as unhealthy only pods whose condition says that they are not ready, and counts nothing: each node is
    evaluated by itself. Raises InputError for a selector that cannot be compiled, at which Karpenter gives up, too.
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget], now: int) -> None:
        self._now = now
        ordered = sorted(
            budgets, key=lambda pod_disruption_budget: (pod_disruption_budget.namespace, pod_disruption_budget.name)
        )
        self._selected: SelectedBudgets[_Budget] = SelectedBudgets(ordered, _budget)
        for budget, error in self._selected.unreadable:
            raise InputError(f"PodDisruptionBudget {budget.namespace}/{budget.name}: {error}")

    def blocking(self, pods: Iterable[Pod]) -> list[str] | None:
        """The budgets of the first pod that may not be evicted now; None if all may."""
        for pod in pods:
            blockers = self._blockers(pod, lambda budget: budget.allowed == 0)
            if blockers is not None:
                return blockers
        return None

    def is_reschedulable_now(self, pod: Pod) -> bool:
        """Whether the pod is rescheduled when its node is deleted: unless it, or a budget, never lets it go."""
        blocked = self._blockers(pod, lambda budget: budget.never) is not None
        return is_reschedulable(pod) and is_disruptable(pod, self._now) and not blocked

    def _blockers(self, pod: Pod, blocks: Any) -> list[str] | None:
        if not is_evictable(pod, self._now):
            return None
        matching = self._selected.of(pod.namespace, pod.metadata.labels or {})
        if len(matching) > 1:
            return [budget.key for budget in matching]
        for budget in matching:
            unready = any(c.type == "Ready" and c.status == "False" for c in pod.status.conditions or ())
            if budget.unhealthy_may_go and unready:
                return None
            if blocks(budget):
                return [budget.key]
        return None


def _budget(budget: PodDisruptionBudget) -> _Budget:
    spec = budget.spec
    return _Budget(
        key=f"{budget.namespace}/{budget.name}",
        allowed=budget.status.disruptions_allowed or 0,
        never=spec.max_unavailable in (0, "0%") or spec.min_available == "100%",
        unhealthy_may_go=spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
    )
