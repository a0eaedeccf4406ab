"""Which pods Karpenter looks at, and why it refuses some of them before it schedules.

Upstream: pkg/controllers/provisioning/provisioner.go, pkg/utils/pod/scheduling.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.api.core import NodeSelectorRequirement, NodeSelectorTerm, Pod
from kwhatif.api.label_text import is_label_key, is_label_value
from kwhatif.autoscaling.karpenter.known_labels import CAPACITY_TYPE, CAPACITY_TYPES, NODE_POOL, NORMALIZED, WellKnown
from kwhatif.autoscaling.karpenter.state import is_owned_by
from kwhatif.autoscaling.karpenter.volume_topology import Volumes
from kwhatif.autoscaling.karpenter.wants import Wants

_NOT_FOR_KARPENTER = f"configured to not run on a Karpenter provisioned node (requirement={NODE_POOL} DoesNotExist)"


def is_provisionable(pod: Pod) -> bool:
    """Whether a machine is bought for the pod: the scheduler found none, and no node is kept for it."""
    unschedulable = any(
        each.type == "PodScheduled" and each.reason == "Unschedulable" for each in pod.status.conditions or ()
    )
    return (
        unschedulable
        and not pod.spec.node_name
        and not pod.status.nominated_node_name
        and not is_owned_by(pod, "DaemonSet")
        and not is_owned_by(pod, "Node")
    )


def refusals(pod: Pod, known: WellKnown, volumes: Volumes) -> list[str]:
    """Why a pod is refused before it is scheduled: for the labels it asks for, or its claims."""
    wants = Wants.of(pod)
    there = wants.requirements.get(NODE_POOL)
    avoids = [_NOT_FOR_KARPENTER] if there is not None and there.operator == "DoesNotExist" else []
    selector = [
        NodeSelectorRequirement(key=key, operator="In", values=[value])
        for key, value in sorted((pod.spec.node_selector or {}).items())
    ]
    asked = [*(error for each in selector for error in _wrong(each, known)), *_wrong_terms(wants.required, known)]
    return [*avoids, *asked, *volumes.refusals(pod)]


def _wrong_terms(terms: Iterable[NodeSelectorTerm], known: WellKnown) -> Iterable[str]:
    for term in terms:
        if term.match_fields is not None:
            yield "node selector term with matchFields is not supported"
        for each in term.match_expressions or ():
            yield from _wrong(each, known)


def _wrong(requirement: NodeSelectorRequirement, known: WellKnown) -> Iterable[str]:
    key, values = NORMALIZED.get(requirement.key, requirement.key), requirement.values or []
    refused = known.refusal(key)
    if refused:
        yield refused
    if key == CAPACITY_TYPE and requirement.operator == "In" and not set(values) & set(CAPACITY_TYPES):
        types = " ".join(sorted(CAPACITY_TYPES))
        yield f"no valid values found in [{' '.join(values)}] for {key}, expected one of: [{types}]"
    if not is_label_key(key):
        yield f"key {key} is not a qualified name, it is not a label"
    for value in values:
        if not is_label_value(value):
            yield f"invalid value {value} for key {key}, it is not a label's"
    if requirement.operator == "In" and not values:
        yield f"key {key} with operator In must have a value defined"
    if requirement.operator in ("Gt", "Lt") and not (len(values) == 1 and values[0].isdigit()):
        yield f"key {key} with operator {requirement.operator} must have a single positive integer value"
