"""Pods with a node, indexed by a key such as a label's value, and kept up to date by the cluster's journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.shapes import PodInfo

_NOBODY: Mapping[str, tuple[PodInfo, int]] = MappingProxyType({})


class Follower(Protocol):
    """Called for each pod that is added to a node or leaves it."""

    def come(self, info: PodInfo, row: int) -> None: ...

    def leave(self, info: PodInfo, row: int) -> None: ...


class Following:
    """Notifies a follower of a cluster's pods; a changed pod leaves and is added again."""

    def __init__(self, cluster: Cluster, follower: Follower) -> None:
        self._cluster, self._follower = cluster, follower
        self._known: list[list[PodInfo]] = [[] for _ in range(len(cluster))]
        self._seen = len(cluster.journal)
        for row, infos in enumerate(cluster.pods_on):
            self._look(row, infos)

    def catch_up(self) -> None:
        """Notify the follower of all changes since the last call."""
        cluster = self._cluster
        if self._seen == len(cluster.journal):
            return
        for row in set(cluster.list_changed_rows(self._seen)):
            self._look(row, cluster.pods_on[row])
        self._seen = len(cluster.journal)

    def _look(self, row: int, now: list[PodInfo]) -> None:
        before = self._known[row]
        if before is now:
            return
        # Where pods have only come, or the last has gone, the others need not be compared.
        stay = min(len(before), len(now))
        if before[:stay] == now[:stay]:
            gone, come = before[stay:], now[stay:]
        else:
            of_before, of_now = set(map(id, before)), set(map(id, now))
            gone = [info for info in before if id(info) not in of_now]
            come = [info for info in now if id(info) not in of_before]
        for info in gone:
            self._follower.leave(info, row)
        for info in come:
            self._follower.come(info, row)
        self._known[row] = now


class FollowedPods:
    """Pods with their rows by ``key``, by uid; pods without a key are ignored."""

    def __init__(self, cluster: Cluster, key: Callable[[PodInfo], str]) -> None:
        self._key = key
        self._pods: dict[str, dict[str, tuple[PodInfo, int]]] = {}
        self._following = Following(cluster, self)

    def pods_of(self, key: str) -> Mapping[str, tuple[PodInfo, int]]:
        """The pods of this key, by uid."""
        self._following.catch_up()
        return self._pods.get(key, _NOBODY)

    def come(self, info: PodInfo, row: int) -> None:
        key = self._key(info)
        if key:
            self._pods.setdefault(key, {})[info.uid] = info, row

    def leave(self, info: PodInfo, row: int) -> None:
        key = self._key(info)
        if key:
            pods = self._pods[key]
            del pods[info.uid]
            if not pods:
                del self._pods[key]


@cached_per_cluster
def followed_by_label(cluster: Cluster, label: str, *, in_namespace: bool = False) -> FollowedPods:
    """Pods by the value of a label, or by ``namespace/value``."""
    return FollowedPods(cluster, lambda info: label_key_of(info, label, in_namespace=in_namespace))


def label_key_of(info: PodInfo, label: str, *, in_namespace: bool) -> str:
    """The label's value, or ``namespace/`` and the value; empty for a pod without it."""
    value = info.shape.labels.get(label, "")
    return f"{info.shape.namespace}/{value}" if value and in_namespace else value
