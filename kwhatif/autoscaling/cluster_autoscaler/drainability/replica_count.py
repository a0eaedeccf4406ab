"""Pods whose controller does not exist, or has fewer replicas than required, block the drain.

Upstream: cluster-autoscaler/simulator/drainability/rules/replicacount.
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Verdict
from kwhatif.cluster.shapes import PodInfo

_COUNTED = ("ReplicationController", "ReplicaSet")
_SOUGHT = {"DaemonSet": "apps", "StatefulSet": "apps", "Job": None, "ReplicationController": None, "ReplicaSet": None}
"""Kind -> the API group of the controllers that upstream looks up."""


def replica_count(pod: PodInfo, context: DrainContext) -> Verdict:
    controller = pod.shape.controller
    if controller is None or context.controllers is None or not context.flags.skip_nodes_with_custom_controller_pods:
        return None
    kind, group = controller.kind or "", (controller.api_version or "").rpartition("/")[0]
    daemon = is_of_daemon_set(pod.pod)
    if kind not in _SOUGHT or _SOUGHT[kind] not in (None, group):
        return None
    if daemon != (kind == "DaemonSet") and kind != "ReplicationController":
        return None
    key = (kind, pod.shape.namespace, controller.name or "")
    if key not in context.controllers:
        return "ControllerNotFound"
    replicas = context.controllers[key]
    few = kind in _COUNTED and replicas is not None and replicas < context.flags.min_replica_count
    return "MinReplicasReached" if few else None
