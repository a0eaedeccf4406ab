"""Finds whom a workload would preempt, and says what preemption could do for a flavor that is being considered.

Upstream: pkg/scheduler/preemption/preemption.go (GetTargets) and preemption_oracle.go.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kwhatif.kueue.amounts import FlavorResource
from kwhatif.kueue.assignment import Assignment
from kwhatif.kueue.cluster_queue import ClusterQueue
from kwhatif.kueue.configuration import Configuration
from kwhatif.kueue.flavor_assigner import GranularMode, PreemptionMode
from kwhatif.kueue.preemption import classical, fair_sharing
from kwhatif.kueue.preemption.candidates import REASONS, Preemptor, Target
from kwhatif.kueue.quota_tree import QuotaNode
from kwhatif.kueue.topology.pod_set_request import TopologyRequests
from kwhatif.kueue.workload import JOB_UID_LABEL, Usage, Workload


class PreemptionOracle:
    """The rules of one configuration at one time.

    What is worked out of a quota tree is kept with it until its usage changes for good; once something counts there in
    this cycle only, until more does.
    """

    def __init__(self, configuration: Configuration, now: int) -> None:
        self._configuration, self._now = configuration, now
        self._memos: dict[QuotaNode, dict[frozenset[str], dict[Hashable, Any]]] = {}

    def memo_of(self, queue: ClusterQueue, flavors: frozenset[str]) -> dict[Hashable, Any]:
        """What was worked out of what is used of these flavors in the queue's tree, to be added to."""
        root = queue.root
        if self._configuration.is_fair:
            # Shares are of all that the tree has.
            flavors = frozenset([flavor for flavor, _ in root.subtree_quota])
        return self._memos.get(root, root.memo).setdefault(flavors, {})

    def note_count(self, queue: ClusterQueue) -> None:
        """Something counts in the queue's tree until the cycle is over."""
        self._memos[queue.root] = {}

    def targets(self, workload: Workload, queue: ClusterQueue, assignment: Assignment) -> list[Target]:
        """Who would have to leave for the assignment; nobody if that would not help."""
        usage = Usage(assignment.preemptor_quota)
        return self._find(workload, queue, assignment.needs_preemption, usage, assignment.topology)

    def simulate(self, queue: ClusterQueue, workload: Workload, key: FlavorResource, amount: int) -> GranularMode:
        """What preemption would give one resource in one flavor (upstream: SimulatePreemption)."""
        usage = Usage({key: amount})
        targets = self._find(workload, queue, frozenset((key,)), usage, {})
        if not targets:
            return GranularMode(PreemptionMode.NO_PREEMPTION_CANDIDATES, queue.borrowing_height(key, amount)[0])
        for target in targets:
            target.queue.discount(target.workload.usage.without_topology)
        height, _ = queue.borrowing_height(key, amount)
        for target in targets:
            target.queue.count(target.workload.usage.without_topology)
        own = any(target.queue is queue for target in targets)
        return GranularMode(PreemptionMode.PREEMPT if own else PreemptionMode.RECLAIM, height)

    def _find(
        self,
        workload: Workload,
        queue: ClusterQueue,
        needs: frozenset[FlavorResource],
        usage: Usage,
        topology: TopologyRequests,
    ) -> list[Target]:
        memo = self.memo_of(queue, frozenset([flavor for flavor, _ in needs]))
        preemptor = Preemptor(workload, queue, needs, usage, topology, self._now, memo)
        if self._configuration.is_fair:
            return fair_sharing.find_targets(preemptor, self._configuration.strategies)
        return classical.find_targets(preemptor)


def preemption_message(preemptor: Workload, queue: ClusterQueue, target: Target) -> str:
    """What the conditions of a preempted workload say."""
    uid, job = preemptor.uid or "UNKNOWN", preemptor.labels.get(JOB_UID_LABEL) or "UNKNOWN"
    return (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: {job}) due to {REASONS[target.reason]}; "
        f"preemptor path: {queue.path}; preemptee path: {target.queue.path}"
    )
