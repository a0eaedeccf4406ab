"""PodGroupPodsCount: favours placements in which more members of a group get nodes.

Upstream: plugins/podgrouppodscount/podgroup_pods_count.go.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import MappingProxyType

from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import MAX_SCORE, Plugin
from kwhatif.framework.placement import PodGroupAssignments
from kwhatif.framework.status import Status
from kwhatif.versions import Features


class PodGroupPodsCount(Plugin[None, None]):
    name = "PodGroupPodsCount"
    depends_on_labels = False
    events_to_register = MappingProxyType({})

    @classmethod
    def exists(cls, features: Features) -> bool:
        return features.pod_group_placement

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        return ("placementScore",)

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        return DefaultPlugin(270, weight=1) if features.topology_aware_workload_scheduling else None

    def score_placement(self, assignments: PodGroupAssignments, cluster: Cluster) -> int:
        return len(cluster.pod_groups.scheduled_pods(assignments.group, cluster.find)) + len(assignments.pods)

    def normalize_placement_scores(self, scores: Sequence[int]) -> list[int] | Status:
        most = max(scores, default=0)
        if most == 0:
            return Status.error("no pods from pod group are assigned to any of the candidate placements")
        return [score * MAX_SCORE // most for score in scores]
