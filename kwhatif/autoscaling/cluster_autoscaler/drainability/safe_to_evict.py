"""The annotation safe-to-evict: pods may be moved whatever later rules say, block, or are waited for until they
complete.

Upstream: cluster-autoscaler/simulator/drainability/rules (safetoevict, oncompletion, notsafetoevict).
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Outcome, Verdict
from kwhatif.cluster.shapes import PodInfo

_KEY = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def safe_to_evict(pod: PodInfo, context: DrainContext) -> Verdict:
    return Outcome.MOVE if _annotation_of(pod) == "true" else None


def on_completion(pod: PodInfo, context: DrainContext) -> Verdict:
    return Outcome.WAIT if _annotation_of(pod) == "on-completion" else None


def not_safe_to_evict(pod: PodInfo, context: DrainContext) -> Verdict:
    return "NotSafeToEvictAnnotation" if _annotation_of(pod) == "false" else None


def _annotation_of(pod: PodInfo) -> str | None:
    return (pod.pod.metadata.annotations or {}).get(_KEY)
