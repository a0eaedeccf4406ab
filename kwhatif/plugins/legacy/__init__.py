"""Plugins that legacy policies need and newer kube-schedulers have no more."""

from __future__ import annotations

from typing import Any

from kwhatif.framework.interface import Plugin
from kwhatif.plugins.legacy.node_label import NodeLabel
from kwhatif.plugins.legacy.node_prefer_avoid_pods import NodePreferAvoidPods
from kwhatif.plugins.legacy.node_resource_limits import NodeResourceLimits
from kwhatif.plugins.legacy.node_resources_least_allocated import NodeResourcesLeastAllocated
from kwhatif.plugins.legacy.node_resources_most_allocated import NodeResourcesMostAllocated
from kwhatif.plugins.legacy.requested_to_capacity_ratio import RequestedToCapacityRatio
from kwhatif.plugins.legacy.selector_spread import SelectorSpread
from kwhatif.plugins.legacy.service_affinity import ServiceAffinity

__all__ = ["LEGACY"]

LEGACY: tuple[type[Plugin[Any, Any]], ...] = (
    NodeLabel,
    NodePreferAvoidPods,
    NodeResourceLimits,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
    SelectorSpread,
    ServiceAffinity,
)
