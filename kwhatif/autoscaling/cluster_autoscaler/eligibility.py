"""Which nodes are used so little that they may be unneeded.

Upstream: cluster-autoscaler/core/scaledown/eligibility/eligibility.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.api.core import Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_world import World
from kwhatif.autoscaling.cluster_autoscaler.gpus import gpu_resource
from kwhatif.autoscaling.cluster_autoscaler.node_taints import is_being_deleted
from kwhatif.autoscaling.cluster_autoscaler.readiness import readiness
from kwhatif.autoscaling.cluster_autoscaler.utilization import Utilization, utilization
from kwhatif.cluster.shapes import PodInfo

_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"


def eligibility(world: World, node: Node, pods: Sequence[PodInfo]) -> tuple[str, Utilization | None]:
    """Why a node with these pods stays ("" if it need not), and how much of it is used, where that was worked out."""
    if is_being_deleted(node, world.now):
        return "CurrentlyBeingDeleted", None
    if may_not_go(node):
        return "ScaleDownDisabledAnnotation", None
    group = world.groups.of(node.name)
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


def may_not_go(node: Node) -> bool:
    """Whether somebody asked for the node to be kept."""
    return (node.metadata.annotations or {}).get(_DISABLED) == "true"
