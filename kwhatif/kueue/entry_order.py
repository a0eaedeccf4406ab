"""The order in which the heads of a cycle are processed.

Upstream: classicalIterator in pkg/scheduler/scheduler.go, and fair_sharing_iterator.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cmp_to_key
from typing import Protocol, TypeVar

from kwhatif.kueue.assignment import Assignment
from kwhatif.kueue.cluster_queue import ClusterQueue, active_members, active_queues
from kwhatif.kueue.quota_tree import CohortNode, QuotaNode
from kwhatif.kueue.shares import Share, compare, share_of
from kwhatif.kueue.workload import Usage, Workload


class Nominated(Protocol):
    """A head with an assignment."""

    workload: Workload
    queue: ClusterQueue | None
    assignment: Assignment | None

    @property
    def usage(self) -> Usage: ...


E = TypeVar("E", bound=Nominated)


def classical_order(entries: Sequence[E]) -> list[E]:
    """Those that borrow least, then those of high priority, then the oldest."""

    def order(entry: E) -> tuple[int, int, int]:
        borrowing_level = entry.assignment.borrowing_level if entry.assignment is not None else 0
        return borrowing_level, -entry.workload.priority, entry.workload.queue_time

    return sorted(entries, key=order)


def fair_order(entries: Sequence[E]) -> Iterator[E]:
    """By a tournament in each tree, anew after every entry: at each level the node that would have the smallest share.

    Which tree comes next is left to chance upstream; here it is the one with the first ClusterQueue by name.
    """
    left = {entry.queue: entry for entry in entries if entry.queue is not None}
    while left:
        queue = min(left, key=lambda cluster_queue: cluster_queue.name)
        if queue.parent is None:
            yield left.pop(queue)
            continue
        root = queue.parent.root
        shares = _shares_with(root, left)
        winner = _run_tournament(root, left, shares)
        assert winner is not None
        assert winner.queue is not None
        del left[winner.queue]
        yield winner


_Shares = dict[tuple[QuotaNode, str], Share]
"""By Cohort and workload: the share of the Cohort's child that leads to the workload, with it admitted."""


def _shares_with(root: CohortNode, left: Mapping[ClusterQueue, E]) -> _Shares:
    shares: _Shares = {}
    for queue in active_queues(root):
        entry = left.get(queue)
        if entry is None:
            continue
        usage = Usage(entry.usage.quota)
        queue.count(usage)
        share = share_of(queue)
        for ancestor in queue.ancestors:
            shares[ancestor, entry.workload.key] = share
            share = share_of(ancestor)
        queue.discount(usage)
    return shares


def _run_tournament(cohort: CohortNode, left: Mapping[ClusterQueue, E], shares: _Shares) -> E | None:
    candidates = [winner for child in cohort.cohorts if (winner := _run_tournament(child, left, shares)) is not None]
    candidates += [left[queue] for queue in active_members(cohort) if queue in left]
    if not candidates:
        return None

    def order(one: E, other: E) -> int:
        mine, theirs = shares[cohort, one.workload.key], shares[cohort, other.workload.key]
        is_borrowing = mine.is_borrowing_on(one.usage.quota), theirs.is_borrowing_on(other.usage.quota)
        if is_borrowing[0] != is_borrowing[1]:
            return 1 if is_borrowing[0] else -1
        if (by_share := compare(mine, theirs)) != 0:
            return by_share
        if one.workload.priority != other.workload.priority:
            return other.workload.priority - one.workload.priority
        return (one.workload.queue_time > other.workload.queue_time) - (
            one.workload.queue_time < other.workload.queue_time
        )

    return min(candidates, key=cmp_to_key(order))
