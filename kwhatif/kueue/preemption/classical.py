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

from kwhatif.kueue.amounts import FlavorResource, Quantities
from kwhatif.kueue.cluster_queue import ANY, NEVER, ClusterQueue, active_members
from kwhatif.kueue.preemption.candidates import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_RECLAIM_WHILE_BORROWING,
    IN_COHORT_RECLAMATION,
    Preemptor,
    Target,
    add_quantities,
    fill_back,
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
    key = "candidates", preemptor.queue.name, preemptor.needs_preemption, preemptor.queue.rank_of(preemptor.workload)
    known: Candidates | None = preemptor.memo.get(key)
    if known is None:
        known = preemptor.memo[key] = _candidates_of(preemptor)
    if (not known.own and not known.others) or not preemptor.could_fit(known.usage):
        return []
    hierarchical, by_priority = _by_advantage(preemptor, known.others)
    own = [Candidate(workload, queue, None, Variant.WITHIN_QUEUE, order) for workload, queue, order in known.own]
    candidates = _in_order(hierarchical, by_priority, own)
    forbidden = not preemptor.queue.preemption.borrow_within_cohort
    if not (hierarchical or by_priority) or (forbidden and not _is_under_nominal(preemptor)):
        attempts = [True]
    elif forbidden and not hierarchical:
        attempts = [False, True]
    else:
        attempts = [True, False]
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


class Candidates(NamedTuple):
    """Who may go, whatever the preemptor asks for: of its own queue, and of others by the lowest Cohort above both.

    ``usage`` is what all of them use.
    """

    own: Sequence[Holder]
    others: Mapping[CohortNode, Sequence[Holder]]
    usage: Quantities


def _candidates_of(preemptor: Preemptor) -> Candidates:
    queue = preemptor.queue
    lists = [] if queue.preemption.within_cluster_queue == NEVER else [_holders(preemptor, queue)]
    own = lists[0].holders if lists else ()
    others: dict[CohortNode, Sequence[Holder]] = {}
    before: CohortNode | None = None
    for subtree in queue.ancestors if queue.preemption.reclaim_within_cohort != NEVER else ():
        subtrees = [below for below in _holders_below(preemptor, subtree, before) if below.holders]
        if subtrees:
            others[subtree] = [*chain.from_iterable(part.holders for part in subtrees)]
            lists += subtrees
        before = subtree
    return Candidates(own, others, add_quantities(candidates.usage for candidates in lists))


class Holders(NamedTuple):
    """Who of one queue may go, and what they use together."""

    holders: Sequence[Holder]
    usage: Quantities


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


def _by_advantage(
    preemptor: Preemptor, others: Mapping[CohortNode, Sequence[Holder]]
) -> tuple[list[Candidate], list[Candidate]]:
    """Candidates over whom it has the advantage, and the rest."""
    hierarchical: list[Candidate] = []
    by_priority: list[Candidate] = []
    rest: Mapping[FlavorResource, int]
    advantage, rest = preemptor.queue.fit_in_quota(preemptor.usage.quota)
    for subtree in preemptor.queue.ancestors if others else ():
        for workload, queue, order in others.get(subtree, ()):
            variant = Variant.HIERARCHICAL if advantage else _classify_variant(preemptor, workload)
            (hierarchical if advantage else by_priority).append(Candidate(workload, queue, subtree, variant, order))
        fits, rest = subtree.fit_in_quota(rest)
        # Once a subtree has the quota, so do all those around it.
        advantage = advantage or fits
    return hierarchical, by_priority


def _classify_variant(preemptor: Preemptor, workload: Workload) -> Variant:
    policies = preemptor.queue.preemption
    if not policies.borrow_within_cohort or workload.priority >= preemptor.workload.priority:
        return Variant.WITHOUT_BORROWING
    if policies.max_priority_threshold is not None and workload.priority > policies.max_priority_threshold:
        return Variant.WITHOUT_BORROWING
    return Variant.WHILE_BORROWING
