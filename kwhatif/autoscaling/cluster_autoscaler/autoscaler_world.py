"""What an autoscaler looks at: the cluster as the API server has it, and its node groups as the cloud has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kwhatif.admission.answer import Object
from kwhatif.api.core import Node, Pod, ReplicationController
from kwhatif.api.kinds import Objects
from kwhatif.api.others import ReplicaSet, StatefulSet
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroups
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.runner import Framework
from kwhatif.versions import Features


@dataclass(frozen=True)
class Prices:
    """By the hour: of nodes by instance type, of a core and of a GiB of memory."""

    nodes: Mapping[str, float]
    core: float
    gibibyte: float


@dataclass(frozen=True)
class World:
    """A moment of a cluster.

    ``cluster`` is the scheduler's view of it, which stays as it is; ``pending`` are pods without a node. Of controllers
    that scheduling does not read, ``daemon_sets`` and ``jobs`` are plain values. ``priorities`` is what the priority
    expander's ConfigMap says, None if there is none.
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
        return self.cluster.columns.given

    @property
    def objects(self) -> Objects:
        return self.cluster.objects

    @property
    def features(self) -> Features:
        return self.cluster.shapes.features

    def without_expendable(self) -> Cluster:
        """A copy of the cluster without expendable pods, in which nodes kept for pods are taken."""
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
        cluster.nominated = {}
        for pod in kept:
            home = cluster.columns.row(pod.nominated)
            if home is not None and cluster.find(pod.uid) is None and not is_expendable(pod.pod, self.flags):
                cluster.assume(pod, home)
        return cluster

    @cached_property
    def controllers(self) -> Mapping[tuple[str, str, str], int | None]:
        """(kind, namespace, name) of each controller of pods -> how many replicas it is to have, if it says."""
        typed: Iterable[ReplicaSet | StatefulSet | ReplicationController] = (
            *self.objects.of(ReplicaSet),
            *self.objects.of(StatefulSet),
            *self.objects.of(ReplicationController),
        )
        found: dict[tuple[str, str, str], int | None] = {
            (type(each).__name__, each.namespace, each.name): each.spec.replicas for each in typed
        }
        for kind, plain in (("DaemonSet", self.daemon_sets), ("Job", self.jobs)):
            for each in plain:
                found[kind, each["metadata"].get("namespace") or "default", each["metadata"]["name"]] = None
        return found


def is_waiting(pod: Pod) -> bool:
    """Whether a node is kept for a pod while others leave it."""
    return not pod.spec.node_name and not pod.metadata.deletion_timestamp and bool(pod.status.nominated_node_name)


def is_expendable(pod: Pod, flags: Flags) -> bool:
    """Whether nobody minds losing the pod: it neither keeps a node nor asks for one."""
    return pod.spec.priority is not None and pod.spec.priority < flags.expendable_pods_priority_cutoff


def is_of_daemon_set(pod: Pod) -> bool:
    controller = pod.controller
    if controller is not None and controller.kind == "DaemonSet":
        return True
    return (pod.metadata.annotations or {}).get("cluster-autoscaler.kubernetes.io/daemonset-pod") == "true"
