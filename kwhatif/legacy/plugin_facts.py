"""The plugins of 1.22: what they extend where it was something else, and those that were on by default.

Upstream: pkg/scheduler/apis/config/v1beta1/default_plugins.go and v1beta2/default_plugins.go of 1.22.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.policy.structs import Plugin, Plugins, PluginSet
from kwhatif.versions import Features

POINTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), ("filter",)),
    "DefaultPreemption": ("postFilter",),
    "NodeResourcesBalancedAllocation": ("score",),
    "NodeResourcesFit": ("preFilter", "filter", "score"),
    "NodeVolumeLimits": ("filter",),
    "VolumeBinding": ("preFilter", "filter", "score", "reserve", "preBind"),
    "VolumeZone": ("filter",),
}
"""The extension points of plugins that have others in later minors."""

_DEFAULTS: dict[str, tuple[str, ...]] = {
    "queue_sort": ("PrioritySort",),
    "pre_filter": (
        *("NodeResourcesFit", "NodePorts", "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity"),
        *("VolumeBinding", "NodeAffinity"),
    ),
    "filter": (
        *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
        *("VolumeRestrictions", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
        *("VolumeZone", "PodTopologySpread", "InterPodAffinity"),
    ),
    "post_filter": ("DefaultPreemption",),
    "pre_score": ("InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeAffinity"),
    "reserve": ("VolumeBinding",),
    "pre_bind": ("VolumeBinding",),
    "bind": ("DefaultBinder",),
}
_SCORES = {
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "InterPodAffinity": 1,
    "NodeResourcesFit": 1,
    "NodeAffinity": 1,
    "PodTopologySpread": 2,
    "TaintToleration": 1,
}
_RENAMED = {"NodeResourcesFit": "NodeResourcesLeastAllocated"}
"""Who scored by resources before v1beta2."""


def default_plugins(features: Features, *, beta2: bool = True) -> Plugins:
    """Those of v1beta2, or of v1beta1 and what came before it."""
    scores = dict(_SCORES)
    if not beta2:
        scores = {_RENAMED.get(name, name): weight for name, weight in scores.items()} | {"NodePreferAvoidPods": 10000}
    if features.volume_capacity_priority:
        scores["VolumeBinding"] = 1
    sets = {point: PluginSet(enabled=tuple(Plugin(name=name) for name in names)) for point, names in _DEFAULTS.items()}
    scored = tuple(Plugin(name=name, weight=weight) for name, weight in scores.items())
    return Plugins(**sets, score=PluginSet(enabled=scored))
