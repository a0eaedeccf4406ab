"""Readiness of nodes, taints that are not copied to new nodes, GPUs, and moments as integers.

Moments are nanoseconds since 1970, as Go compares them. Upstream: cluster-autoscaler/utils/kubernetes/ready.go,
utils/taints/taints.go, utils/gpu/gpu.go.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.core import Condition, Node, Taint
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.cluster.shapes import PodInfo, start_time
from kwhatif.golang.parsing import SECOND, parse_int

TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
DELETION_CANDIDATE = "DeletionCandidateOfClusterAutoscaler"
_DELETION_TAKES = 5 * 60 * SECOND

_OF_CONDITIONS = frozenset(
    (
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/pid-pressure",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        "cloud.google.com/impending-node-termination",
        "NodeWithImpairedVolumes",
    )
)
_STARTUP = ("ignore-taint.cluster-autoscaler.kubernetes.io/", "startup-taint.cluster-autoscaler.kubernetes.io/")
_STATUS = ("status-taint.cluster-autoscaler.kubernetes.io/",)


def is_startup_taint(taint: Taint, flags: Flags) -> bool:
    """Whether a node with this taint is still starting."""
    return taint.key in (*flags.startup_taint, *flags.ignore_taint) or taint.key.startswith(
        (*_STARTUP, *flags.startup_taint_prefix)
    )


def lasting_taints(node: Node, flags: Flags) -> list[Taint]:
    """The taints that a new node of the group will have as well."""
    return [
        taint
        for taint in node.spec.taints or ()
        if taint.key not in (TO_BE_DELETED, DELETION_CANDIDATE)
        and taint.key not in _OF_CONDITIONS
        and not is_startup_taint(taint, flags)
        and taint.key not in flags.status_taint
        and not taint.key.startswith(_STATUS)
    ]


def is_to_be_deleted(node: Node) -> bool:
    return any(taint.key == TO_BE_DELETED for taint in node.spec.taints or ())


def is_being_deleted(node: Node, now: int) -> bool:
    """Whether a deletion may still be under way (the taint's value is the time at which it began)."""
    for taint in node.spec.taints or ():
        if taint.key == TO_BE_DELETED:
            since = parse_int(taint.value or "")
            return since is not None and now - since * SECOND < _DELETION_TAKES
    return False


GPU_RESOURCES = ("nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu", "microsoft.com/directx")


def gpu_resource(node: Node, label: str) -> str | None:
    """The resource that a node's GPUs go by; None for a node without any."""
    resource = next((name for name in GPU_RESOURCES if _has(node, name)), None)
    return resource or (GPU_RESOURCES[0] if label in (node.metadata.labels or {}) else None)


def gpus_are_missing(node: Node, label: str) -> bool:
    """Whether the label promises GPUs that are not allocatable yet."""
    return label in (node.metadata.labels or {}) and not any(_has(node, name) for name in GPU_RESOURCES)


def asks_for_gpus(pod: PodInfo) -> bool:
    return any(name in pod.shape.score_requests for name in GPU_RESOURCES)


def _has(node: Node, name: str) -> bool:
    quantity = (node.status.allocatable or {}).get(name)
    return quantity is not None and not quantity.is_zero


ZERO = -62_135_596_800_000_000_000
"""Go's zero time: the first of January of the year 1."""


def moment(text: str | None) -> int:
    """A time stamp of the API; ``ZERO`` where there is none. Raises ValueError."""
    return start_time(text) if text else ZERO


_UNREADY = {"Ready": ("False", "Unknown"), "DiskPressure": ("True",), "NetworkUnavailable": ("True",)}
_TAINTS = tuple(f"node.kubernetes.io/{state}" for state in ("not-ready", "disk-pressure", "network-unavailable"))


class Readiness(msgspec.Struct, frozen=True):
    """``since`` is the last moment at which a condition changed that readiness depends on."""

    ready: bool
    since: int


def readiness(node: Node) -> Readiness:
    """A node without a ready condition is not ready."""
    ready, reported, since = True, False, ZERO
    for condition in node.status.conditions or ():
        if condition.type in _UNREADY:
            reported |= condition.type == "Ready"
            ready &= condition.status not in _UNREADY[condition.type]
            since = max(since, moment(condition.last_transition_time))
    for taint in node.spec.taints or ():
        if taint.key in _TAINTS:
            ready, since = False, max(since, moment(taint.time_added))
    return Readiness(ready, since) if reported else Readiness(False, ZERO)


def is_suspended(node: Node) -> bool:
    conditions = (condition for condition in node.status.conditions or () if condition.type == "Suspended")
    return next((condition.status == "True" for condition in conditions), False)


def ready_for_pods(node: Node) -> bool:
    return readiness(node).ready and not node.spec.unschedulable


def observed_node_of(node: Node, flags: Flags, gpu_label: str) -> Node:
    """The node as the autoscaler takes it: unready while it starts, or while its GPUs are missing."""
    starting = any(is_startup_taint(taint, flags) for taint in node.spec.taints or ())
    if not ready_for_pods(node) or not (starting or gpus_are_missing(node, gpu_label)):
        return node
    unready = Condition(type="Ready", status="False", last_transition_time=node.metadata.creation_timestamp)
    others = [condition for condition in node.status.conditions or () if condition.type != "Ready"]
    status = msgspec.structs.replace(node.status, conditions=[unready, *others])
    return msgspec.structs.replace(node, status=status)
