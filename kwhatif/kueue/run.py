"""Cycles until nothing moves any more, with what happens between them.

Where time passes in a cluster, here the next thing happens when all is at rest: an evicted workload is gone at once,
and what was set aside comes back once the cycles have come to rest.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kwhatif.api import kueue as api
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.controllers import answer_provisioning, reconcile
from kwhatif.kueue.cycle import ADMITTED, PREEMPTING, Cycle, Entry, SchedulingCycle, requeue_reason
from kwhatif.kueue.kueue_objects import KueueState
from kwhatif.kueue.workload import FINISHED, Workload

MOST_CYCLES = 100_000
"""After so many it is said that workloads never come to rest."""


@dataclass(frozen=True, slots=True)
class RecordedCycle:
    """A cycle, who was evicted in it, and how many workloads were back in line just before it."""

    entries: Sequence[Entry]
    evicted: Sequence[str]
    requeued: int


class KueueRun:
    """Kueue from the start. ``now`` goes on by a second with every cycle.

    ``answers_provisioning``: autoscalers answer ProvisioningRequests, and have what they ask for.
    """

    def __init__(
        self,
        state: KueueState,
        workloads: Iterable[api.KueueWorkload],
        now: int,
        *,
        answers_provisioning: bool = False,
        most_cycles: int = MOST_CYCLES,
    ) -> None:
        self.state, self.now, self._answers_provisioning = state, now, answers_provisioning
        self._most_cycles = most_cycles
        self.is_restless = False
        self._number = 0
        self._released: set[str] = set()
        made = [state.make_workload(kueue_workload) for kueue_workload in workloads]
        self._began_with = {
            workload.key: workload.admission for workload in made if workload.counts and workload.status == "admitted"
        }
        for workload in sorted(made, key=lambda started: started.key):
            state.add(workload, now)
        for workload in list(state.workloads.values()):
            self._reconcile(workload)
        self._bring_back()

    @property
    def evicted_workloads(self) -> list[Workload]:
        """Those that ran in the beginning and lost their quota since; they may have come back."""
        there = self.state.workloads
        return [there[key] for key, admission in self._began_with.items() if there[key].admission is not admission]

    def __deepcopy__(self, memo: dict[int, Any]) -> KueueRun:
        """A run that goes on from here apart from this one."""
        made = copy.copy(self)
        made.state = copy.deepcopy(self.state, memo)
        made._released = set(self._released)
        return made

    def create(self, workloads: Iterable[api.KueueWorkload]) -> None:
        for source in workloads:
            workload = self.state.make_workload(source)
            self.state.add(workload, self.now)
            self._reconcile(workload)

    def finish(self, keys: Iterable[str]) -> None:
        """Workloads end; those that are not admitted are left alone."""
        for key in keys:
            workload = self.state.workloads.get(key)
            if workload is None or workload.status != "admitted":
                continue
            queue = self.state.queues.get(workload.cluster_queue)
            workload.set_condition(FINISHED, True, "Succeeded", "Job finished successfully", self.now)
            self.state.release_quota(workload, queue, workload.usage)
            self._note_release(workload)

    def set_quotas(self, name: str, groups: Sequence[api.ResourceGroup]) -> None:
        """A ClusterQueue gets other quotas of the same flavors, so that what was set aside in its tree comes back."""
        self.state.set_quotas(name, groups)
        self._released.add(self.state.root_of(self.state.queues[name]))

    def delete(self, keys: Iterable[str]) -> None:
        """Workloads are gone, whether they wait or have quota."""
        for key in keys:
            workload = self.state.workloads.pop(key)
            self.state.dequeue(workload)
            self.state.release_quota(workload, self.state.queues.get(workload.cluster_queue), workload.usage)
            self._note_release(workload)

    def rest(self, until: Callable[[RecordedCycle], bool] | None = None) -> list[RecordedCycle]:
        """Cycles until nothing changes, and once more for those who come back; or ``until`` one is enough."""
        cycles: list[RecordedCycle] = []
        self._bring_back()
        back = 0
        while True:
            cycles += self._rest_once(back, until)
            if until is not None and cycles and until(cycles[-1]):
                return cycles
            back = 0 if self.is_restless else self._bring_back()
            if not back:
                return cycles

    def _rest_once(self, back: int, until: Callable[[RecordedCycle], bool] | None) -> list[RecordedCycle]:
        cycles: list[RecordedCycle] = []
        earlier: dict[tuple[str, ...], list[Cycle]] = {}
        before = self._queue_states()
        while True:
            cycle = self._cycle()
            if cycle is None:
                return cycles
            moved = any(entry.result in (ADMITTED, PREEMPTING) for entry in cycle.entries)
            states = self._queue_states()
            if not moved and states == before and not any(entry.has_changed for entry in cycle.entries):
                return cycles
            before = states
            cycles.append(RecordedCycle(cycle.entries, [workload.key for workload in cycle.evicted], back))
            back = 0
            if until is not None and until(cycles[-1]):
                return cycles
            if moved:
                earlier.clear()
            else:
                alike = earlier.setdefault(tuple([entry.workload.key for entry in cycle.entries]), [])
                if alike and _trace(cycle) in map(_trace, alike):
                    return cycles
                alike.append(cycle)
            if self._number > self._most_cycles:
                self.is_restless = True
                return cycles

    def _cycle(self) -> Cycle | None:
        self._number += 1
        cycle = SchedulingCycle(self.state, self._number, self.now).run()
        if cycle is not None:
            self._apply(cycle)
            self.now += SECOND
        return cycle

    def _apply(self, cycle: Cycle) -> None:
        """The caches hear of it: admissions count, heads go back to their queues, evicted workloads are gone."""
        for entry in cycle.entries:
            workload = entry.workload
            pending = self.state.pending[entry.queue_name]
            if entry.result == ADMITTED:
                pending.delete(workload)
                self.state.hold_quota(workload)
                # The cache has assumed it; the event takes it out and puts it in again, which counts as room made.
                self.state.queues[entry.queue_name].generation += 1
            else:
                self.state.items[workload.queue_key].add(workload.key)
                pending.requeue(workload, requeue_reason(entry), self.now)
        for workload in cycle.evicted:
            self._reconcile(workload)
        for entry in cycle.entries:
            self._reconcile(entry.workload)

    def _reconcile(self, workload: Workload) -> None:
        released = reconcile(self.state, workload, self.now)
        if self._answers_provisioning and answer_provisioning(self.state, workload):
            released = reconcile(self.state, workload, self.now) or released
        if released:
            self._note_release(workload)

    def _note_release(self, workload: Workload) -> None:
        """Those set aside come back in the tree of the queue that it would wait in: none if its LocalQueue is stopped
        or gone, whatever queue its quota was of (upstream: QueueAssociatedInadmissibleWorkloadsAfter).
        """
        queue = self.state.queue_of(workload)
        if queue is not None and not queue.is_in_circle:
            self._released.add(self.state.root_of(queue))

    def _bring_back(self) -> int:
        roots, self._released = self._released, set()
        return self.state.bring_back(roots, self.now)

    def _queue_states(self) -> list[tuple[object, ...]]:
        return [pending.state for pending in self.state.pending.values()]


def _trace(cycle: Cycle) -> tuple[object, ...]:
    """What a cycle tried, and what came of it."""
    return tuple(
        (entry.workload.key, entry.result, entry.message, entry.requeue, _assignment_trace(entry))
        for entry in cycle.entries
    )


def _assignment_trace(entry: Entry) -> tuple[object, ...]:
    if entry.assignment is None:
        return ()
    tried = tuple(
        (
            pod_set.count,
            tuple(sorted((name, flavor.name) for name, flavor in pod_set.flavors.items())),
            pod_set.topology,
        )
        for pod_set in entry.assignment.pod_sets
    )
    return entry.assignment.mode, entry.assignment.borrowing_level, tried
