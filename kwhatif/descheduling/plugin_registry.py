"""The table of plugins by name (upstream: pkg/descheduler/setupplugins.go)."""

from __future__ import annotations

from typing import Any

from kwhatif.descheduling.framework.plugin import Plugin
from kwhatif.descheduling.plugins.high_node_utilization import HighNodeUtilization
from kwhatif.descheduling.plugins.low_node_utilization import LowNodeUtilization
from kwhatif.descheduling.plugins.pod_life_time import PodLifeTime
from kwhatif.descheduling.plugins.remove_duplicates import RemoveDuplicates
from kwhatif.descheduling.plugins.remove_failed_pods import RemoveFailedPods
from kwhatif.descheduling.plugins.remove_pods_having_too_many_restarts import RemovePodsHavingTooManyRestarts
from kwhatif.descheduling.plugins.remove_pods_violating_inter_pod_anti_affinity import (
    RemovePodsViolatingInterPodAntiAffinity,
)
from kwhatif.descheduling.plugins.remove_pods_violating_node_affinity import RemovePodsViolatingNodeAffinity
from kwhatif.descheduling.plugins.remove_pods_violating_node_taints import RemovePodsViolatingNodeTaints
from kwhatif.descheduling.plugins.remove_pods_violating_topology_spread_constraint import (
    RemovePodsViolatingTopologySpreadConstraint,
)

PLUGINS: dict[str, type[Plugin[Any]]] = {
    plugin.name: plugin
    for plugin in (
        HighNodeUtilization,
        LowNodeUtilization,
        PodLifeTime,
        RemoveDuplicates,
        RemoveFailedPods,
        RemovePodsHavingTooManyRestarts,
        RemovePodsViolatingInterPodAntiAffinity,
        RemovePodsViolatingNodeAffinity,
        RemovePodsViolatingNodeTaints,
        RemovePodsViolatingTopologySpreadConstraint,
    )
}
