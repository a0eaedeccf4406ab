"""The input of a loop: the cluster as the API server has it, node groups as the cloud has them, and cluster-wide limits
of cores and memory.

Upstream: cluster-autoscaler/cloudprovider/cloud_provider.go (NodeGroup) and cluster-autoscaler/resourcequotas
(tracker.go, usage.go, cache.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.core import Node, Pod, ReplicationController
from kwhatif.api.kinds import Objects
from kwhatif.api.objects import part_of
from kwhatif.api.workloads_and_storage import ReplicaSet, StatefulSet
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import GIB, Flags, GroupSettings
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.runner import Framework
from kwhatif.results.amounts import format_count
from kwhatif.versions import Features


class NodeGroup(msgspec.Struct, frozen=True):
    """``target`` is the size asked of the cloud; ``template`` the node that it would make, None if it cannot tell, and
    ``template_pods`` the pods on that node.

    ``failed_scale_up`` and ``requested_scale_up`` are moments: of a scale-up that failed, and of the one whose nodes,
    missing to the target, are still expected. ``price`` is that of a node by the hour, where it is known.
    """

    name: str
    min_size: int
    max_size: int
    target: int
    nodes: tuple[str, ...] = ()
    template: Node | None = None
    template_pods: tuple[Pod, ...] = ()
    settings: GroupSettings = msgspec.field(default_factory=GroupSettings)
    failed_scale_up: int | None = None
    requested_scale_up: int | None = None
    price: float | None = None

    @property
    def room(self) -> int:
        """How many nodes are left to its maximum size."""
        return max(self.max_size - self.target, 0)


class NodeGroups:
    """The groups in the cloud's order."""

    def __init__(self, groups: Sequence[NodeGroup]) -> None:
        self._groups = {group.name: group for group in groups}
        self._of_node = {node: group for group in groups for node in group.nodes}

    def __iter__(self) -> Iterator[NodeGroup]:
        return iter(self._groups.values())

    def __getitem__(self, name: str) -> NodeGroup:
        return self._groups[name]

    def group_of(self, node: str) -> NodeGroup | None:
        """The group of a node; None for one that is in no group."""
        return self._of_node.get(node)


class Prices(msgspec.Struct, frozen=True):
    """By the hour: of nodes by instance type, of a core and of a GiB of memory."""

    nodes: Mapping[str, float]
    core: float
    gibibyte: float


class AutoscalingContext(msgspec.Struct, frozen=True, dict=True):
    """A moment of a cluster.

    ``cluster`` is the scheduler's view of it, which is not changed; ``pending`` are pods without a node. Workloads that
    scheduling does not read (``daemon_sets``, ``jobs``) are plain values. ``priorities`` is the priority expander's
    ConfigMap, None if there is none.
    """

    now: int
    cluster: Cluster
    pending: Sequence[Pod]
    groups: NodeGroups
    flags: Flags
    framework: Framework
    daemon_sets: Sequence[Object] = ()
    jobs: Sequence[Object] = ()
    gpu_label: str = ""
    prices: Prices | None = None
    priorities: str | None = None

    @property
    def nodes(self) -> list[Node]:
        columns, active = self.cluster.columns, self.cluster.active
        if active.all():
            return columns.given
        there = {name for name, known in zip(columns.names, active.tolist(), strict=True) if known}
        return [node for node in columns.given if node.name in there]

    @property
    def objects(self) -> Objects:
        return self.cluster.objects

    @property
    def features(self) -> Features:
        return self.cluster.shapes.features

    def without_expendable(self) -> Cluster:
        """A copy of the cluster without expendable pods, in which pods with a nominated node occupy it."""
        cluster = self.cluster.fork()
        for row, pods in enumerate(self.cluster.pods_on):
            staying = [pod for pod in pods if not is_expendable(pod.pod, self.flags)]
            if len(staying) < len(pods):
                for pod in pods:
                    cluster.forget(pod.uid)
                for pod in staying:
                    cluster.assume(pod, row)
        kept = [pod for pods in cluster.nominated.values() for pod in pods]
        kept += [cluster.shapes.info(pod) for pod in self.pending if is_waiting(pod)]
        cluster.nominated.remove_nodes(list(cluster.nominated))
        for pod in kept:
            home = cluster.columns.row(pod.nominated)
            if home is not None and cluster.find(pod.uid) is None and not is_expendable(pod.pod, self.flags):
                cluster.assume(pod, home)
        return cluster

    def describe_room(self, node: str) -> str:
        """What is not counted on a node where a pod is expected to fit; empty if everything is."""
        row = self.cluster.columns.row(node)
        number = 0 if row is None else sum(is_expendable(pod.pod, self.flags) for pod in self.cluster.pods_on[row])
        if not number:
            return ""
        cutoff = self.flags.expendable_pods_priority_cutoff
        verb = "does" if number == 1 else "do"
        return f"{format_count(number, 'pod')} of a priority below the cutoff {cutoff} {verb} not count"

    @cached_property
    def controllers(self) -> Mapping[tuple[str, str, str], int | None]:
        """(kind, namespace, name) of each controller of pods -> how many replicas it is to have, if it says."""
        typed: Iterable[ReplicaSet | StatefulSet | ReplicationController] = (
            *self.objects.list_all(ReplicaSet),
            *self.objects.list_all(StatefulSet),
            *self.objects.list_all(ReplicationController),
        )
        replicas: dict[tuple[str, str, str], int | None] = {
            (type(controller).__name__, controller.namespace, controller.name): controller.spec.replicas
            for controller in typed
        }
        for kind, plain in (("DaemonSet", self.daemon_sets), ("Job", self.jobs)):
            for controller in plain:
                replicas[
                    kind,
                    part_of(controller, "metadata").get("namespace") or "default",
                    part_of(controller, "metadata", "name"),
                ] = None
        return replicas


def is_waiting(pod: Pod) -> bool:
    """Whether a pod has a nominated node that its victims have yet to leave."""
    return not pod.spec.node_name and not pod.metadata.deletion_timestamp and bool(pod.status.nominated_node_name)


def is_expendable(pod: Pod, flags: Flags) -> bool:
    """Whether the pod is expendable: it neither blocks a scale-down nor triggers a scale-up."""
    return pod.spec.priority is not None and pod.spec.priority < flags.expendable_pods_priority_cutoff


def is_of_daemon_set(pod: Pod) -> bool:
    controller = pod.controller
    if controller is not None and controller.kind == "DaemonSet":
        return True
    return (pod.metadata.annotations or {}).get("cluster-autoscaler.kubernetes.io/daemonset-pod") == "true"


_VIRTUAL = ("type", "virtual-kubelet")


class ClusterLimits:
    """What is left of the cluster-wide limits. All nodes of a group count as much as the first one met."""

    def __init__(self, limits: dict[str, int], counted: dict[str, dict[str, int]]) -> None:
        self._left, self._counted = limits, counted

    @classmethod
    def most(cls, nodes: Sequence[Node], groups: NodeGroups, flags: Flags) -> ClusterLimits:
        """How much may be added to these nodes."""
        used, counted = _count_used(nodes, groups)
        limits = {"cpu": flags.cores_total.most, "memory": flags.memory_total.most * GIB}
        return cls({name: max(0, limit - used[name]) for name, limit in limits.items()}, counted)

    @classmethod
    def least(cls, nodes: Sequence[Node], groups: NodeGroups, flags: Flags) -> ClusterLimits:
        """How much may be taken away from these nodes."""
        used, counted = _count_used(nodes, groups)
        limits = {"cpu": flags.cores_total.least, "memory": flags.memory_total.least * GIB}
        return cls({name: max(0, used[name] - limit) for name, limit in limits.items()}, counted)

    def apply_limits(self, group: NodeGroup, node: Node, count: int) -> tuple[int, list[str]]:
        """How many of the wanted nodes of a group the limits allow, and the resources whose limits are hit."""
        allowed, exceeded = count, []
        for name, amount in sorted(self._each(group, node).items()):
            if amount > 0 and self._left[name] < amount * count:
                allowed = min(allowed, self._left[name] // amount)
                exceeded.append(name)
        return allowed, exceeded

    def consume(self, group: NodeGroup, node: Node, count: int) -> list[str]:
        """Count nodes of a group, if the limits allow all of them; else returns the resources whose limits are hit."""
        allowed, exceeded = self.apply_limits(group, node, count)
        if allowed == count:
            for name, amount in self._each(group, node).items():
                self._left[name] = max(0, self._left[name] - amount * count)
        return exceeded

    def _each(self, group: NodeGroup, node: Node) -> dict[str, int]:
        return self._counted.setdefault(group.name, _amounts(node))


def _count_used(nodes: Sequence[Node], groups: NodeGroups) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """What all nodes have together, and what each node of a group counts as."""
    counted: dict[str, dict[str, int]] = {}
    total = {"cpu": 0, "memory": 0}
    key, virtual = _VIRTUAL
    for node in nodes:
        if (node.metadata.labels or {}).get(key) == virtual:
            continue
        group = groups.group_of(node.name)
        amounts = _amounts(node) if group is None else counted.setdefault(group.name, _amounts(node))
        for name, amount in amounts.items():
            total[name] += amount
    return total, counted


def _amounts(node: Node) -> dict[str, int]:
    """Whole cores and bytes of a node's capacity."""
    capacity = node.status.capacity or {}
    return {name: max(0, capacity[name].value()) if name in capacity else 0 for name in ("cpu", "memory")}
