"""Pods of kube-system without a disruption budget block the drain in their first hour.

Upstream: cluster-autoscaler/simulator/drainability/rules/system.
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Outcome, Verdict
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import moment
from kwhatif.cluster.shapes import PodInfo


def system_pods(pod: PodInfo, context: DrainContext) -> Verdict:
    flags = context.flags
    system = pod.shape.namespace == "kube-system" and not context.budgets.budgets_of(pod.shape)
    if not system or not flags.skip_nodes_with_system_pods:
        return None
    created = pod.pod.metadata.creation_timestamp
    if created and context.now > moment(created) + flags.blocking_system_pod_distruption_timeout:
        return Outcome.MOVE
    return "UnmovableKubeSystemPod"
