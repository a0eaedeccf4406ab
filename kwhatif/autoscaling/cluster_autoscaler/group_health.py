"""The state of node groups: ready, upcoming and missing nodes, and groups that are backed off after failed scale-ups.

Upstream: cluster-autoscaler/clusterstate/clusterstate.go and utils/backoff.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from kwhatif.api.core import Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import NodeGroup, NodeGroups
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import is_suspended, is_to_be_deleted, moment, readiness


class Counts(msgspec.Struct):
    """Names of nodes by the state they are in; ``registered`` are all of them."""

    registered: list[str] = []
    ready: list[str] = []
    unready: list[str] = []
    starting: list[str] = []
    suspended: list[str] = []
    leaving: list[str] = []

    def add(self, node: Node, now: int, startup_time: int) -> None:
        self.registered.append(node.name)
        if is_to_be_deleted(node):
            state = self.leaving
        elif is_suspended(node):
            state = self.suspended
        elif readiness(node).ready:
            state = self.ready
        elif moment(node.metadata.creation_timestamp) + startup_time > now:
            state = self.starting
        else:
            state = self.unready
        state.append(node.name)


class GroupHealth:
    """The state of the cluster's groups at a moment; ``templated`` are the groups with a known template node."""

    def __init__(
        self, nodes: Sequence[Node], groups: NodeGroups, flags: Flags, now: int, templated: Collection[str]
    ) -> None:
        self._flags, self._now, self._templated, self._groups = flags, now, templated, groups
        self._total = Counts()
        self._counts: dict[str, Counts] = {}
        startup_time = flags.max_node_startup_time
        for node in nodes:
            group = groups.group_of(node.name)
            if group is not None:
                # Of nodes without a group, the group met last speaks here as it does upstream.
                startup_time = group.settings.max_node_startup_time
                self._counts.setdefault(group.name, Counts()).add(node, now, startup_time)
            self._total.add(node, now, startup_time)

    @property
    def cluster_is_healthy(self) -> bool:
        unready, flags = len(self._total.unready), self._flags
        most = flags.max_total_unready_percentage / 100.0 * len(self._total.registered)
        return unready <= flags.ok_total_unready_count or unready <= most

    def is_healthy(self, group: NodeGroup) -> bool:
        """Whether not too many of the expected nodes are missing."""
        counts, least = self._counts.get(group.name), group.target - self._count_requested(group)
        if counts is None:
            return group.target == 0 or (least == 0 and group.target > 0)
        missing = least - len(counts.ready) - len(counts.suspended)
        there = len(counts.ready) + len(counts.unready) + len(counts.starting) + len(counts.suspended)
        most = self._flags.max_total_unready_percentage / 100.0 * there
        return missing <= self._flags.ok_total_unready_count or missing <= most

    def is_backed_off(self, group: NodeGroup) -> bool:
        """Whether a scale-up failed recently, or its nodes did not come in time."""
        if group.name not in self._templated:
            return False
        failed = [group.failed_scale_up] if group.failed_scale_up is not None else []
        if self._missing(group) > 0 and self._is_overdue(group):
            failed.append(self._now)
        return any(at + self._flags.initial_node_group_backoff_duration >= self._now for at in failed)

    def may_grow(self, group: NodeGroup) -> bool:
        return self.is_healthy(group) and not self.is_backed_off(group)

    def upcoming(self, group: NodeGroup) -> int:
        """How many nodes were requested and have not come yet."""
        if not self._count_requested(group) or self.is_backed_off(group):
            return 0
        return max(self._missing(group), 0)

    def count_registered(self, group: NodeGroup) -> int:
        """How many nodes it has, in whatever state."""
        counts = self._counts.get(group.name)
        return 0 if counts is None else len(counts.registered)

    def starting(self, group: NodeGroup) -> list[str]:
        """Registered nodes that are not ready yet, which the upcoming ones stand in for."""
        counts = self._counts.get(group.name)
        return counts.starting if counts is not None else []

    def _missing(self, group: NodeGroup) -> int:
        counts = self._counts.get(group.name, Counts())
        return group.target - len(counts.ready) - len(counts.unready) - len(counts.suspended)

    def _is_overdue(self, group: NodeGroup) -> bool:
        requested = group.requested_scale_up
        return requested is not None and requested + group.settings.max_node_provision_time < self._now

    def _count_requested(self, group: NodeGroup) -> int:
        """How many nodes the autoscaler requested and still expects."""
        if group.requested_scale_up is None or self._missing(group) <= 0 or self._is_overdue(group):
            return 0
        return max(group.target - len(group.nodes), 0)
