"""Preemption by priority and by right to the quota, without fair sharing.

Candidates over whom the preemptor has an advantage, since it is closer to the quota that they use, may go whatever
their priority; others by the policies of its queue. Upstream: pkg/scheduler/preemption/classical and
classicalPreemptions in preemption.go.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from kwhatif.kueue.amounts import UNLIMITED, FlavorResource, Quantities
from kwhatif.kueue.cluster_queue import ANY, NEVER, ClusterQueue, active_members
from kwhatif.kueue.preemption.candidates import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_RECLAIM_WHILE_BORROWING,
    IN_COHORT_RECLAMATION,
    Preemptor,
    Target,
    add_quantities,
    fill_back,
    keep_content,
    order_within,
    restore,
    satisfies_policy,
)
from kwhatif.kueue.quota_tree import CohortNode
from kwhatif.kueue.workload import Workload


class Variant(enum.Enum):
    """Why a candidate may be preempted."""

    WITHIN_QUEUE = IN_CLUSTER_QUEUE
    HIERARCHICAL = "hierarchical"
    WITHOUT_BORROWING = "without borrowing"
    WHILE_BORROWING = IN_COHORT_RECLAIM_WHILE_BORROWING

    @property
    def reason(self) -> str:
        if self in (Variant.HIERARCHICAL, Variant.WITHOUT_BORROWING):
            return IN_COHORT_RECLAMATION
        return str(self.value)


class Candidate(msgspec.Struct, frozen=True):
    """A workload that may go. ``common_cohort`` is the lowest Cohort above both queues; None within one."""

    workload: Workload
    queue: ClusterQueue
    common_cohort: CohortNode | None
    variant: Variant
    order: tuple[bool, int, int, str]


def find_targets(preemptor: Preemptor) -> list[Target]:
    """Whom to preempt; nobody if that would not help."""
    own, advantages = _own_holders(preemptor), _advantages(preemptor)
    # Most searches end here, before those of other queues are looked for.
    may_fit = [mode for mode in (True, False) if _could_fit(preemptor, own, advantages, may_borrow=mode)]
    if not may_fit:
        return []
    key = "others", preemptor.queue.name, preemptor.needs_preemption, preemptor.queue.rank_of(preemptor.workload)
    others: Mapping[CohortNode, Holders] | None = preemptor.memo.get(key)
    if others is None:
        others = preemptor.memo[key] = _others_of(preemptor)
    usage = add_quantities((own.usage, *(part.usage for part in others.values())))
    if (not own.holders and not others) or not preemptor.could_fit(usage):
        return []
    hierarchical, by_priority = _by_advantage(preemptor, others, advantages)
    forbidden = not preemptor.queue.preemption.borrow_within_cohort
    if not others or (forbidden and not _is_under_nominal(preemptor)):
        attempts = [True]
    elif forbidden and not hierarchical:
        attempts = [False, True]
    else:
        attempts = [True, False]
    attempts = [may_borrow for may_borrow in attempts if may_borrow in may_fit]
    within = [Candidate(workload, queue, None, Variant.WITHIN_QUEUE, order) for workload, queue, order in own.holders]
    candidates = _in_order(hierarchical, by_priority, within)
    with keep_content(candidate.queue for candidate in candidates):
        return _run_attempts(preemptor, candidates, attempts)


def _run_attempts(preemptor: Preemptor, candidates: Sequence[Candidate], attempts: Sequence[bool]) -> list[Target]:
    """All is as before when it is over."""
    # Where nothing is to be placed, domains need not be counted.
    with_topology = bool(preemptor.topology)
    for may_borrow in attempts:
        targets: list[Target] = []
        for candidate in candidates:
            if not _candidate_is_valid(candidate, preemptor, may_borrow=may_borrow):
                continue
            candidate.queue.remove_workload(candidate.workload, with_topology=with_topology)
            targets.append(Target(candidate.workload, candidate.variant.reason, candidate.queue))
            if preemptor.fits(may_borrow=may_borrow):
                targets = fill_back(preemptor, targets, may_borrow=may_borrow, with_topology=with_topology)
                restore(targets, with_topology=with_topology)
                return targets
        restore(targets, with_topology=with_topology)
    return []


def _is_under_nominal(preemptor: Preemptor) -> bool:
    queue = preemptor.queue
    return all(queue.quota(key).nominal > queue.used_amount(key) for key in preemptor.needs_preemption)


def _in_order(*lists: list[Candidate]) -> list[Candidate]:
    """The lists one after the other, each in order; those that leave already before all others."""
    ordered = [candidate for candidates in lists for candidate in sorted(candidates, key=lambda other: other.order)]
    return sorted(ordered, key=lambda candidate: candidate.order[0])


def _candidate_is_valid(candidate: Candidate, preemptor: Preemptor, *, may_borrow: bool) -> bool:
    """Whether it still is one: its queue, and the Cohorts up to the common one, must have more than is theirs."""
    if candidate.queue is preemptor.queue:
        return True
    if may_borrow and candidate.variant is Variant.WITHOUT_BORROWING:
        return False
    if candidate.queue.is_within_nominal(preemptor.needs_preemption):
        return False
    for node in candidate.queue.ancestors:
        if node is candidate.common_cohort:
            break
        if node.is_within_nominal(preemptor.needs_preemption):
            return False
    return True


Holder = tuple[Workload, ClusterQueue, tuple[bool, int, int, str]]
"""A workload with quota, its queue, and its place among the candidates."""


class Holders(NamedTuple):
    """Who may go, and what they use together."""

    holders: Sequence[Holder]
    usage: Quantities


def _own_holders(preemptor: Preemptor) -> Holders:
    queue = preemptor.queue
    return Holders((), {}) if queue.preemption.within_cluster_queue == NEVER else _holders(preemptor, queue)


def _others_of(preemptor: Preemptor) -> dict[CohortNode, Holders]:
    """Who of other queues may go, whatever the preemptor asks for, by the lowest Cohort above both queues."""
    others: dict[CohortNode, Holders] = {}
    before: CohortNode | None = None
    reclaims = preemptor.queue.preemption.reclaim_within_cohort != NEVER
    for subtree in preemptor.queue.ancestors if reclaims else ():
        parts = [part for part in _holders_below(preemptor, subtree, before) if part.holders]
        if parts:
            holders = [*chain.from_iterable(part.holders for part in parts)]
            others[subtree] = Holders(holders, add_quantities(part.usage for part in parts))
        before = subtree
    return others


def _holders(preemptor: Preemptor, queue: ClusterQueue) -> Holders:
    policies = preemptor.queue.preemption
    policy = policies.within_cluster_queue if queue is preemptor.queue else policies.reclaim_within_cohort
    # By a policy of any workload the preemptor has no say, so that all queues of the tree share what is found.
    rank = None if policy == ANY else preemptor.queue.rank_of(preemptor.workload)
    key = "holders", queue.name, preemptor.needs_preemption, policy, rank
    known: Holders | None = preemptor.memo.get(key)
    if known is None:
        holders = [
            workload
            for workload in queue.workloads.values()
            if not workload.used_flavors.isdisjoint(preemptor.needs_preemption)
            and satisfies_policy(preemptor.workload, workload, policy)
        ]
        usage = add_quantities(victim.usage.quota for victim in holders)
        known = preemptor.memo[key] = Holders(
            [(victim, queue, order_within(victim, preemptor.now)) for victim in holders], usage
        )
    return known


def _holders_below(preemptor: Preemptor, cohort: CohortNode, skip: CohortNode | None) -> Iterator[Holders]:
    for child in cohort.cohorts:
        if child is not skip and not child.is_within_nominal(preemptor.needs_preemption):
            yield from _holders_below(preemptor, child, None)
    for queue in active_members(cohort):
        if queue is not preemptor.queue and not queue.is_within_nominal(preemptor.needs_preemption):
            yield _holders(preemptor, queue)


def _could_fit(preemptor: Preemptor, own: Holders, advantages: Mapping[CohortNode, bool], *, may_borrow: bool) -> bool:
    """False where too little would be left even if all ``own`` went, and nobody else would count."""
    queue = preemptor.queue
    if may_borrow:
        # Only over some of the others it may borrow.
        return queue.preemption.borrow_within_cohort or any(advantages.values()) or preemptor.could_fit(own.usage)
    for key, amount in preemptor.usage.quota.items():
        freed = own.usage.get(key, 0)
        if freed < UNLIMITED and queue.is_borrowing_with(key, amount - freed):
            return False
    return True


def _advantages(preemptor: Preemptor) -> dict[CohortNode, bool]:
    """The Cohorts above it, and whether it has the advantage over workloads that it meets there."""
    advantages: dict[CohortNode, bool] = {}
    rest: Mapping[FlavorResource, int]
    advantage, rest = preemptor.queue.fit_in_quota(preemptor.usage.quota)
    for subtree in preemptor.queue.ancestors:
        advantages[subtree] = advantage
        fits, rest = subtree.fit_in_quota(rest)
        # Once a subtree has the quota, so do all those around it.
        advantage = advantage or fits
    return advantages


def _by_advantage(
    preemptor: Preemptor, others: Mapping[CohortNode, Holders], advantages: Mapping[CohortNode, bool]
) -> tuple[list[Candidate], list[Candidate]]:
    """Candidates over whom it has the advantage, and the rest."""
    hierarchical: list[Candidate] = []
    by_priority: list[Candidate] = []
    for subtree, holders in others.items():
        advantage = advantages[subtree]
        for workload, queue, order in holders.holders:
            variant = Variant.HIERARCHICAL if advantage else _classify_variant(preemptor, workload)
            (hierarchical if advantage else by_priority).append(Candidate(workload, queue, subtree, variant, order))
    return hierarchical, by_priority


def _classify_variant(preemptor: Preemptor, workload: Workload) -> Variant:
    policies = preemptor.queue.preemption
    if not policies.borrow_within_cohort or workload.priority >= preemptor.workload.priority:
        return Variant.WITHOUT_BORROWING
    if policies.max_priority_threshold is not None and workload.priority > policies.max_priority_threshold:
        return Variant.WITHOUT_BORROWING
    return Variant.WHILE_BORROWING
