"""The workloads that wait in a ClusterQueue: those in line, and those set aside until something changes.

Upstream: pkg/cache/queue/cluster_queue.go and inadmissible_workloads.go.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, KeysView
from typing import Any

from kwhatif.kueue.cluster_queue import BEST_EFFORT, STRICT
from kwhatif.kueue.workload import REQUEUED, Workload, copy_workloads

NO_FIT = "NoFit"
NO_CANDIDATES = "PreemptionNoCandidates"
PENDING_PREEMPTION = "PendingPreemption"
NAMESPACE_MISMATCH = "NamespaceMismatch"
AFTER_NOMINATION = "FailedAfterNomination"


QueueState = tuple[KeysView[str], KeysView[str], str]
"""The keys of workloads in line and aside, and the preemptor that goes first."""


class PendingQueue:
    """One ClusterQueue's. A workload is in line, set aside, or in the hands of the scheduler."""

    def __init__(self, strategy: str) -> None:
        self.strategy = strategy
        self._in_line: dict[str, Workload] = {}
        self._heap: list[tuple[tuple[int, int, str], str]] = []
        self.aside: dict[str, Workload] = {}
        self._shapes_aside: set[int] = set()
        self._preemptor = ""
        self.in_flight: Workload | None = None
        self._known_state: QueueState | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> PendingQueue:
        made = copy.copy(self)
        made._in_line, made.aside = copy_workloads(self._in_line, memo), copy_workloads(self.aside, memo)
        made._heap, made._shapes_aside = list(self._heap), set(self._shapes_aside)
        return made

    def __len__(self) -> int:
        return len(self._in_line) + len(self.aside)

    @property
    def is_empty(self) -> bool:
        return not self._in_line

    def in_order(self) -> list[Workload]:
        """All that wait, in queue order: a preemptor that waits for its victims first."""
        everybody = [*self._in_line.values(), *self.aside.values()]
        return sorted(everybody, key=lambda workload: (not self._is_sticky(workload), workload.order))

    def _is_sticky(self, workload: Workload) -> bool:
        return self.strategy == BEST_EFFORT and workload.key == self._preemptor

    def push(self, workload: Workload, now: int) -> None:
        """Put a workload in line, unless it has to wait or others like it were set aside (PushOrUpdate)."""
        if workload.key in self.aside or workload.key in self._in_line:
            return
        if not _may_try(workload, now) or (self.strategy == BEST_EFFORT and workload.shape in self._shapes_aside):
            self._known_state = None
            self.aside[workload.key] = workload
        else:
            self._put(workload)

    def _put(self, workload: Workload) -> None:
        self._known_state = None
        self._in_line[workload.key] = workload
        heapq.heappush(self._heap, (workload.order, workload.key))

    def pop(self) -> Workload | None:
        """The next one to try."""
        self.in_flight = None
        if not self._in_line:
            return None
        self._known_state = None
        workload = None
        if self.strategy == BEST_EFFORT and self._preemptor:
            workload = self._in_line.pop(self._preemptor, None)
        while workload is None:
            order, key = heapq.heappop(self._heap)
            there = self._in_line.get(key)
            # What left the line otherwise is still in the heap.
            if there is not None and there.order == order:
                workload = self._in_line.pop(key)
        self.in_flight = workload
        return workload

    def requeue(self, workload: Workload, reason: str, now: int) -> None:
        """Take back one that was not admitted: in line if it should be tried again at once, else aside."""
        self._known_state = None
        if reason == PENDING_PREEMPTION:
            self._preemptor = workload.key
        self.in_flight = None
        if self.strategy == STRICT:
            immediate = reason != NAMESPACE_MISMATCH
        else:
            immediate = reason in (AFTER_NOMINATION, PENDING_PREEMPTION)
        unfinished = workload.progress is not None and workload.progress.is_unfinished
        if _may_try(workload, now) and (immediate or unfinished):
            self._put(workload)
            return
        self.aside[workload.key] = workload
        if reason in (NO_FIT, NO_CANDIDATES) and self.strategy == BEST_EFFORT:
            self._set_aside(workload.shape)

    def _set_aside(self, shape: int) -> None:
        """All like it would fare alike."""
        self._shapes_aside.add(shape)
        for workload in [workload_alike for workload_alike in self._in_line.values() if workload_alike.shape == shape]:
            del self._in_line[workload.key]
            self.aside[workload.key] = workload

    def delete(self, workload: Workload) -> None:
        self._known_state = None
        self._in_line.pop(workload.key, None)
        self.aside.pop(workload.key, None)
        if self.in_flight is workload:
            self.in_flight = None
        if self._preemptor == workload.key:
            self._preemptor = ""

    def bring_back(self, is_selected: Callable[[Workload], bool], now: int) -> int:
        """Put those set aside back in line, and say how many."""
        self._shapes_aside.clear()
        back = [workload for workload in self.aside.values() if is_selected(workload) and _may_try(workload, now)]
        self._known_state = None
        for workload in back:
            del self.aside[workload.key]
            self._put(workload)
        return len(back)

    @property
    def state(self) -> QueueState:
        """Who waits how, whatever happens to the queue later."""
        if self._known_state is None:
            # Copies of dictionaries cost less than sets, which hash every key.
            self._known_state = dict(self._in_line).keys(), dict(self.aside).keys(), self._preemptor
        return self._known_state


def _may_try(workload: Workload, now: int) -> bool:
    """Whether the time to wait after an eviction is over (upstream: backoffWaitingTimeExpired)."""
    requeued = workload.conditions.get(REQUEUED)
    if requeued is not None and not requeued.status:
        return False
    return workload.requeue_at is None or now >= workload.requeue_at
