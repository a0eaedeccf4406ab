"""Plugins for groups of pods, which are known by name but not modelled: profiles with them are refused or do without.

Upstream: plugins/gangscheduling, plugins/podgrouppodscount and plugins/topologyaware.
"""

from __future__ import annotations

from collections.abc import Collection

from kwhatif.framework.declaration import Declaration, DefaultPlugin
from kwhatif.versions import Features


class GangScheduling(Declaration):
    name = "GangScheduling"

    @classmethod
    def exists(cls, features: Features) -> bool:
        return features.gang_scheduling_plugin

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        return ("preEnqueue", *(() if features.pod_group_placement else ("reserve",)), "permit")

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        return DefaultPlugin(250) if features.gang_scheduling else None


class TopologyPlacementGenerator(Declaration):
    name = "TopologyPlacementGenerator"

    @classmethod
    def exists(cls, features: Features) -> bool:
        return features.pod_group_placement

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        return ("placementGenerate",)

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        return DefaultPlugin(260) if features.topology_aware_workload_scheduling else None


class PodGroupPodsCount(Declaration):
    name = "PodGroupPodsCount"

    @classmethod
    def exists(cls, features: Features) -> bool:
        return features.pod_group_placement

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        return ("placementScore",)

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        return DefaultPlugin(270, weight=1) if features.topology_aware_workload_scheduling else None
