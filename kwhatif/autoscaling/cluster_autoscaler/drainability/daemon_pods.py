"""Pods of DaemonSets are skipped: they leave with their node.

Upstream: cluster-autoscaler/simulator/drainability/rules/daemonset.
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Outcome, Verdict
from kwhatif.cluster.shapes import PodInfo


def daemon_pods(pod: PodInfo, context: DrainContext) -> Verdict:
    return Outcome.SKIP if is_of_daemon_set(pod.pod) else None
