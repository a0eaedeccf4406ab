"""The Policy as its JSON spells it, and the plugins that its predicates and priorities became.

A list that is absent is not an empty one: without predicates or priorities, the default ones hold.
docs/reference/legacy-policies.md has
these tables in words. Upstream, until 1.22: kube-scheduler/config/v1/types.go and
pkg/scheduler/framework/plugins/legacy_registry.go.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kwhatif.golang.config_struct import Bool, ConfigStruct, Int32, Int64, Text
from kwhatif.plugins.shared.node_resources import ResourceSpec, UtilizationShapePoint
from kwhatif.policy.structs import Extender


class ServiceAffinity(ConfigStruct):
    labels: tuple[str, ...] = ()


class LabelsPresence(ConfigStruct):
    labels: tuple[str, ...] = ()
    presence: Bool = False


class ServiceAntiAffinity(ConfigStruct):
    label: Text = ""


class LabelPreference(ConfigStruct):
    label: Text = ""
    presence: Bool = False


class RequestedToCapacityRatioArguments(ConfigStruct):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PredicateArgument(ConfigStruct):
    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class PriorityArgument(ConfigStruct):
    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RequestedToCapacityRatioArguments | None = None


class PredicatePolicy(ConfigStruct):
    name: Text = ""
    argument: PredicateArgument | None = None


class PriorityPolicy(ConfigStruct):
    name: Text = ""
    weight: Int64 = 0
    argument: PriorityArgument | None = None


class Policy(ConfigStruct):
    predicates: tuple[PredicatePolicy, ...] | None = None
    priorities: tuple[PriorityPolicy, ...] | None = None
    extenders: tuple[Extender, ...] = ()
    hard_pod_affinity_symmetric_weight: Int32 = 0
    always_check_all_predicates: Bool = False


class PluginUse(msgspec.Struct, frozen=True):
    """A plugin and the extension points at which a name puts it."""

    plugin: str
    points: tuple[str, ...]


_FILTER, _BOTH = ("filter",), ("filter", "preFilter")
_SCORE, _SCORED = ("score",), ("score", "preScore")
_FIT = PluginUse("NodeResourcesFit", _BOTH)
_PORTS = PluginUse("NodePorts", _BOTH)
_AFFINITY = PluginUse("NodeAffinity", _BOTH)

PREDICATES: Mapping[str, tuple[PluginUse, ...]] = {
    "CheckNodeUnschedulable": (PluginUse("NodeUnschedulable", _FILTER),),
    "GeneralPredicates": (_FIT, PluginUse("NodeName", _FILTER), _PORTS, _AFFINITY),
    "HostName": (PluginUse("NodeName", _FILTER),),
    "PodFitsHostPorts": (_PORTS,),
    "MatchNodeSelector": (_AFFINITY,),
    "PodFitsResources": (_FIT,),
    "NoDiskConflict": (PluginUse("VolumeRestrictions", _FILTER),),
    "PodToleratesNodeTaints": (PluginUse("TaintToleration", _FILTER),),
    "CheckNodeLabelPresence": (PluginUse("NodeLabel", _FILTER),),
    "CheckServiceAffinity": (PluginUse("ServiceAffinity", _BOTH),),
    "MaxEBSVolumeCount": (PluginUse("EBSLimits", _FILTER),),
    "MaxGCEPDVolumeCount": (PluginUse("GCEPDLimits", _FILTER),),
    "MaxCSIVolumeCountPred": (PluginUse("NodeVolumeLimits", _FILTER),),
    "MaxAzureDiskVolumeCount": (PluginUse("AzureDiskLimits", _FILTER),),
    "MaxCinderVolumeCount": (PluginUse("CinderLimits", _FILTER),),
    "CheckVolumeBinding": (PluginUse("VolumeBinding", ("preFilter", "filter", "reserve", "preBind")),),
    "NoVolumeZoneConflict": (PluginUse("VolumeZone", _FILTER),),
    "EvenPodsSpread": (PluginUse("PodTopologySpread", _BOTH),),
    "MatchInterPodAffinity": (PluginUse("InterPodAffinity", _BOTH),),
}
"""Predicates in the order in which they run, whatever their order in a Policy."""

MANDATORY_PREDICATES = frozenset({"CheckNodeUnschedulable", "PodToleratesNodeTaints"})
"""On, whatever a Policy says."""

DEFAULT_PREDICATES = frozenset(
    {
        *("CheckNodeUnschedulable", "CheckVolumeBinding", "EvenPodsSpread", "GeneralPredicates"),
        *("MatchInterPodAffinity", "MaxAzureDiskVolumeCount", "MaxCSIVolumeCountPred", "MaxEBSVolumeCount"),
        *("MaxGCEPDVolumeCount", "NoDiskConflict", "NoVolumeZoneConflict", "PodToleratesNodeTaints"),
    }
)

PRIORITIES: Mapping[str, PluginUse] = {
    "BalancedResourceAllocation": PluginUse("NodeResourcesBalancedAllocation", _SCORE),
    "EvenPodsSpreadPriority": PluginUse("PodTopologySpread", _SCORED),
    "ImageLocalityPriority": PluginUse("ImageLocality", _SCORE),
    "InterPodAffinityPriority": PluginUse("InterPodAffinity", _SCORED),
    "LeastRequestedPriority": PluginUse("NodeResourcesLeastAllocated", _SCORE),
    "MostRequestedPriority": PluginUse("NodeResourcesMostAllocated", _SCORE),
    "NodeAffinityPriority": PluginUse("NodeAffinity", _SCORED),
    "NodeLabel": PluginUse("NodeLabel", _SCORE),
    "NodePreferAvoidPodsPriority": PluginUse("NodePreferAvoidPods", _SCORE),
    "RequestedToCapacityRatio": PluginUse("RequestedToCapacityRatio", _SCORE),
    "SelectorSpreadPriority": PluginUse("PodTopologySpread", _SCORED),
    "ServiceAffinity": PluginUse("ServiceAffinity", _SCORE),
    "TaintTolerationPriority": PluginUse("TaintToleration", _SCORED),
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

OLD_PRIORITIES: Mapping[str, PluginUse] = {"ResourceLimitsPriority": PluginUse("NodeResourceLimits", _SCORED)}
"""Priorities that 1.22 refuses: the plugin that older schedulers had for them."""

FOREIGN_PRIORITIES: Mapping[str, str] = {"GPUAllocationPriority": "an example of the documentation has it"}
"""Priorities of custom builds of kube-scheduler: left out."""
