"""Scale-down eligibility: which nodes are utilized so little that they may be unneeded.

Utilization is the greater share of cpu and memory, or that of the GPUs alone. Upstream:
cluster-autoscaler/core/scaledown/eligibility/eligibility.go, simulator/utilization/info.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kwhatif.api.core import Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags, GroupSettings
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.drainability import is_long_terminating
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import gpu_resource, is_being_deleted, readiness
from kwhatif.cluster.shapes import PodInfo


class Utilization(msgspec.Struct, frozen=True):
    """``share`` is that of the ``resource`` that counts; cpu and memory are None where GPUs alone do."""

    share: float
    resource: str
    cpu: float | None = None
    memory: float | None = None


def utilization(
    node: Node, pods: Sequence[PodInfo], settings: GroupSettings, flags: Flags, gpu_label: str, now: int
) -> Utilization | None:
    """None for a node that has no cpu or no memory."""
    counted = []
    left_out = []
    for pod in pods:
        if (settings.ignore_daemonsets_utilization and is_of_daemon_set(pod.pod)) or (
            flags.ignore_mirror_pods_utilization and pod.pod.is_mirror
        ):
            left_out.append(pod)
        elif not is_long_terminating(pod, now):
            counted.append(pod)
    gpus = gpu_resource(node, gpu_label)
    if gpus is not None:
        return Utilization(_share(node, gpus, counted, left_out) or 0.0, gpus)
    cpu, memory = (_share(node, name, counted, left_out) for name in ("cpu", "memory"))
    if cpu is None or memory is None:
        return None
    share, resource = (cpu, "cpu") if cpu > memory else (memory, "memory")
    return Utilization(share, resource, cpu, memory)


def _share(node: Node, name: str, counted: Sequence[PodInfo], left_out: Sequence[PodInfo]) -> float | None:
    quantity = (node.status.allocatable or {}).get(name)
    if quantity is None or not quantity.milli_value():
        return None
    thousandths = 1 if name == "cpu" else 1000
    requested, aside = (
        thousandths * sum(pod.shape.score_requests.get(name, 0) for pod in pods) for pods in (counted, left_out)
    )
    whole = quantity.milli_value() - aside
    return float(requested) / float(whole) if whole else float("inf") if requested else float("nan")


_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"


def eligibility(world: AutoscalingContext, node: Node, pods: Sequence[PodInfo]) -> tuple[str, Utilization | None]:
    """Why a node with these pods is not eligible ("" if it is), and its utilization, where that was computed."""
    if is_being_deleted(node, world.now):
        return "CurrentlyBeingDeleted", None
    if is_scale_down_disabled(node):
        return "ScaleDownDisabledAnnotation", None
    group = world.groups.group_of(node.name)
    if group is None:
        return "NotAutoscaled", None
    used = utilization(node, pods, group.settings, world.flags, world.gpu_label, world.now)
    if used is None:
        return "UnexpectedError", None
    if not world.flags.scale_down_unready_enabled and not readiness(node).ready:
        return "ScaleDownUnreadyDisabled", None
    settings = group.settings
    gpus = gpu_resource(node, world.gpu_label) is not None
    threshold = settings.scale_down_gpu_utilization_threshold if gpus else settings.scale_down_utilization_threshold
    return ("NotUnderutilized" if used.share > threshold else ""), used


def is_scale_down_disabled(node: Node) -> bool:
    """Whether an annotation disables scale-down of the node."""
    return (node.metadata.annotations or {}).get(_DISABLED) == "true"
