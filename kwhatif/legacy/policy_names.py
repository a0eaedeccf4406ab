"""The names that Policies go by, and the plugins they became.

Upstream, until 1.22: pkg/scheduler/framework/plugins/legacy_registry.go. docs/policy.md has these tables in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """A plugin and the extension points at which a name puts it."""

    plugin: str
    points: tuple[str, ...]


_FILTER, _BOTH = ("filter",), ("filter", "preFilter")
_SCORE, _SCORED = ("score",), ("score", "preScore")
_FIT = Use("NodeResourcesFit", _BOTH)
_PORTS = Use("NodePorts", _BOTH)
_AFFINITY = Use("NodeAffinity", _BOTH)

PREDICATES: Mapping[str, tuple[Use, ...]] = {
    "CheckNodeUnschedulable": (Use("NodeUnschedulable", _FILTER),),
    "GeneralPredicates": (_FIT, Use("NodeName", _FILTER), _PORTS, _AFFINITY),
    "HostName": (Use("NodeName", _FILTER),),
    "PodFitsHostPorts": (_PORTS,),
    "MatchNodeSelector": (_AFFINITY,),
    "PodFitsResources": (_FIT,),
    "NoDiskConflict": (Use("VolumeRestrictions", _FILTER),),
    "PodToleratesNodeTaints": (Use("TaintToleration", _FILTER),),
    "CheckNodeLabelPresence": (Use("NodeLabel", _FILTER),),
    "CheckServiceAffinity": (Use("ServiceAffinity", _BOTH),),
    "MaxEBSVolumeCount": (Use("EBSLimits", _FILTER),),
    "MaxGCEPDVolumeCount": (Use("GCEPDLimits", _FILTER),),
    "MaxCSIVolumeCountPred": (Use("NodeVolumeLimits", _FILTER),),
    "MaxAzureDiskVolumeCount": (Use("AzureDiskLimits", _FILTER),),
    "MaxCinderVolumeCount": (Use("CinderLimits", _FILTER),),
    "CheckVolumeBinding": (Use("VolumeBinding", ("preFilter", "filter", "reserve", "preBind")),),
    "NoVolumeZoneConflict": (Use("VolumeZone", _FILTER),),
    "EvenPodsSpread": (Use("PodTopologySpread", _BOTH),),
    "MatchInterPodAffinity": (Use("InterPodAffinity", _BOTH),),
}
"""Predicates in the order in which they are asked, whatever order a Policy has them in."""

MANDATORY_PREDICATES = frozenset({"CheckNodeUnschedulable", "PodToleratesNodeTaints"})
"""On, whatever a Policy says."""

DEFAULT_PREDICATES = frozenset(
    {
        *("CheckNodeUnschedulable", "CheckVolumeBinding", "EvenPodsSpread", "GeneralPredicates"),
        *("MatchInterPodAffinity", "MaxAzureDiskVolumeCount", "MaxCSIVolumeCountPred", "MaxEBSVolumeCount"),
        *("MaxGCEPDVolumeCount", "NoDiskConflict", "NoVolumeZoneConflict", "PodToleratesNodeTaints"),
    }
)

PRIORITIES: Mapping[str, Use] = {
    "BalancedResourceAllocation": Use("NodeResourcesBalancedAllocation", _SCORE),
    "EvenPodsSpreadPriority": Use("PodTopologySpread", _SCORED),
    "ImageLocalityPriority": Use("ImageLocality", _SCORE),
    "InterPodAffinityPriority": Use("InterPodAffinity", _SCORED),
    "LeastRequestedPriority": Use("NodeResourcesLeastAllocated", _SCORE),
    "MostRequestedPriority": Use("NodeResourcesMostAllocated", _SCORE),
    "NodeAffinityPriority": Use("NodeAffinity", _SCORED),
    "NodeLabel": Use("NodeLabel", _SCORE),
    "NodePreferAvoidPodsPriority": Use("NodePreferAvoidPods", _SCORE),
    "RequestedToCapacityRatio": Use("RequestedToCapacityRatio", _SCORE),
    "SelectorSpreadPriority": Use("PodTopologySpread", _SCORED),
    "ServiceAffinity": Use("ServiceAffinity", _SCORE),
    "TaintTolerationPriority": Use("TaintToleration", _SCORED),
}
"""Priorities; those with arguments go by the name of their plugin."""

EQUAL_PRIORITY = "EqualPriority"
"""Gave all nodes the same, so it has no plugin."""

DEFAULT_PRIORITIES: Mapping[str, int] = {
    "BalancedResourceAllocation": 1,
    "EvenPodsSpreadPriority": 2,
    "ImageLocalityPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "NodeAffinityPriority": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "SelectorSpreadPriority": 1,
    "TaintTolerationPriority": 1,
}

OLD_PREDICATES: Mapping[str, tuple[str, str]] = {
    "CheckNodeCondition": ("PodToleratesNodeTaints", "nodes that are not ready have a taint"),
    "CheckNodeDiskPressure": ("PodToleratesNodeTaints", "such nodes have a taint"),
    "CheckNodeMemoryPressure": ("PodToleratesNodeTaints", "such nodes have a taint"),
    "CheckNodePIDPressure": ("PodToleratesNodeTaints", "such nodes have a taint"),
    "MaxCSIVolumeCount": ("MaxCSIVolumeCountPred", "its name in the documentation"),
    "NoVolumeNodeConflict": ("CheckVolumeBinding", "which took its place"),
    "PodFitsHost": ("HostName", "its name in the documentation"),
    "PodToleratesNodeNoExecuteTaints": ("PodToleratesNodeTaints", "which looks at these taints, too"),
}
"""Predicates that 1.22 refuses: what is read in their place, and why."""

OLD_PRIORITIES: Mapping[str, Use] = {"ResourceLimitsPriority": Use("NodeResourceLimits", _SCORED)}
"""Priorities that 1.22 refuses: the plugin that older schedulers had for them."""

FOREIGN_PRIORITIES: Mapping[str, str] = {"GPUAllocationPriority": "an example of the documentation has it"}
"""Priorities of no kube-scheduler, but of somebody's own build: left out."""
