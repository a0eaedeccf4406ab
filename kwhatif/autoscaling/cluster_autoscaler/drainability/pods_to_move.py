"""The drainability rules in their order, applied to the pods of a node.

Upstream: cluster-autoscaler/simulator/drain.go and drainability/rules/rules.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Outcome, Verdict
from kwhatif.autoscaling.cluster_autoscaler.drainability.rules import RULES, disruption_budget
from kwhatif.cluster.shapes import PodInfo


@dataclass(slots=True)
class PodsToMove:
    """``pods`` have to find another node, the node waits for those ``finishing``; ``blocking`` is the first pod that
    blocks the drain, and why.
    """

    pods: list[PodInfo] = field(default_factory=list)
    finishing: list[PodInfo] = field(default_factory=list)
    blocking: tuple[PodInfo, str] | None = None


def pods_to_move(pods: Iterable[PodInfo], context: DrainContext) -> PodsToMove:
    """Apply all rules to the pods of a node, until one pod blocks."""
    found = PodsToMove()
    for pod in pods:
        said = outcome(pod, context)
        if isinstance(said, str):
            found.blocking = (pod, said)
            break
        if said is Outcome.MOVE:
            found.pods.append(pod)
        elif said is Outcome.WAIT:
            found.finishing.append(pod)
    return found


def outcome(pod: PodInfo, context: DrainContext) -> Outcome | str:
    """The outcome for one pod, or why it blocks."""
    return _verdict_of(pod, context) or disruption_budget(pod, context) or Outcome.MOVE


def _verdict_of(pod: PodInfo, context: DrainContext) -> Verdict:
    """The verdict of the first rule that has one."""
    meta = pod.pod.metadata
    # Pods of kube-system are judged by their age.
    alike = not meta.annotations and not meta.deletion_timestamp and pod.shape.namespace != "kube-system"
    if alike and pod.shape.index in context.of_shape:
        return context.of_shape[pod.shape.index]
    said = next((verdict for rule in RULES if (verdict := rule(pod, context)) is not None), None)
    if alike:
        context.of_shape[pod.shape.index] = said
    return said
