"""A scheduling cycle: the heads of all queues are nominated, then admitted one after the other while they still fit.

Upstream: pkg/scheduler/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from kwhatif.kueue.amounts import UNLIMITED, Quantities, add, subtract
from kwhatif.kueue.assignment import Assignment, Mode
from kwhatif.kueue.cluster_queue import ANY, ClusterQueue
from kwhatif.kueue.entry_order import classical_order, fair_order
from kwhatif.kueue.flavor_assigner import FlavorAssigner
from kwhatif.kueue.kueue_objects import KueueState
from kwhatif.kueue.partial_admission import find_most
from kwhatif.kueue.pending_queue import (
    AFTER_NOMINATION,
    NAMESPACE_MISMATCH,
    NO_CANDIDATES,
    NO_FIT,
    PENDING_PREEMPTION,
)
from kwhatif.kueue.pod_amounts import resource_problems
from kwhatif.kueue.preemption.candidates import Target, keep_content
from kwhatif.kueue.preemption.oracle import PreemptionOracle, preemption_message
from kwhatif.kueue.workload import PREEMPTED, Usage, Workload, WorkloadTrace

A = TypeVar("A")
ADMITTED, PREEMPTING, SKIPPED = "admitted", "preempting", "skipped"
PENDING, INADMISSIBLE = "pending", "inadmissible"


class Entry(msgspec.Struct, eq=False):
    """A head, how the cycle found it (``before``), and what becomes of it; ``requeue`` is why it goes back in line."""

    workload: Workload
    queue_name: str
    before: WorkloadTrace
    queue: ClusterQueue | None = None
    assignment: Assignment | None = None
    targets: list[Target] = []
    result: str = PENDING
    requeue: str = ""
    message: str = ""

    @property
    def has_changed(self) -> bool:
        """Whether the workload is no longer as the cycle found it."""
        return not WorkloadTrace.of(self.workload).says_the_same(self.before)

    @property
    def usage(self) -> Usage:
        return Usage() if self.assignment is None else self.assignment.usage


@dataclass(frozen=True, slots=True)
class Cycle:
    """``entries`` in the order of processing, those that were rejected outright last."""

    entries: Sequence[Entry]
    evicted: Sequence[Workload]


class SchedulingCycle:
    """One cycle. What it decides is written to the workloads; caches and queues follow when it is over."""

    def __init__(self, state: KueueState, number: int, now: int) -> None:
        self._state, self._number, self._now = state, number, now
        self._oracle = PreemptionOracle(state.configuration, now)
        self._leaving: dict[str, Target] = {}

    def run(self) -> Cycle | None:
        """None if nothing waits in line."""
        heads = []
        for name, pending in self._state.pending.items():
            if self._state.queues[name].is_active and (workload := pending.pop()) is not None:
                heads.append(Entry(workload, name, WorkloadTrace.of(workload)))
                self._state.items[workload.queue_key].discard(workload.key)
        if not heads:
            return None
        with _Snapshot(self._state):
            return self._process(heads)

    def _process(self, heads: Sequence[Entry]) -> Cycle:
        entries = [head for head in heads if self._nominate(head)]
        rejected = [head for head in heads if head.result == INADMISSIBLE]
        ordered = []
        for entry in self._order(entries):
            ordered.append(entry)
            self._process_entry(entry)
        for entry in (*ordered, *rejected):
            if entry.result != ADMITTED:
                entry.workload.unset_quota("Pending", entry.message, self._now)
        return Cycle((*ordered, *rejected), [target.workload for target in self._leaving.values()])

    def _order(self, entries: list[Entry]) -> Iterator[Entry]:
        if self._state.configuration.is_fair:
            return fair_order(entries)
        return iter(classical_order(entries))

    # --- nomination

    def _nominate(self, entry: Entry) -> bool:
        """Find flavors, unless the workload is rejected outright."""
        queue, workload = self._state.queues[entry.queue_name], entry.workload
        problem, reason = self._admissibility_problem(queue, workload)
        if problem:
            entry.result, entry.message, entry.requeue = INADMISSIBLE, problem, reason
            return False
        entry.queue = queue
        self._assign(entry, queue, None)
        return True

    def _admissibility_problem(self, queue: ClusterQueue, workload: Workload) -> tuple[str, str]:
        if any(check.state in ("Retry", "Rejected") for check in workload.checks):
            return "The workload has failed admission checks", ""
        if queue.is_skipped:
            return f"ClusterQueue {queue.name} is inactive", ""
        labels = self._state.namespaces.get(workload.namespace)
        if labels is None:
            missing = f'namespaces "{workload.namespace}" not found'
            return f'workload namespace "{workload.namespace}" does not exist: {missing}', ""
        if not queue.selector.matches(labels):
            return "workload namespace doesn't match ClusterQueue selector", NAMESPACE_MISMATCH
        if not any(pod_set.is_refused for pod_set in workload.counted):
            return "", ""
        return resource_problems(workload.pod_sets, self._state.pods.limits.of(workload.namespace)), ""

    def _assign(self, entry: Entry, queue: ClusterQueue, pinned: dict[str, dict[str, str]] | None) -> None:
        workload, progress = entry.workload, entry.workload.progress
        if progress is not None and self._number - progress.cycle > 1 and queue.generation > progress.generation:
            workload.progress = None
        assigner = FlavorAssigner(
            workload,
            queue,
            self._state.matcher,
            self._oracle,
            cycle=self._number,
            fair=self._state.configuration.is_fair,
            ignores_undeclared=self._state.configuration.ignores_undeclared,
            pinned=pinned,
        )
        assignment, targets = self._find_assignment(assigner, workload, queue)
        if assignment.mode is Mode.PREEMPT and (workload.wants_topology or queue.has_only_topologies):
            _place_preemptor(assignment, queue, targets)
        entry.assignment, entry.targets = assignment, targets
        entry.message, workload.progress = assignment.message, assignment.progress

    def _find_assignment(
        self, assigner: FlavorAssigner, workload: Workload, queue: ClusterQueue
    ) -> tuple[Assignment, list[Target]]:
        """For all pods, else for as many as can be; and whom to preempt (upstream: getInitialAssignments)."""

        def attempt(counts: Sequence[int] | None) -> tuple[Assignment, list[Target] | None]:
            assignment = assigner.assign(counts)
            if assignment.mode is Mode.FIT:
                return assignment, []
            targets = self._oracle.targets(workload, queue, assignment) if assignment.mode is Mode.PREEMPT else []
            return assignment, targets or None

        full, targets = attempt(None)
        if targets is not None:
            return full, targets
        if workload.can_shrink:

            def fits(counts: list[int]) -> tuple[Assignment, list[Target]] | None:
                assignment, targets = attempt(counts)
                return None if targets is None else (assignment, targets)

            partial = find_most(workload.pod_sets, fits)
            if partial is not None:
                return partial
        return full, []

    # --- admission

    def _process_entry(self, entry: Entry) -> None:
        queue, assignment = entry.queue, entry.assignment
        assert queue is not None
        assert assignment is not None
        if assignment.mode is Mode.NO_FIT:
            entry.requeue = NO_FIT
            return
        fits, only_topology = self._fits(entry, queue)
        if only_topology:
            # Two queues were given the same room: the later one looks for other domains, in the same flavors.
            pinned = {
                pod_set.name: {resource: flavor.name for resource, flavor in pod_set.flavors.items()}
                for pod_set in assignment.pod_sets
            }
            entry.workload.progress = None
            self._assign(entry, queue, pinned)
            assignment = entry.assignment
            assert assignment is not None
            fits, _ = self._fits(entry, queue)
        if assignment.mode is Mode.NO_FIT:
            entry.requeue = NO_FIT
            return
        if assignment.mode is Mode.PREEMPT and not entry.targets:
            entry.requeue = NO_CANDIDATES
            if queue.preemption.reclaim_within_cohort != ANY:
                self._count(queue, Usage(_quota_to_reserve(assignment, queue), entry.usage.topology))
            return
        if any(target.workload.key in self._leaving for target in entry.targets):
            self._skip(entry, "Workload has overlapping preemption targets with another workload")
            return
        if not fits:
            self._skip(entry, "Workload no longer fits after processing another workload")
            return
        self._leaving.update((target.workload.key, target) for target in entry.targets)
        self._count(queue, entry.usage)
        if assignment.mode is Mode.PREEMPT:
            self._preempt(entry, queue)
        else:
            self._admit(entry, queue, assignment)

    def _fits(self, entry: Entry, queue: ClusterQueue) -> tuple[bool, bool]:
        """Whether it fits once all that were preempted have left; and whether only the topology has no room."""
        leaving = [*self._leaving.values()]
        leaving += [target for target in entry.targets if target.workload.key not in self._leaving]
        usage = entry.usage
        # Only those of the same tree have its quota, and only those in the same domains its room.
        root = queue.root
        near = [
            (target.queue, target.workload.usage.without_topology) for target in leaving if target.queue.root is root
        ]
        if not queue.has_quota_for(usage) and not (bool(near) and _without(near, lambda: queue.has_quota_for(usage))):
            return False, False
        if not usage.topology:
            return True, False
        wanted = {(flavor, use.values) for flavor, uses in usage.topology.items() for use in uses}
        there = [
            (target.queue, Usage({}, own))
            for target in leaving
            if (own := target.workload.usage.topology)
            and any((flavor, use.values) in wanted for flavor, uses in own.items() for use in uses)
        ]
        has_room = _without(there, lambda: queue.has_room_for(usage))
        return has_room, not has_room

    def _count(self, queue: ClusterQueue, usage: Usage) -> None:
        """Count what a head takes or keeps from others, until the cycle is over."""
        queue.count(usage)
        self._oracle.note_count(queue)

    @staticmethod
    def _skip(entry: Entry, message: str) -> None:
        entry.result, entry.message = SKIPPED, message

    def _preempt(self, entry: Entry, queue: ClusterQueue) -> None:
        for target in entry.targets:
            message = preemption_message(entry.workload, queue, target)
            target.workload.set_condition(PREEMPTED, True, target.reason, message, self._now)
            target.workload.evict("Preempted", message, self._now)
        entry.workload.progress = None
        entry.message += f". Pending the preemption of {len(entry.targets)} workload(s)"
        entry.result, entry.requeue = PREEMPTING, PENDING_PREEMPTION

    def _admit(self, entry: Entry, queue: ClusterQueue, assignment: Assignment) -> None:
        workload = entry.workload
        pod_sets = [pod_set.as_admission() for pod_set in assignment.pod_sets]
        workload.reserve_quota(queue.name, pod_sets, self._now)
        flavors = {flavor for pod_set in pod_sets for flavor in pod_set.flavors.values()}
        needed = {name for name, own in queue.checks.items() if own & flavors}
        if needed <= {check.name for check in workload.checks}:
            workload.sync_admitted(self._now)
        entry.result, entry.message = ADMITTED, ""


def _without(used: Sequence[tuple[ClusterQueue, Usage]], ask: Callable[[], A]) -> A:
    """The answer while this is not used."""
    if not used:
        return ask()
    with keep_content(queue for queue, _ in used):
        for queue, usage in used:
            queue.discount(usage)
        answer = ask()
        for queue, usage in used:
            queue.count(usage)
    return answer


def requeue_reason(entry: Entry) -> str:
    """Why the queue takes it back: also one that was overtaken."""
    return AFTER_NOMINATION if entry.result == SKIPPED else entry.requeue


def _place_preemptor(assignment: Assignment, queue: ClusterQueue, targets: Sequence[Target]) -> None:
    """Where its pods would go once its targets have left, or in an empty cluster if there are none.

    So that the room is kept for it in this cycle (upstream: updateAssignmentForTAS).
    """
    leaving = [(target.queue, target.workload.usage) for target in targets]
    placed = _without(leaving, lambda: queue.place(assignment.topology)) if targets else assignment.when_empty
    assignment.put_topology(placed)


def _quota_to_reserve(assignment: Assignment, queue: ClusterQueue) -> Quantities:
    """What of free quota a workload without candidates keeps from others (upstream: quotaResourcesToReserve)."""
    quantities: Quantities = {}
    for key, amount in assignment.quota.items():
        quota, used = queue.quota(key), queue.used_amount(key)
        if assignment.borrowing_level > 0:
            limit = UNLIMITED if quota.borrowing_limit is None else quota.borrowing_limit
            most = amount if quota.borrowing_limit is None else subtract(add(quota.nominal, limit), used)
            quantities[key] = min(amount, most)
        else:
            quantities[key] = max(0, min(amount, subtract(quota.nominal, used)))
    return quantities


class _Snapshot:
    """What is counted during a cycle is forgotten after it: the caches hear of admissions and evictions later."""

    def __init__(self, state: KueueState) -> None:
        self._nodes = [*state.queues.values(), *state.cohorts.values()]
        self._columns = [topology.tree.columns for topology in state.topologies.values()]

    def __enter__(self) -> None:
        self._usage = [dict(node.usage) for node in self._nodes]
        self._marks = [columns.mark() for columns in self._columns]

    def __exit__(self, *_: object) -> None:
        for node, usage in zip(self._nodes, self._usage, strict=True):
            node.usage = usage
        for columns, mark in zip(self._columns, self._marks, strict=True):
            columns.go_back(mark)
