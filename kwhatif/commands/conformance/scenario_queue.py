"""Replays a scenario through the queue, sorted by the configured plugin.

Time stands still while pods are in the queue: a failed one comes back when a plugin activates it, and no permit times
out before the queue is empty. The format is described in ``docs/contributing/conformance.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kwhatif.api.objects import part_of
from kwhatif.cluster.shapes import PodInfo, start_time
from kwhatif.framework.interface import WaitingPod
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.binding_cycle import refusal_after_timeout
from kwhatif.scheduling.driver import MOST_ATTEMPTS, Driver
from kwhatif.scheduling.queue import QueuedPod, SchedulingQueue

Record = dict[str, Any]

_NOBODY = ("",)
"""No event happens while time stands still, so it makes no difference which plugin rejected a pod."""


@dataclass
class QueueReplay:
    """One run; ``record_of`` writes down an attempt that has just been made."""

    driver: Driver
    record_of: Callable[[Attempt], Record]
    _queued: dict[str, QueuedPod] = field(default_factory=dict)
    _attempts: dict[str, list[Record]] = field(default_factory=dict)
    _order: list[str] = field(default_factory=list)
    _step: int = 0

    def __post_init__(self) -> None:
        self._queue = SchedulingQueue(
            self._key_of,
            lambda queued: self.driver.scheduler_for(queued.info).framework.pre_enqueue(queued.info),
            lambda profile, plugin: {},
            features=self.driver.setup.features,
            by_heap=lambda: True,
        )

    def _key_of(self, queued: QueuedPod) -> Any:
        """A pod joins the queue at its creation, also when it comes back."""
        return self.driver.queue_key(queued.info, start_time(queued.info.pod.metadata.creation_timestamp))

    def run(self, infos: Sequence[PodInfo]) -> Record:
        """The outcome, in the shape of ``expected``."""
        for info in infos:
            self._attempts[info.key] = []
            queued = self._queued[info.uid] = QueuedPod(info, info.pod.spec.scheduler_name or "")
            self._queue.add(queued)
        most = 4 * len(infos) + 20
        while len(self._order) < most and (popped := self._queue.pop()) is not None:
            self._order.append(popped.info.key)
            self._try(popped)
        answer: Record = {
            "queueOrder": self._order,
            "pods": [{"pod": key, "attempts": attempts} for key, attempts in self._attempts.items()],
        }
        if any(queued.place == "active" for queued in self._queued.values()):
            answer["stopped"] = True
        elif timeouts := self._time_out():
            answer["timeouts"] = timeouts
        answer["final"] = {info.key: self._node_of(info) for info in infos}
        return answer

    def _try(self, queued: QueuedPod) -> None:
        """A pod is tried, and again at once where others left for it."""
        info = queued.info
        for _ in range(MOST_ATTEMPTS):
            attempt = self.driver.attempt(info)
            self._step += 1
            record = {**self.record_of(attempt), "step": self._step}
            self._attempts[info.key].append(record)
            if attempt.waiting:
                record["outcome"] = "waiting"
            elif attempt.is_placed:
                record["outcome"] = "bound"
            else:
                self.driver.handle_failure(attempt)
                record["outcome"] = "nominated" if attempt.nominated else "unschedulable"
                self._evict(attempt, record)
            self._settle(record)
            self._activate()
            if not attempt.nominated:
                break
        if not attempt.is_placed:
            self._queue.add_unschedulable(queued, _NOBODY)

    def _evict(self, attempt: Attempt, record: Record) -> None:
        """Victims leave at once; those that wait for a permit are sent back instead."""
        gone = []
        for victim in attempt.victims_to_evict:
            if not self.driver.turn_away(victim):
                self.driver.cluster.remove_pod(victim.uid)
                gone.append(victim.key)
        if attempt.nominated:
            record["victims"] = sorted(gone)

    def _settle(self, record: Record) -> None:
        """Waiting pods that this attempt released or sent back."""
        allowed, rejected = [], []
        for ended in self.driver.settle():
            if ended.is_placed:
                allowed.append(ended.pod.key)
            else:
                rejected.append(self._sent_back(ended))
        if allowed:
            record["allowed"] = sorted(allowed)
        if rejected:
            record["rejectedWaiting"] = sorted(rejected, key=lambda rejection: part_of(rejection, "pod"))

    def _sent_back(self, ended: Attempt) -> Record:
        self.driver.handle_failure(ended)
        self._queue.add_unschedulable(self._queued[ended.pod.uid], _NOBODY)
        return {"pod": ended.pod.key, "message": ended.message}

    def _activate(self) -> None:
        """Pods that a plugin wants to be tried again, whatever their backoff."""
        for uid in self.driver.take_activated():
            if (queued := self._queued.get(uid)) is not None:
                self._queue.activate(queued)

    # --- afterwards

    def _time_out(self) -> list[Record]:
        """Permits time out, the shortest first, then the one that waits for longest; each may drag others along."""
        timeouts = []
        while waiting := self._waiting():
            first = min(waiting, key=lambda pod: pod.deadline)
            seconds = first.deadline - first.since
            first.denied = refusal_after_timeout(first)
            ended = [self._sent_back(attempt) for attempt in self.driver.settle()]
            timeouts.append(
                {
                    "seconds": int(seconds) if seconds == int(seconds) else seconds,
                    "pod": first.pod.key,
                    "rejected": sorted(ended, key=lambda rejection: part_of(rejection, "pod")),
                }
            )
        return timeouts

    def _waiting(self) -> list[WaitingPod]:
        return [held for scheduler in self.driver.in_use for held in scheduler.profile.waiting.values()]

    def _node_of(self, info: PodInfo) -> str | None:
        pod_and_row = self.driver.cluster.find(info.uid)
        if pod_and_row is None or any(held.pod.uid == info.uid for held in self._waiting()):
            return None
        return self.driver.cluster.columns.names[pod_and_row[1]]
