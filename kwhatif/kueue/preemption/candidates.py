"""Who may be preempted, and in which order.

Upstream: pkg/scheduler/preemption/common and the findCandidates functions of preemption.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from kwhatif.kueue.amounts import UNLIMITED, FlavorResource, Quantities
from kwhatif.kueue.cluster_queue import ANY, LOWER_OR_NEWER, LOWER_PRIORITY, ClusterQueue
from kwhatif.kueue.topology.pod_set_request import TopologyRequests
from kwhatif.kueue.workload import EVICTED, QUOTA_RESERVED, Usage, Workload

IN_CLUSTER_QUEUE = "InClusterQueue"
IN_COHORT_RECLAMATION = "InCohortReclamation"
IN_COHORT_FAIR_SHARING = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"

REASONS = {
    IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    IN_COHORT_RECLAMATION: "reclamation within the cohort",
    IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
    IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}
"""In words."""


class Target(msgspec.Struct, frozen=True):
    """A workload that would have to leave, why, and its ClusterQueue."""

    workload: Workload
    reason: str
    queue: ClusterQueue


class Preemptor(msgspec.Struct, frozen=True):
    """Who needs what: the workload, its queue, what of it only others can give, and all that it would use.

    ``memo`` is what was worked out of the queue's tree.
    """

    workload: Workload
    queue: ClusterQueue
    needs_preemption: frozenset[FlavorResource]
    usage: Usage
    topology: TopologyRequests
    now: int
    memo: dict[Hashable, Any]

    def fits(self, *, may_borrow: bool) -> bool:
        """Whether it would fit as things are."""
        for key, amount in self.usage.quota.items():
            if not may_borrow and self.queue.is_borrowing_with(key, amount):
                return False
            if amount > self.queue.free_quota(key):
                return False
        return not any(isinstance(place, str) for place in self.queue.place(self.topology).values())

    def could_fit(self, usage: Quantities) -> bool:
        """False where there would be too little quota even if nobody used ``usage``: each who goes frees at most what
        it uses, wherever in the tree.
        """
        for key, amount in self.usage.quota.items():
            freed = usage.get(key, 0)
            if freed < UNLIMITED and amount > max(0, self.queue.available(key) + freed):
                return False
        return True

    def order_of(self, candidate: Workload) -> tuple[bool, bool, int, int, str]:
        """Those that leave already, then those of other queues, of low priority, admitted last."""
        stays, priority, since, uid = order_within(candidate, self.now)
        return stays, candidate.cluster_queue == self.queue.name, priority, since, uid


def order_within(candidate: Workload, now: int) -> tuple[bool, int, int, str]:
    """Among candidates of the preemptor's queue, and among those of all others: as ``order_of``."""
    reserved = candidate.conditions.get(QUOTA_RESERVED)
    since = reserved.time if reserved is not None and reserved.status else now
    return not candidate.is_true(EVICTED), candidate.priority, -since, candidate.uid


def add_quantities(parts: Iterable[Quantities]) -> Quantities:
    """What is used together of each quota."""
    total: Quantities = {}
    for part in parts:
        for key, amount in part.items():
            total[key] = total.get(key, 0) + amount
    return total


def satisfies_policy(preemptor: Workload, candidate: Workload, policy: str) -> bool:
    if policy in (LOWER_PRIORITY, LOWER_OR_NEWER) and preemptor.priority > candidate.priority:
        return True
    if policy == LOWER_OR_NEWER:
        return preemptor.priority == candidate.priority and preemptor.queue_time < candidate.queue_time
    return policy == ANY


def fill_back(preemptor: Preemptor, targets: list[Target], *, may_borrow: bool, with_topology: bool) -> list[Target]:
    """Leave out whom the preemptor can do without, beginning with the last but one."""
    for index in range(len(targets) - 2, -1, -1):
        target = targets[index]
        target.queue.add_workload(target.workload, with_topology=with_topology)
        if preemptor.fits(may_borrow=may_borrow):
            # The last one takes its place, which decides the order of what is tried next.
            targets[index] = targets[-1]
            targets.pop()
        else:
            target.queue.remove_workload(target.workload, with_topology=with_topology)
    return targets


@contextmanager
def keep_content(queues: Iterable[ClusterQueue]) -> Iterator[None]:
    """In the end all that these queues use in topologies is as it is now."""
    columns = {topology.tree.columns for queue in set(queues) for topology in queue.topologies.values()}
    contents = [(leaves, leaves.content) for leaves in columns]
    yield
    for leaves, content in contents:
        leaves.content = content


def restore(targets: Sequence[Target], *, with_topology: bool) -> None:
    for target in targets:
        target.queue.add_workload(target.workload, with_topology=with_topology)
