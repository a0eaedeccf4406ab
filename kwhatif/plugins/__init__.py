"""The in-tree plugins, one file each, named as upstream names them.

Upstream: pkg/scheduler/framework/plugins/registry.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.framework.interface import Plugin
from kwhatif.plugins.default_binder import DefaultBinder
from kwhatif.plugins.default_preemption import DefaultPreemption
from kwhatif.plugins.dynamic_resources import DynamicResources
from kwhatif.plugins.image_locality import ImageLocality
from kwhatif.plugins.in_tree_volume_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits
from kwhatif.plugins.inter_pod_affinity import InterPodAffinity
from kwhatif.plugins.node_affinity import NodeAffinity
from kwhatif.plugins.node_declared_features import NodeDeclaredFeatures
from kwhatif.plugins.node_name import NodeName
from kwhatif.plugins.node_ports import NodePorts
from kwhatif.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kwhatif.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.plugins.node_unschedulable import NodeUnschedulable
from kwhatif.plugins.node_volume_limits import NodeVolumeLimits
from kwhatif.plugins.pod_topology_spread import PodTopologySpread
from kwhatif.plugins.priority_sort import PrioritySort
from kwhatif.plugins.scheduling_gates import SchedulingGates
from kwhatif.plugins.taint_toleration import TaintToleration
from kwhatif.plugins.volume_binding import VolumeBinding
from kwhatif.plugins.volume_restrictions import VolumeRestrictions
from kwhatif.plugins.volume_zone import VolumeZone

__all__ = ["IN_TREE"]

_PLUGINS: tuple[type[Plugin[Any, Any]], ...] = (
    AzureDiskLimits,
    CinderLimits,
    DefaultBinder,
    DefaultPreemption,
    DynamicResources,
    EBSLimits,
    GCEPDLimits,
    ImageLocality,
    InterPodAffinity,
    NodeAffinity,
    NodeDeclaredFeatures,
    NodeName,
    NodePorts,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
    NodeUnschedulable,
    NodeVolumeLimits,
    PodTopologySpread,
    PrioritySort,
    SchedulingGates,
    TaintToleration,
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
)
IN_TREE: Mapping[str, type[Plugin[Any, Any]]] = {plugin.name: plugin for plugin in _PLUGINS}
"""Name -> class."""
