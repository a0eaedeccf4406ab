"""GangScheduling: a gang enters the queue once its quorum exists, and is bound once its quorum is assumed.

Upstream: plugins/gangscheduling/gangscheduling.go.
"""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.pod_group_states import group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, Dependency, EventOccurrence, Plugin
from kwhatif.framework.status import PermitWait, Status
from kwhatif.versions import Features

NO_QUORUM_YET = "waiting for minCount pods from a gang to appear in scheduling queue"
NO_QUORUM = "waiting for minCount pods from a gang to be scheduled"
PERMIT_SECONDS = 300.0
"""Seconds for which a member waits for its quorum."""


def _names_group(pod: PodInfo, cluster: Cluster) -> bool:
    return pod.shape.spec.scheduling_group is not None


def _is_of_same_group(waiting: PodInfo, happening: EventOccurrence) -> bool:
    arrived = happening.pod
    return arrived is not None and group_key(waiting) is not None and group_key(waiting) == group_key(arrived)


class GangScheduling(Plugin[None, None]):
    name = "GangScheduling"
    depends_on_labels = False
    dependencies = MappingProxyType({"PodGroup": Dependency("members of a group wait for each other", _names_group)})
    events_to_register = MappingProxyType({ClusterEvent.POD_ADDED: _is_of_same_group})

    @classmethod
    def exists(cls, features: Features) -> bool:
        return features.gang_scheduling_plugin

    @classmethod
    def is_modelled(cls, features: Features) -> bool:
        return features.pod_group_cycles

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        return ("preEnqueue", *(() if features.pod_group_placement else ("reserve",)), "permit")

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        return DefaultPlugin(250) if features.gang_scheduling else None

    def applies_to(self, pod: PodInfo) -> bool:
        return pod.shape.spec.scheduling_group is not None

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        key, cluster = group_key(pod), self.handle.cluster
        if key is None or cluster is None:
            return None
        group = cluster.pod_groups.objects.get(key)
        if group is None:
            return Status.unresolvable(f'waiting for pods\'s pod group "{key[1]}" to appear in scheduling queue')
        if group.min_count is None:
            return None
        if not cluster.pod_groups.has_pods(key, group.min_count, cluster.find):
            return Status.unresolvable(NO_QUORUM_YET)
        return None

    def permit(self, pod: PodInfo, node: str, state: None) -> Status | PermitWait | None:
        key, cluster = group_key(pod), self.handle.cluster
        if key is None or cluster is None:
            return None
        group = cluster.pod_groups.objects.get(key)
        if group is None:
            missing = f'podgroup.scheduling.k8s.io "{key[1]}" not found'
            return Status.error(f"failed to get podGroup {'/'.join(key)}: {missing}")
        if group.min_count is None:
            return None
        scheduled = cluster.pod_groups.scheduled_pods(key, cluster.find)
        if len(scheduled) < group.min_count:
            self.handle.activate([uid for uid in cluster.pod_groups.members(key) if uid not in scheduled])
            return PermitWait(PERMIT_SECONDS, NO_QUORUM)
        for uid in scheduled if self.handle.waiting else ():
            waiting = self.handle.waiting.get(uid)
            if waiting is not None:
                waiting.allow(self.name)
        return None
