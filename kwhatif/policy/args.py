"""The arguments of every in-tree plugin (upstream: kube-scheduler/config/v1/types_pluginargs.go).

A field's default is upstream's, unless it depends on a feature gate or on another field: those are in
``defaults.py``.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from kwhatif.api.core import NodeAffinity, TopologySpreadConstraint
from kwhatif.golang.duration import Duration
from kwhatif.golang.vocabulary import Bool, ConfigStruct, Int32, Int64, Text

__all__ = [
    "ARGS",
    "LEAST_ALLOCATED",
    "LEGACY_ARGS",
    "LIST_DEFAULTING",
    "MOST_ALLOCATED",
    "REQUESTED_TO_CAPACITY_RATIO",
    "SYSTEM_DEFAULTING",
    "Args",
    "DefaultPreemptionArgs",
    "DynamicResourcesArgs",
    "InterPodAffinityArgs",
    "NodeAffinityArgs",
    "NodeLabelArgs",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "NodeResourcesLeastAllocatedArgs",
    "NodeResourcesMostAllocatedArgs",
    "PodTopologySpreadArgs",
    "RequestedToCapacityRatioArgs",
    "RequestedToCapacityRatioParam",
    "ResourceSpec",
    "ScoringStrategy",
    "ServiceAffinityArgs",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
]

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"

_StrategyType = Annotated[str, msgspec.Meta(extra={"go": "v1.ScoringStrategyType"})]
_Defaulting = Annotated[str, msgspec.Meta(extra={"go": "v1.PodTopologySpreadConstraintsDefaulting"})]
_PrintedNull = Annotated[Duration | None, msgspec.Meta(extra={"always": True})]


class Args(ConfigStruct):
    """The arguments of one plugin; the class is named after the plugin, with ``Args`` appended."""


class ResourceSpec(ConfigStruct):
    """A resource and its weight in a score, 1..100."""

    name: Text = ""
    weight: int = 0


class UtilizationShapePoint(ConfigStruct):
    """A point of a score function: utilization 0..100, score 0..10."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(ConfigStruct):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigStruct):
    """``type`` is one of the three strategies above."""

    type: _StrategyType = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(Args):
    """Bounds on the nodes that preemption tries: percent of all nodes, 0..100, and an absolute number."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class InterPodAffinityArgs(Args):
    """``hard_pod_affinity_weight``, 0..100, is the weight in scoring of required terms of existing pods."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: Bool = False


class NodeAffinityArgs(Args):
    """``added_affinity`` holds for every pod, besides its own."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesFitArgs(Args):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type=LEAST_ALLOCATED)


class NodeResourcesBalancedAllocationArgs(Args):
    resources: tuple[ResourceSpec, ...] = ()


class PodTopologySpreadArgs(Args):
    """``default_constraints`` are for pods that have none, with ``defaulting_type`` List."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: _Defaulting = SYSTEM_DEFAULTING


class VolumeBindingArgs(Args):
    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class DynamicResourcesArgs(Args):
    filter_timeout: _PrintedNull = None
    binding_timeout: Duration | None = None


class NodeLabelArgs(Args):
    """Labels that nodes must have and must not have, and those they had better have or not have."""

    present_labels: tuple[str, ...] = ()
    absent_labels: tuple[str, ...] = ()
    present_labels_preference: tuple[str, ...] = ()
    absent_labels_preference: tuple[str, ...] = ()


class ServiceAffinityArgs(Args):
    """Labels whose values the nodes of a service's pods share, and those whose values they are spread over."""

    affinity_labels: tuple[str, ...] = ()
    anti_affinity_labels_preference: tuple[str, ...] = ()


class NodeResourcesLeastAllocatedArgs(Args):
    resources: tuple[ResourceSpec, ...] = ()


class NodeResourcesMostAllocatedArgs(Args):
    resources: tuple[ResourceSpec, ...] = ()


class RequestedToCapacityRatioArgs(Args):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


ARGS: dict[str, type[Args]] = {
    struct.__name__.removesuffix("Args"): struct
    for struct in (
        DefaultPreemptionArgs,
        DynamicResourcesArgs,
        InterPodAffinityArgs,
        NodeAffinityArgs,
        NodeResourcesBalancedAllocationArgs,
        NodeResourcesFitArgs,
        PodTopologySpreadArgs,
        VolumeBindingArgs,
    )
}
LEGACY_ARGS: dict[str, type[Args]] = {
    struct.__name__.removesuffix("Args"): struct
    for struct in (
        NodeLabelArgs,
        NodeResourcesLeastAllocatedArgs,
        NodeResourcesMostAllocatedArgs,
        RequestedToCapacityRatioArgs,
        ServiceAffinityArgs,
    )
}
"""Those of plugins that only old minors have."""
