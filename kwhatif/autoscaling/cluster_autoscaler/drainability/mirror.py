"""Mirror pods are skipped, since a kubelet runs their static pods by itself.

Upstream: cluster-autoscaler/simulator/drainability/rules/mirror.
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Outcome, Verdict
from kwhatif.cluster.shapes import PodInfo


def mirror(pod: PodInfo, context: DrainContext) -> Verdict:
    return Outcome.SKIP if pod.pod.is_mirror else None
