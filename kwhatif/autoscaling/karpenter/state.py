"""The cluster as Karpenter keeps it: nodes with their NodeClaims, what runs on them, and which of them are going.

Upstream: pkg/controllers/state (cluster.go, statenode.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kwhatif.api.core import Node, Pod, Taint
from kwhatif.api.kinds import Objects
from kwhatif.api.node_pools import NodeClaim
from kwhatif.api.others import CSINode
from kwhatif.autoscaling.karpenter.exact_amounts import Amounts, amounts, less, total
from kwhatif.autoscaling.karpenter.host_ports import HostPorts
from kwhatif.autoscaling.karpenter.known_labels import HOSTNAME, INITIALIZED, INSTANCE_TYPE, NODE_POOL, REGISTERED
from kwhatif.autoscaling.karpenter.requirements import Requirements, of_labels
from kwhatif.autoscaling.karpenter.taints import is_ephemeral, same
from kwhatif.autoscaling.karpenter.volume_topology import Volumes, VolumeUsage
from kwhatif.autoscaling.karpenter.wants import Wants

NODES = "nodes"
"""What limits call a node itself."""


@dataclass(eq=False)
class StateNode:
    """A node, the NodeClaim it comes from, or both."""

    node: Node | None
    claim: NodeClaim | None
    pods: list[Wants] = field(default_factory=list)
    ports: HostPorts = field(default_factory=HostPorts)
    volumes: VolumeUsage = field(default_factory=VolumeUsage)

    @property
    def managed(self) -> bool:
        return self.claim is not None

    @cached_property
    def registered(self) -> bool:
        return self._marked(REGISTERED)

    @cached_property
    def initialized(self) -> bool:
        return self._marked(INITIALIZED)

    def _marked(self, label: str) -> bool:
        if self.claim is None:
            return True
        return self.node is not None and (self.node.metadata.labels or {}).get(label) == "true"

    @cached_property
    def speaker(self) -> Node | NodeClaim:
        """Whose name, labels and annotations count: the NodeClaim's until the node has registered."""
        if self.node is not None and (self.claim is None or self.registered):
            return self.node
        assert self.claim is not None
        return self.claim

    @property
    def name(self) -> str:
        return self.speaker.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.speaker.metadata.labels or {}

    @cached_property
    def requirements(self) -> Requirements:
        """That each label has its value."""
        return of_labels(self.labels)

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.speaker.metadata.annotations or {}

    @property
    def hostname(self) -> str:
        return self.labels.get(HOSTNAME) or self.name

    @property
    def pool(self) -> str:
        return self.labels.get(NODE_POOL, "")

    @cached_property
    def taints(self) -> list[Taint]:
        """Until the node is initialized, without those that it is only born with."""
        spec = self.claim.spec if self.claim and (self.node is None or not self.registered) else None
        found = list((spec.taints if spec else self.node.spec.taints if self.node else None) or ())
        if self.initialized or self.claim is None:
            return found
        at_start = self.claim.spec.startup_taints or ()
        return [each for each in found if not is_ephemeral(each) and not any(same(each, one) for one in at_start)]

    @cached_property
    def capacity(self) -> Amounts:
        return {**self._amounts("capacity"), NODES: 1000}

    @cached_property
    def allocatable(self) -> Amounts:
        return self._amounts("allocatable")

    def _amounts(self, what: str) -> Amounts:
        """What the node says; what it says nothing of, or zero, until it is initialized, the NodeClaim."""
        own = amounts(getattr(self.node.status, what)) if self.node else {}
        if self.initialized or self.claim is None:
            return own
        promised = amounts(getattr(self.claim.status, what))
        return {**own, **{name: amount for name, amount in promised.items() if not own.get(name)}}

    @property
    def available(self) -> Amounts:
        """What the pods leave."""
        return less(self.allocatable, total(wants.requests for wants in self.pods))

    @property
    def daemon_requests(self) -> Amounts:
        return total(wants.requests for wants in self.pods if is_owned_by(wants.pod, "DaemonSet"))

    @cached_property
    def terminating(self) -> bool:
        """Whether the machine itself is being given back."""
        conditions = (self.claim.status.conditions if self.claim else None) or ()
        return any(each.type == "InstanceTerminating" and each.status == "True" for each in conditions)

    @cached_property
    def deleting(self) -> bool:
        if self.claim is None:
            return self.node is not None and self.node.metadata.deletion_timestamp is not None
        return self.claim.metadata.deletion_timestamp is not None or self.terminating


class ClusterState:
    """Nodes by provider ID, in the order of their names; pods by the node they are bound to."""

    def __init__(self, objects: Objects, volumes: Volumes) -> None:
        self.objects = objects
        self.volumes = volumes
        self.nodes_by_name = {node.name: node for node in objects.of(Node)}
        self._pods: dict[str, list[Pod]] = {}
        for pod in sorted(objects.of(Pod), key=lambda pod: (pod.namespace, pod.name)):
            if pod.spec.node_name:
                self._pods.setdefault(pod.spec.node_name, []).append(pod)
        self._labels: dict[str, Requirements] = {}
        self._csi_nodes = {each.name: each for each in objects.of(CSINode)}
        found: dict[str, StateNode] = {}
        for node in sorted(objects.of(Node), key=lambda node: node.name):
            provider_id = self._provider_id(node)
            if provider_id is not None:
                found[provider_id] = self._state(node)
        for claim in sorted(objects.of(NodeClaim), key=lambda claim: claim.name):
            provider_id = claim.status.provider_id
            if provider_id:
                there = found.setdefault(provider_id, StateNode(None, None))
                found[provider_id] = StateNode(there.node, claim, there.pods, there.ports, there.volumes)
        self.nodes: list[StateNode] = list(found.values())

    def labels_of(self, node: Node) -> Requirements:
        """That each label of a node has its value, worked out once."""
        found = self._labels.get(node.name)
        if found is None:
            found = self._labels[node.name] = of_labels(node.metadata.labels)
        return found

    @staticmethod
    def _provider_id(node: Node) -> str | None:
        """What tells nodes apart; None for one of ours that is not ready to be looked at."""
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
                wants = Wants.of(pod)
                state.pods.append(wants)
                state.ports.take(wants.key, wants.ports)
                state.volumes.add(self.volumes.of_pod(pod) or {})
        csi = self._csi_nodes.get(node.name)
        for driver in (csi.spec.drivers or ()) if csi else ():
            if driver.allocatable is not None:
                state.volumes.limits[driver.name] = driver.allocatable.count or 0
        return state

    def pods_on(self, node: str) -> Sequence[Pod]:
        return self._pods.get(node, ())

    def bound(self, namespaces: Iterable[str]) -> Iterator[Pod]:
        """Pods of these namespaces that count where they are: bound, neither finished nor on their way out."""
        wanted = set(namespaces)
        for pods in self._pods.values():
            for pod in pods:
                if pod.namespace in wanted and not is_terminal(pod) and not is_terminating(pod):
                    yield pod

    def repelling(self) -> Iterator[tuple[Pod, Node]]:
        """Pods with required anti-affinity and the nodes they run on, by namespace and name."""
        known = {state.node.name for state in self.nodes if state.node is not None}
        found = [
            pod
            for name, pods in self._pods.items()
            if name in known
            for pod in pods
            if not is_terminal(pod) and Wants.of(pod).terms("pod_anti_affinity", preferred=False)
        ]
        for pod in sorted(found, key=lambda pod: (pod.namespace, pod.name)):
            yield pod, self.nodes_by_name[pod.spec.node_name or ""]


def is_terminal(pod: Pod) -> bool:
    return pod.status.phase in ("Failed", "Succeeded")


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_owned_by(pod: Pod, kind: str) -> bool:
    version = "v1" if kind == "Node" else "apps/v1"
    return any(owner.kind == kind and owner.api_version == version for owner in pod.metadata.owner_references or ())
