"""What an autoscaler looks at: the cluster as the API server has it, and its node groups as the cloud has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kwhatif.admission.answer import Object
from kwhatif.api.core import Node, Pod, ReplicationController
from kwhatif.api.kinds import Objects
from kwhatif.api.others import ReplicaSet, StatefulSet
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroups
from kwhatif.cluster.cluster import FINISHED
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

    ``pending`` are pods without a node. Of controllers that scheduling does not read, ``daemon_sets`` and ``jobs`` are
    plain values. ``priorities`` is what the priority expander's ConfigMap says, None if there is none.
    """

    now: int
    objects: Objects
    pending: Sequence[Pod]
    groups: NodeGroups
    flags: Flags
    features: Features
    framework: Framework
    daemon_sets: Sequence[Object] = ()
    jobs: Sequence[Object] = ()
    gpu_label: str = ""
    prices: Prices | None = None
    priorities: str | None = None
    memory: dict[str, object] = field(default_factory=dict)

    @property
    def nodes(self) -> list[Node]:
        return self.objects.of(Node)

    @cached_property
    def running(self) -> list[Pod]:
        """Unfinished pods that have a node, or for which one is kept."""
        bound = (pod for pod in self.objects.of(Pod) if pod.spec.node_name)
        kept = (pod for pod in (*self.objects.of(Pod), *self.pending) if is_waiting(pod))
        return [pod for pod in (*bound, *kept) if not is_finished(pod)]

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


def is_finished(pod: Pod) -> bool:
    return (pod.status.phase or "") in FINISHED


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
