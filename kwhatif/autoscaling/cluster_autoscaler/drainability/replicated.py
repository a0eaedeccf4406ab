"""Pods without a controller block the drain.

Upstream: cluster-autoscaler/simulator/drainability/rules/replicated.
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Verdict
from kwhatif.cluster.shapes import PodInfo

_KINDS = ("ReplicationController", "Job", "ReplicaSet", "StatefulSet")


def replicated(pod: PodInfo, context: DrainContext) -> Verdict:
    controller = pod.shape.controller
    if controller is None:
        return "NotReplicated"
    custom = context.flags.skip_nodes_with_custom_controller_pods and controller.kind not in _KINDS
    return "NotReplicated" if custom else None
