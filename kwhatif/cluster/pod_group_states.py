"""Which pods belong to which group, and how many of them have a node.

Upstream: pkg/scheduler/backend/cache/podgroupstate.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from kwhatif.api.kinds import Objects
from kwhatif.api.pod_groups import PodGroup
from kwhatif.cluster.shapes import PodInfo

GroupKey = tuple[str, str]
"""(namespace, name)."""
Find = Callable[[str], tuple[PodInfo, int] | None]
"""Pod and row of its node, by uid; None for a pod without a node."""


class GroupMemberships(msgspec.Struct, frozen=True):
    """The groups of a cluster, the members that wait, and all members, as they were at a moment."""

    objects: Mapping[GroupKey, PodGroup]
    pending: Mapping[str, PodInfo]
    members: Mapping[GroupKey, Mapping[str, PodInfo]]


class PodGroupStates:
    """The PodGroup objects of a cluster, and the members that are known, in order of arrival.

    A member counts while it has a node or is ``pending``: a pod that has left its node is gone. During the cycle of a
    group a snapshot says who has which node, to which the members that are assumed are added: pods that are only
    imagined away, to see whether preemption would help, still count, as upstream.
    """

    KINDS = frozenset({PodGroup.__name__})

    def __init__(self, objects: Objects) -> None:
        self.objects: dict[GroupKey, PodGroup] = {(g.namespace, g.name): g for g in objects.list_all(PodGroup)}
        self.pending: dict[str, PodInfo] = {}
        self._members: dict[GroupKey, dict[str, PodInfo]] = {}
        self._snapshots: dict[GroupKey, dict[str, int]] = {}

    def fork(self) -> PodGroupStates:
        """An independent copy; the objects are shared."""
        twin = object.__new__(PodGroupStates)
        twin.objects, twin.pending = dict(self.objects), dict(self.pending)
        twin._members = {key: dict(members) for key, members in self._members.items()}
        twin._snapshots = {}
        return twin

    def checkpoint(self) -> GroupMemberships:
        """Which groups and members there are, to ``go_back`` to. Who has which node is the cluster's."""
        members = {key: dict(members) for key, members in self._members.items()}
        return GroupMemberships(dict(self.objects), dict(self.pending), members)

    def go_back(self, to: GroupMemberships) -> None:
        """Undo all that has changed since a checkpoint, but for the cycle of a group that is under way."""
        self.objects, self.pending = dict(to.objects), dict(to.pending)
        self._members = {key: dict(members) for key, members in to.members.items()}

    def reread(self, objects: Objects) -> None:
        """The PodGroup objects are others from now on; the members stay."""
        self.objects = PodGroupStates(objects).objects

    # --- members

    def of(self, pod: PodInfo) -> PodGroup | None:
        """The group that a pod names, if it names one that exists."""
        key = group_key(pod)
        return None if key is None else self.objects.get(key)

    def add(self, pod: PodInfo, *, pending: bool = False) -> None:
        """A pod has arrived; it is a member of the group that it names."""
        key = group_key(pod)
        if key is not None:
            self._members.setdefault(key, {})[pod.uid] = pod
            if pending:
                self.pending[pod.uid] = pod

    def remove(self, pod: PodInfo) -> None:
        """A pod is no more."""
        self.pending.pop(pod.uid, None)
        key = group_key(pod)
        if key is not None:
            self._members.get(key, {}).pop(pod.uid, None)

    def members(self, key: GroupKey) -> Mapping[str, PodInfo]:
        """All members that were ever there, by uid."""
        return self._members.get(key, {})

    def list_groups(self) -> Iterator[GroupKey]:
        """The groups that pods name."""
        return iter(self._members)

    def all_pods_count(self, key: GroupKey, find: Find) -> int:
        """How many members there are, with a node or without."""
        return sum(uid in self.pending or find(uid) is not None for uid in self.members(key))

    def has_pods(self, key: GroupKey, number: int, find: Find) -> bool:
        """Whether there are at least that many members, with a node or without."""
        return len(self.members(key)) >= number and self.all_pods_count(key, find) >= number

    def has_bound(self, key: GroupKey, find: Find) -> bool:
        """Whether a member runs already, apart from those that the cycle under way has assumed."""
        return any(uid not in self.pending and find(uid) is not None for uid in self.members(key))

    # --- who has a node

    def scheduled_pods(self, key: GroupKey, find: Find) -> Mapping[str, int]:
        """The row of each member that has a node, or is assumed to have one."""
        snapshot = self._snapshots.get(key)
        if snapshot is not None:
            return snapshot
        entries = ((uid, find(uid)) for uid in self.members(key))
        return {uid: entry[1] for uid, entry in entries if entry is not None}

    def take_snapshot(self, key: GroupKey, find: Find) -> None:
        """A cycle of the group begins."""
        self._snapshots.pop(key, None)
        self._snapshots[key] = dict(self.scheduled_pods(key, find))

    def drop_snapshot(self, key: GroupKey) -> None:
        """The decision about the group is made; from now on what is bound counts."""
        self._snapshots.pop(key, None)

    def assume(self, pod: PodInfo, row: int) -> None:
        """The cycle of a pod's group counts it on a node."""
        key = group_key(pod)
        if key in self._snapshots:
            self._snapshots[key][pod.uid] = row

    def forget(self, pod: PodInfo) -> None:
        """Undo ``assume``."""
        key = group_key(pod)
        if key in self._snapshots:
            self._snapshots[key].pop(pod.uid, None)


def group_key(pod: PodInfo) -> GroupKey | None:
    """The group that a pod names, whether or not it exists."""
    group = pod.shape.spec.scheduling_group
    return None if group is None else (pod.shape.namespace, group.pod_group_name or "")
