"""Limits of the whole cluster: how many cores and how much memory its nodes may have together.

Upstream: cluster-autoscaler/resourcequotas (tracker.go, usage.go, cache.go).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.api.core import Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import GIB, Flags
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroup, NodeGroups

_VIRTUAL = ("type", "virtual-kubelet")


class ClusterLimits:
    """What is left of them. All nodes of a group count as much as the first one met."""

    def __init__(self, left: dict[str, int], counted: dict[str, dict[str, int]]) -> None:
        self._left, self._counted = left, counted

    @classmethod
    def most(cls, nodes: Sequence[Node], groups: NodeGroups, flags: Flags) -> ClusterLimits:
        """How much may be added to these nodes."""
        used, counted = _used(nodes, groups)
        limits = {"cpu": flags.cores_total.most, "memory": flags.memory_total.most * GIB}
        return cls({name: max(0, limit - used[name]) for name, limit in limits.items()}, counted)

    @classmethod
    def least(cls, nodes: Sequence[Node], groups: NodeGroups, flags: Flags) -> ClusterLimits:
        """How much may be taken away from these nodes."""
        used, counted = _used(nodes, groups)
        limits = {"cpu": flags.cores_total.least, "memory": flags.memory_total.least * GIB}
        return cls({name: max(0, used[name] - limit) for name, limit in limits.items()}, counted)

    def allowed(self, group: NodeGroup, node: Node, count: int) -> tuple[int, list[str]]:
        """How many of so many nodes of a group the limits allow, and the resources that there is too little of."""
        allowed, exceeded = count, []
        for name, amount in sorted(self._each(group, node).items()):
            if amount > 0 and self._left[name] < amount * count:
                allowed = min(allowed, self._left[name] // amount)
                exceeded.append(name)
        return allowed, exceeded

    def consume(self, group: NodeGroup, node: Node, count: int) -> list[str]:
        """Count nodes of a group, if the limits allow all of them; else the resources that there is too little of."""
        allowed, exceeded = self.allowed(group, node, count)
        if allowed == count:
            for name, amount in self._each(group, node).items():
                self._left[name] = max(0, self._left[name] - amount * count)
        return exceeded

    def _each(self, group: NodeGroup, node: Node) -> dict[str, int]:
        return self._counted.setdefault(group.name, _amounts(node))


def _used(nodes: Sequence[Node], groups: NodeGroups) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """What all nodes have together, and what each node of a group counts as."""
    counted: dict[str, dict[str, int]] = {}
    total = {"cpu": 0, "memory": 0}
    key, virtual = _VIRTUAL
    for node in nodes:
        if (node.metadata.labels or {}).get(key) == virtual:
            continue
        group = groups.of(node.name)
        amounts = _amounts(node) if group is None else counted.setdefault(group.name, _amounts(node))
        for name, amount in amounts.items():
            total[name] += amount
    return total, counted


def _amounts(node: Node) -> dict[str, int]:
    """Whole cores and bytes of a node's capacity."""
    capacity = node.status.capacity or {}
    return {name: max(0, capacity[name].value()) if name in capacity else 0 for name in ("cpu", "memory")}
