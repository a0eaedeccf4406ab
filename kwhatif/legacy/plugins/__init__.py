"""Plugins that legacy policies need and newer kube-schedulers have no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.framework.interface import Plugin
from kwhatif.legacy.plugins.node_label import NodeLabel
from kwhatif.legacy.plugins.node_prefer_avoid_pods import NodePreferAvoidPods
from kwhatif.legacy.plugins.node_resource_limits import NodeResourceLimits
from kwhatif.legacy.plugins.resource_scorer import (
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
)
from kwhatif.legacy.plugins.selector_spread import SelectorSpread
from kwhatif.legacy.plugins.service_affinity import ServiceAffinity

__all__ = ["LEGACY"]

LEGACY: Mapping[str, type[Plugin[Any, Any]]] = {
    plugin.name: plugin
    for plugin in (
        NodeLabel,
        NodePreferAvoidPods,
        NodeResourceLimits,
        NodeResourcesLeastAllocated,
        NodeResourcesMostAllocated,
        RequestedToCapacityRatio,
        SelectorSpread,
        ServiceAffinity,
    )
}
"""Name -> class."""
