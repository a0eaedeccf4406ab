"""Preemption by shares: who borrows most gives first, as far as the strategies allow it.

Upstream: pkg/scheduler/preemption/fairsharing, and fairPreemptions in preemption.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kwhatif.kueue.cluster_queue import NEVER, ClusterQueue, active_members, active_queues
from kwhatif.kueue.configuration import FINAL_SHARE
from kwhatif.kueue.preemption.candidates import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAMATION,
    Preemptor,
    Target,
    add_quantities,
    fill_back,
    restore,
    satisfies_policy,
)
from kwhatif.kueue.quota_tree import CohortNode, QuotaNode
from kwhatif.kueue.shares import NEGATIVE, Share, compare, share_of
from kwhatif.kueue.workload import Workload


def find_targets(preemptor: Preemptor, strategies: Sequence[str]) -> list[Target]:
    """Whom to preempt; nobody if that would not help."""
    candidates = _find_candidates(preemptor)
    if not candidates or not preemptor.could_fit(add_quantities(candidate.usage.quota for candidate in candidates)):
        return []
    candidates = sorted(candidates, key=preemptor.order_of)
    # 1. Shares are compared as if the preemptor were admitted (upstream: SimulateUsageAddition).
    preemptor.queue.count(preemptor.usage)
    # 2. The first strategy, and the second one for those that the first one spared.
    fits, targets, retry_candidates = _run_first_strategy(preemptor, candidates, strategies[0])
    if not fits and len(strategies) > 1:
        fits = _run_second_strategy(preemptor, retry_candidates, targets)
    preemptor.queue.discount(preemptor.usage)
    if not fits:
        restore(targets, with_topology=True)
        return []
    # 3. Whoever need not have gone stays.
    targets = fill_back(preemptor, targets, may_borrow=True, with_topology=True)
    restore(targets, with_topology=True)
    return targets


def _find_candidates(preemptor: Preemptor) -> list[Workload]:
    queue, policies = preemptor.queue, preemptor.queue.preemption

    def candidates_of(other: ClusterQueue, policy: str) -> list[Workload]:
        return [
            workload
            for workload in other.workloads.values()
            if satisfies_policy(preemptor.workload, workload, policy)
            and not workload.used_flavors.isdisjoint(preemptor.needs_preemption)
        ]

    candidates = [] if policies.within_cluster_queue == NEVER else candidates_of(queue, policies.within_cluster_queue)
    if queue.parent is not None and policies.reclaim_within_cohort != NEVER:
        for other in active_queues(queue.parent.root):
            if other is not queue and other.is_borrowing(preemptor.needs_preemption):
                candidates += candidates_of(other, policies.reclaim_within_cohort)
    return candidates


def _fits(preemptor: Preemptor) -> bool:
    """Whether it fits, without what was counted of it for the sake of shares."""
    preemptor.queue.discount(preemptor.usage)
    fits = preemptor.fits(may_borrow=True)
    preemptor.queue.count(preemptor.usage)
    return fits


def _take(targets: list[Target], workload: Workload, queue: ClusterQueue, reason: str) -> None:
    queue.remove_workload(workload)
    targets.append(Target(workload, reason, queue))


def _run_first_strategy(
    preemptor: Preemptor, candidates: Sequence[Workload], strategy: str
) -> tuple[bool, list[Target], list[Workload]]:
    """Whether it fits after it, who goes, and who may go by the second one (upstream: runFirstFsStrategy)."""
    order = _TargetClusterQueueOrdering(preemptor, candidates)
    targets: list[Target] = []
    retry_candidates: list[Workload] = []
    is_within_nominal = not preemptor.queue.is_borrowing(preemptor.needs_preemption)
    for queue in order:
        if queue is preemptor.queue or is_within_nominal:
            reason = IN_CLUSTER_QUEUE if queue is preemptor.queue else IN_COHORT_RECLAMATION
            _take(targets, order.pop(queue), queue, reason)
            if _fits(preemptor):
                return True, targets, []
            continue
        preemptor_node, target_node = order.nodes_below_common(queue)
        preemptor_new_share, target_old_share = share_of(preemptor_node), share_of(target_node)
        if math.isinf(preemptor_new_share.weighted_ratio) and not math.isinf(target_old_share.weighted_ratio):
            # No candidate of this queue can pass either strategy.
            while order.has_workload(queue):
                retry_candidates.append(order.pop(queue))
            continue
        while order.has_workload(queue):
            workload = order.pop(queue)
            queue.discount(workload.usage)
            target_new_share = share_of(target_node)
            queue.count(workload.usage)
            if not _allows(strategy, preemptor_new_share, target_old_share, target_new_share):
                retry_candidates.append(workload)
                continue
            _take(targets, workload, queue, IN_COHORT_FAIR_SHARING)
            if _fits(preemptor):
                return True, targets, []
            # Another queue may borrow most by now.
            break
    return False, targets, retry_candidates


def _allows(strategy: str, preemptor_new_share: Share, target_old_share: Share, target_new_share: Share) -> bool:
    if strategy == FINAL_SHARE:
        return compare(preemptor_new_share, target_new_share) <= 0
    return compare(preemptor_new_share, target_old_share) < 0


def _run_second_strategy(preemptor: Preemptor, candidates: Sequence[Workload], targets: list[Target]) -> bool:
    """At most one workload of each queue, where the preemptor's share stays below what the queue's was.

    Upstream: runSecondFsStrategy, which goes by LessThanInitialShare whatever the strategies are.
    """
    order = _TargetClusterQueueOrdering(preemptor, candidates)
    for queue in order:
        preemptor_node, target_node = order.nodes_below_common(queue)
        allowed = compare(share_of(preemptor_node), share_of(target_node)) < 0
        workload = order.pop(queue)
        if allowed:
            _take(targets, workload, queue, IN_COHORT_FAIR_SHARING)
            if _fits(preemptor):
                return True
        order.drop(queue)
    return False


class _TargetClusterQueueOrdering:
    """ClusterQueues with candidates: from the root down, always the child with the largest share.

    Upstream: TargetClusterQueueOrdering. Between two steps a workload is popped or the queue is dropped.
    """

    def __init__(self, preemptor: Preemptor, candidates: Sequence[Workload]) -> None:
        self._preemptor = preemptor
        self._ancestors = list(preemptor.queue.ancestors)
        self._candidates: dict[str, list[Workload]] = {}
        for candidate in reversed(candidates):
            self._candidates.setdefault(candidate.cluster_queue, []).append(candidate)
        self._pruned: set[QuotaNode] = set()

    def has_workload(self, queue: QuotaNode) -> bool:
        return bool(self._candidates.get(queue.name))

    def pop(self, queue: ClusterQueue) -> Workload:
        return self._candidates[queue.name].pop()

    def drop(self, queue: ClusterQueue) -> None:
        self._pruned.add(queue)

    def nodes_below_common(self, queue: ClusterQueue) -> tuple[QuotaNode, QuotaNode]:
        """The preemptor's node and the other's right below the lowest Cohort above both (upstream: getAlmostLCAs)."""
        common = next((node for node in queue.ancestors if node in self._ancestors), None)
        return _below(self._preemptor.queue, common), _below(queue, common)

    def __iter__(self) -> Iterator[ClusterQueue]:
        own = self._preemptor.queue
        if own.parent is None:
            while own not in self._pruned and self.has_workload(own):
                yield own
            return
        root = own.parent.root
        while root not in self._pruned:
            queue = self._next_target(root)
            if queue is not None:
                yield queue

    def _next_target(self, cohort: CohortNode) -> ClusterQueue | None:
        """None where something was pruned instead."""
        queue, of_queue = self._largest_queue(cohort)
        child, of_child = self._largest_cohort(cohort)
        if child is None and queue is None:
            self._pruned.add(cohort)
            return None
        # On a tie the Cohort: within it the one that is least fair can be taken.
        if child is not None and compare(of_child, of_queue) >= 0:
            return self._next_target(child)
        return queue

    def _largest_queue(self, cohort: CohortNode) -> tuple[ClusterQueue | None, Share]:
        top: ClusterQueue | None = None
        largest = NEGATIVE
        own = self._preemptor.queue
        for queue in active_members(cohort):
            if queue in self._pruned:
                continue
            share = share_of(queue)
            if (not share.is_borrowing and queue is not own) or not self.has_workload(queue):
                self._pruned.add(queue)
                continue
            order = compare(share, largest)
            if order == 0 and top is not None:
                first, second = self._candidates[queue.name][-1], self._candidates[top.name][-1]
                if self._preemptor.order_of(first) <= self._preemptor.order_of(second):
                    top = queue
            elif order > 0:
                top, largest = queue, share
        return top, largest

    def _largest_cohort(self, cohort: CohortNode) -> tuple[CohortNode | None, Share]:
        top: CohortNode | None = None
        largest = NEGATIVE
        for child in cohort.cohorts:
            if child in self._pruned:
                continue
            share = share_of(child)
            if not share.is_borrowing and child not in self._ancestors:
                self._pruned.add(child)
            elif compare(share, largest) >= 0:
                top, largest = child, share
        return top, largest


def _below(queue: ClusterQueue, common: CohortNode | None) -> QuotaNode:
    node: QuotaNode = queue
    for ancestor in queue.ancestors:
        if ancestor is common:
            return node
        node = ancestor
    return node
