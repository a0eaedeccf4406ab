"""Whether a node is ready, and since when.

Upstream: cluster-autoscaler/utils/kubernetes/ready.go.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from kwhatif.api.core import Condition, Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.gpus import gpus_are_missing
from kwhatif.autoscaling.cluster_autoscaler.moments import ZERO, moment
from kwhatif.autoscaling.cluster_autoscaler.node_taints import is_startup_taint

_UNREADY = {"Ready": ("False", "Unknown"), "DiskPressure": ("True",), "NetworkUnavailable": ("True",)}
_TAINTS = tuple(f"node.kubernetes.io/{state}" for state in ("not-ready", "disk-pressure", "network-unavailable"))


@dataclass(frozen=True, slots=True)
class Readiness:
    """``since`` is the last moment at which something changed that readiness depends on."""

    ready: bool
    since: int


def readiness(node: Node) -> Readiness:
    """A node that does not say whether it is ready is not."""
    ready, told, since = True, False, ZERO
    for condition in node.status.conditions or ():
        if condition.type in _UNREADY:
            told |= condition.type == "Ready"
            ready &= condition.status not in _UNREADY[condition.type]
            since = max(since, moment(condition.last_transition_time))
    for taint in node.spec.taints or ():
        if taint.key in _TAINTS:
            ready, since = False, max(since, moment(taint.time_added))
    return Readiness(ready, since) if told else Readiness(False, ZERO)


def is_suspended(node: Node) -> bool:
    found = (condition for condition in node.status.conditions or () if condition.type == "Suspended")
    return next((condition.status == "True" for condition in found), False)


def ready_for_pods(node: Node) -> bool:
    return readiness(node).ready and not node.spec.unschedulable


def as_seen(node: Node, flags: Flags, gpu_label: str) -> Node:
    """The node as the autoscaler takes it: unready while it starts, or while its GPUs have not appeared."""
    starting = any(is_startup_taint(taint, flags) for taint in node.spec.taints or ())
    if not ready_for_pods(node) or not (starting or gpus_are_missing(node, gpu_label)):
        return node
    unready = Condition(type="Ready", status="False", last_transition_time=node.metadata.creation_timestamp)
    others = [condition for condition in node.status.conditions or () if condition.type != "Ready"]
    status = msgspec.structs.replace(node.status, conditions=[unready, *others])
    return msgspec.structs.replace(node, status=status)
