"""TopologicalSort: within an AppGroup, workloads in the order of their dependencies; else by priority and time.

Its comparison says yes in both directions for workloads of equal place, and pods of different groups are compared
otherwise than those of one, so the order is that of the queue's heap and of nothing simpler.

Upstream: pkg/networkaware/topologicalsort/topologicalsort.go of scheduler-plugins.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.scheduler_plugins import APP_GROUP_LABEL, WORKLOAD_LABEL, AppGroup
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Dependency, Plugin
from kwhatif.plugins.shared.app_groups import first_named, search_halves
from kwhatif.versions import Features


class TopologicalSortArgs(Args):
    namespaces: tuple[str, ...] = ()


class _Turn(msgspec.Struct, frozen=True, eq=False):
    """A pod's place among others."""

    plugin: TopologicalSort
    pod: PodInfo
    order: int

    def __lt__(self, other: _Turn) -> bool:
        group = self.pod.shape.labels.get(APP_GROUP_LABEL, "")
        if not group or group != other.pod.shape.labels.get(APP_GROUP_LABEL, ""):
            return (-self.pod.priority, self.order) < (-other.pod.priority, other.order)
        return self.plugin.index_of(group, self.pod) <= self.plugin.index_of(group, other.pod)


class TopologicalSort(Plugin[None, None]):
    name = "TopologicalSort"
    args = TopologicalSortArgs
    orders_by_heap = True
    dependencies = MappingProxyType({"AppGroup": Dependency("the queue follows dependencies of workloads with it")})

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        return replace(args, namespaces=args.namespaces or ("default",))

    def queue_key(self, pod: PodInfo, order: int) -> _Turn:
        return _Turn(self, pod, order)

    def index_of(self, group: str, pod: PodInfo) -> int:
        """The place of a pod's workload, -1 where it is not found."""
        cluster = self.handle.cluster
        known = None if cluster is None else first_named(cluster, AppGroup, self.handle.args.namespaces, group)
        places = (known.status.topology_order if known is not None else None) or []
        wanted = pod.shape.labels.get(WORKLOAD_LABEL, "")
        item = search_halves(places, lambda place: place.workload.selector, wanted)
        return -1 if item is None else item.index
