"""What is left of a quota at a ClusterQueue, and what ends it there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwhatif.kueue.amounts import FlavorResource, add, subtract
from kwhatif.kueue.cluster_queue import ClusterQueue
from kwhatif.kueue.quota_tree import CohortNode, QuotaNode
from kwhatif.kueue.workload import Workload


@dataclass(frozen=True, slots=True)
class Room:
    """``amount`` is free. ``node`` ends it, by its borrowing limit if ``is_limited``, else by the quota of its subtree.

    It is below zero where more is used than there is.
    """

    amount: int
    node: QuotaNode
    is_limited: bool = False

    @property
    def limit(self) -> str:
        """What limits it, in words."""
        sort = "cohort" if isinstance(self.node, CohortNode) else "ClusterQueue"
        name = f"{sort} {self.node.name}"
        return f"the borrowing limit of {name}" if self.is_limited else name


def room_at(node: QuotaNode, key: FlavorResource) -> Room:
    """As ``QuotaNode.available``, with what ends it."""
    if node.parent is None:
        return Room(node.available(key), node)
    above, limit = room_at(node.parent, key), node.quota(key).borrowing_limit
    amount, ends, is_limited = above.amount, above.node, above.is_limited
    if limit is not None:
        local = node.local_quota(key)
        used_above = max(0, subtract(node.used_amount(key), local))
        most = add(subtract(subtract(node.subtree(key), local), used_above), limit)
        if most < amount:
            amount, ends, is_limited = most, node, True
    return Room(add(node.local_available(key), amount), ends, is_limited)


def holders_below(node: QuotaNode, key: FlavorResource) -> list[tuple[ClusterQueue, Workload]]:
    """Who has quota below a node: the lowest priority first, of one priority the latest."""
    holders = [
        (queue, workload)
        for queue in _queues_below(node)
        for workload in queue.workloads.values()
        if workload.usage.quota.get(key, 0) > 0
    ]
    return sorted(holders, key=lambda holder: (holder[1].priority, -holder[1].created, holder[1].key))


def _queues_below(node: QuotaNode) -> Iterator[ClusterQueue]:
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, ClusterQueue):
            yield node
        elif isinstance(node, CohortNode):
            stack += [*node.cohorts, *node.members]
