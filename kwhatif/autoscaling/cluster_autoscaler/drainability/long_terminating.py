"""Pods that should have terminated some time ago are skipped.

Upstream: cluster-autoscaler/simulator/drainability/rules/longterminating.
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Outcome, Verdict
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import moment
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.parsing import SECOND

_EXTRA = 30
_GRACE = 30


def long_terminating(pod: PodInfo, context: DrainContext) -> Verdict:
    return Outcome.SKIP if is_long_terminating(pod, context.now) else None


def is_long_terminating(pod: PodInfo, now: int) -> bool:
    """Whether the pod's deletion timestamp is more than half a minute ago."""
    deleted = pod.pod.metadata.deletion_timestamp
    if not deleted:
        return False
    grace = pod.pod.spec.termination_grace_period_seconds
    return moment(deleted) + ((_GRACE if grace is None else grace) + _EXTRA) * SECOND < now
