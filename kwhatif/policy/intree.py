"""Facts about kube-scheduler's own plugins, by minor: which exist, what they extend, what is on by default.

Upstream: scheduler/apis/config/v1/default_plugins.go with the feature gates at their defaults, the registry
in scheduler/framework/plugins/registry.go, and the extension points that each plugin's Go type has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwhatif.errors import UsageError

__all__ = ["InTree", "in_tree"]


@dataclass(frozen=True, slots=True)
class InTree:
    """One minor. ``default_plugins`` are multiPoint's, in order, with their weights (0: none is set).

    ``points`` maps each plugin to the extension points it has. ``filter_timeout`` and ``binding_timeout`` are
    seconds, None where the feature gate is off; ``shape_allowed`` is the gate StorageCapacityScoring.
    """

    default_plugins: tuple[tuple[str, int], ...]
    points: Mapping[str, tuple[str, ...]]
    filter_timeout: int | None
    binding_timeout: int | None
    shape_allowed: bool


_DEFAULTS_1_36 = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    # Before DefaultPreemption: giving back an idle claim is gentler than evicting a pod.
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
)

_POINTS_1_36 = {
    "DefaultBinder": ("bind",),
    "DefaultPreemption": ("preEnqueue", "postFilter"),
    "DynamicResources": ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
    "GangScheduling": ("preEnqueue", "permit"),
    "ImageLocality": ("score",),
    "InterPodAffinity": ("preFilter", "filter", "preScore", "score"),
    "NodeAffinity": ("preFilter", "filter", "preScore", "score"),
    "NodeDeclaredFeatures": ("preFilter", "filter"),
    "NodeName": ("filter",),
    "NodePorts": ("preFilter", "filter"),
    "NodeResourcesBalancedAllocation": ("preScore", "score"),
    "NodeResourcesFit": ("preFilter", "filter", "preScore", "score", "placementScore"),
    "NodeUnschedulable": ("filter",),
    "NodeVolumeLimits": ("preFilter", "filter"),
    "PodGroupPodsCount": ("placementScore",),
    "PodTopologySpread": ("preFilter", "filter", "preScore", "score"),
    "PrioritySort": ("queueSort",),
    "SchedulingGates": ("preEnqueue",),
    "TaintToleration": ("filter", "preScore", "score"),
    "TopologyPlacementGenerator": ("placementGenerate",),
    "VolumeBinding": ("preFilter", "filter", "preScore", "score", "reserve", "preBind"),
    "VolumeRestrictions": ("preFilter", "filter"),
    "VolumeZone": ("preFilter", "filter"),
}

_MINORS = {
    "1.36": InTree(
        default_plugins=_DEFAULTS_1_36,
        points=_POINTS_1_36,
        filter_timeout=10,
        binding_timeout=600,
        shape_allowed=False,
    ),
}


def in_tree(minor: str) -> InTree:
    """The facts of a minor such as ``"1.36"``. Raises UsageError for one that is not known."""
    try:
        return _MINORS[minor]
    except KeyError:
        known = ", ".join(_MINORS)
        raise UsageError(f"Kubernetes {minor}: not a known version; known are {known}") from None
