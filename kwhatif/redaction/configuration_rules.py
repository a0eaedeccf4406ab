"""A scheduler's configuration: labels, resources and profiles have names, too."""

from __future__ import annotations

from typing import Any

from kwhatif.api import core
from kwhatif.redaction.pseudonyms import Names
from kwhatif.redaction.shared_rules import API_VERSION, KIND
from kwhatif.redaction.struct_rules import rule_of
from kwhatif.redaction.treatments import GONE, Rule, each, fields, flag, named, number, one_of

PLUGINS = frozenset(
    {
        *(
            "DefaultBinder",
            "DefaultPreemption",
            "DynamicResources",
            "GangScheduling",
            "ImageLocality",
            "InterPodAffinity",
        ),
        *("NodeAffinity", "NodeDeclaredFeatures", "NodeName", "NodePorts", "NodeResourcesBalancedAllocation"),
        *("NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits", "PodTopologySpread", "PrioritySort"),
        *("SchedulingGates", "TaintToleration", "VolumeBinding", "VolumeRestrictions", "VolumeZone", "AzureDiskLimits"),
        *("CinderLimits", "EBSLimits", "GCEPDLimits", "NodeLabel", "NodePreferAvoidPods", "SelectorSpread"),
        *("ServiceAffinity", "TopologyPlacementGenerator", "PodGroupPodsCount", "*"),
    }
)
"""Plugins of the tree, of all minors. What others are called is replaced."""

_PLUGIN = one_of(*PLUGINS)
_RESOURCE = named(Names.resource)
_PLUGIN_SET = each(fields(name=_PLUGIN, weight=number))
_POINTS = (
    *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit"),
    *("preBind", "bind", "postBind", "multiPoint", "placementGenerate", "placementScore"),
)
_SHAPE = each(fields(utilization=number, score=number))
_WEIGHTS = each(fields(name=_RESOURCE, weight=number))


def _duration(value: Any, names: Names) -> Any:
    return value if isinstance(value, str) and len(value) < 20 and set(value) <= set("0123456789.hmsnuµ") else GONE


_ARGS = fields(
    apiVersion=API_VERSION,
    kind=one_of(*(f"{name}Args" for name in PLUGINS)),
    addedAffinity=rule_of(core.NodeAffinity),
    bindTimeoutSeconds=number,
    bindingTimeout=_duration,
    defaultConstraints=each(rule_of(core.TopologySpreadConstraint)),
    defaultingType=one_of("System", "List"),
    filterTimeout=_duration,
    hardPodAffinityWeight=number,
    ignorePreferredTermsOfExistingPods=flag,
    ignoredResourceGroups=each(named(Names.resource_group)),
    ignoredResources=each(_RESOURCE),
    minCandidateNodesAbsolute=number,
    minCandidateNodesPercentage=number,
    resources=_WEIGHTS,
    scoringStrategy=fields(
        type=one_of("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"),
        resources=_WEIGHTS,
        requestedToCapacityRatio=fields(shape=_SHAPE),
    ),
    shape=_SHAPE,
)
_PROFILE = fields(
    schedulerName=named(Names.scheduler),
    percentageOfNodesToScore=number,
    plugins=fields({point: fields(enabled=_PLUGIN_SET, disabled=_PLUGIN_SET) for point in _POINTS}),
    pluginConfig=each(fields(name=_PLUGIN, args=_ARGS)),
)
CONFIGURATION: Rule = fields(
    apiVersion=API_VERSION,
    kind=KIND,
    parallelism=number,
    percentageOfNodesToScore=number,
    podInitialBackoffSeconds=number,
    podMaxBackoffSeconds=number,
    delayCacheUntilActive=flag,
    profiles=each(_PROFILE),
)
