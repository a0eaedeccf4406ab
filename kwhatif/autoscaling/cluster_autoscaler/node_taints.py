"""Taints that a node has for a while, which a fresh one of its group will not have.

Upstream: cluster-autoscaler/utils/taints/taints.go.
"""

from __future__ import annotations

from kwhatif.api.core import Node, Taint
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.golang.duration import SECOND
from kwhatif.golang.integers import int64

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
    """The taints that a fresh node will have as well."""
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
    """Whether a deletion that was begun may still be under way (the taint's value says when that was)."""
    for taint in node.spec.taints or ():
        if taint.key == TO_BE_DELETED:
            since = int64(taint.value or "")
            return since is not None and now - since * SECOND < _DELETION_TAKES
    return False
