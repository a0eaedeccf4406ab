"""TopologyPlacementGenerator: for a group with a topology constraint, one placement for each domain.

Upstream: plugins/topologyaware/topology_placement.go.
"""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import Dependency, Plugin
from kwhatif.framework.placement import Placement
from kwhatif.framework.status import Status
from kwhatif.versions import Features


def _names_group(pod: PodInfo, cluster: Cluster) -> bool:
    return pod.shape.spec.scheduling_group is not None


class TopologyPlacementGenerator(Plugin[None, None]):
    name = "TopologyPlacementGenerator"
    depends_on_labels = False
    dependencies = MappingProxyType({"PodGroup": Dependency("groups are kept within a topology domain", _names_group)})
    events_to_register = MappingProxyType({})

    @classmethod
    def exists(cls, features: Features) -> bool:
        return features.pod_group_placement

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        return DefaultPlugin(260) if features.topology_aware_workload_scheduling else None

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        return ("placementGenerate",)

    def generate_placements(self, key: GroupKey, cluster: Cluster, parent: Placement) -> list[Placement] | Status:
        group = cluster.pod_groups.objects.get(key)
        if group is None:
            return Status.error(f'podgroup.scheduling.k8s.io "{key[1]}" not found')
        if group.topology_key is None:
            return [parent]
        column = cluster.columns.label(group.topology_key)
        domain = -1
        running = cluster.pod_groups.scheduled_pods(key, cluster.find)
        for uid, row in running.items():
            code = int(column.codes[row])
            pod = cluster.pod_groups.members(key)[uid]
            problem = ""
            if code < 0:
                problem = f"no topology domain found for pod {pod.key}"
            elif domain >= 0 and code != domain:
                there, here = column.values[domain], column.values[code]
                problem = f"more than 1 domain found for pod group: {there}, {here}"
            if problem:
                return Status.error(f"cannot determine domain for already scheduled pods: {problem}")
            domain = code
        domains = _domains(cluster, self, group.topology_key, cluster.membership_version)
        if not running:
            return list(domains)
        return [placement for placement in domains if placement.name == column.values[domain]]


@cached_per_cluster
def _domains(cluster: Cluster, plugin: TopologyPlacementGenerator, key: str, comings: int) -> tuple[Placement, ...]:
    """The active nodes, by the value of a label. Upstream's order is that of a map, which is random."""
    column, rows = cluster.columns.label(key), cluster.node_order
    codes = column.codes[rows]
    order = sorted(set(codes.tolist()) - {-1}, key=lambda code: column.values[code])
    return tuple(Placement(column.values[code], rows[np.flatnonzero(codes == code)]) for code in order)
