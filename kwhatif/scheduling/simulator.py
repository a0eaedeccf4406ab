"""A batch of pods over time: who is tried when, who waits, who evicts whom, who comes back.

A discrete-event simulation with a total order on events (time, kind, sequence), so that a run is reproducible.
Scheduling itself takes no time; what takes time is waiting: permits, backoffs, and victims' grace periods.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import claim_names
from kwhatif.framework.diagnosis import Diagnosis
from kwhatif.framework.events import Event, Happening
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.queue import Hints, QueuedPod, SchedulingQueue
from kwhatif.scheduling.replacements import Replacements, grace_of
from kwhatif.scheduling.schedule_one import Scheduler

__all__ = ["Entry", "KubeEvent", "Simulator", "rejectors_of"]

BACKOFF_TICK = 1.0
LEFTOVER_TICK = 30.0


class _Kind(IntEnum):
    """What happens first when several things happen at one moment."""

    GONE = 0
    ARRIVAL = 1
    UNGATED = 2
    PERMIT = 3
    BACKOFF_FLUSH = 4
    LEFTOVER_FLUSH = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the timeline: at ``time`` seconds, this happened to a pod, for this reason."""

    time: float
    pod: str
    what: str
    why: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class KubeEvent:
    """An event as the cluster would show it."""

    time: float
    pod: str
    type: str
    reason: str
    message: str


@dataclass(eq=False)
class Simulator:
    """Runs schedulers, one a profile, over one cluster until nothing more can change.

    ``timeline`` and ``events`` grow while it runs; ``outcome`` holds each pod's last attempt by uid,
    ``preemptions`` those that evicted pods for it.
    """

    cluster: Cluster
    schedulers: Mapping[str, Scheduler]
    recreate: bool = True
    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    pop_from_backoff: bool = True
    timeline: list[Entry] = field(default_factory=list)
    events: list[KubeEvent] = field(default_factory=list)
    outcome: dict[str, Attempt] = field(default_factory=dict)
    preemptions: dict[str, list[Attempt]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now = 0.0
        self._agenda: list[tuple[float, int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._hints: dict[tuple[str, str], Hints] = {}
        self._held: dict[str, QueuedPod] = {}
        self._tried_at: dict[str, int] = {}
        self._state = 0
        self._start = 0
        self._replacements = Replacements()
        self.queue = SchedulingQueue(
            self._sort_key,
            lambda pod: self.schedulers[pod.profile].framework.pre_enqueue(pod.info),
            self._hints_of,
            self.initial_backoff,
            self.max_backoff,
            self.pop_from_backoff,
        )

    # --- what comes from outside

    def arrive(self, pod: PodInfo, profile: str, at: float = 0.0) -> None:
        """A pod is created at a moment."""
        self._at(at, _Kind.ARRIVAL, lambda: self._enqueue(pod, profile, "created"))

    def remove_gates(self, uid: str, at: float) -> None:
        """A pod's scheduling gates are removed at a moment."""
        self._at(at, _Kind.UNGATED, lambda: self._ungate(uid))

    def delete(self, uid: str, at: float) -> None:
        """A running pod is deleted and gone at a moment."""
        self._at(at, _Kind.GONE, lambda: self._gone(uid))

    # --- the loop

    def run(self) -> None:
        """Until no pod is active, nothing is on its way, and no retry could end differently."""
        while True:
            while (pod := self.queue.pop()) is not None:
                self._cycle(pod)
            if not self._agenda and not self._wake():
                return
            moment = self._agenda[0][0]
            self._move_to(moment)
            while self._agenda and self._agenda[0][0] == moment:
                heapq.heappop(self._agenda)[3]()

    def _wake(self) -> bool:
        """Put the next periodic flush that could matter on the agenda; False when none could."""
        backing_off = self.queue.backing_off()
        if backing_off:
            end = min(self.queue.backoff_end(pod) for pod in backing_off)
            self._at(max(_next_tick(end, BACKOFF_TICK), self.now + BACKOFF_TICK), _Kind.BACKOFF_FLUSH, self._flush)
            return True
        stale = [p for p in self.queue.waiting() if p.gate is None and self._tried_at.get(p.info.uid) != self._state]
        if stale:
            due = min(pod.timestamp for pod in stale) + 300.0
            self._at(_next_tick(due, LEFTOVER_TICK), _Kind.LEFTOVER_FLUSH, self._flush_leftover)
            return True
        return False

    def _flush(self) -> None:
        for pod in self.queue.flush_backoff():
            self._say(pod.info, "active", "its backoff is over")

    def _flush_leftover(self) -> None:
        for pod in self.queue.flush_leftover():
            self._say(pod.info, "active", "it has waited for five minutes")

    def _move_to(self, moment: float) -> None:
        self.now = self.queue.now = moment
        for scheduler in self.schedulers.values():
            scheduler.now = moment

    def _at(self, moment: float, kind: _Kind, do: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._agenda, (moment, kind, self._sequence, do))

    # --- cycles

    def _enqueue(self, pod: PodInfo, profile: str, why: str) -> None:
        queued = QueuedPod(pod, profile)
        self._say(pod, "queued", why)
        self.queue.add(queued)
        if queued.gate is not None:
            self.outcome[pod.uid] = Attempt(pod, gated=queued.gate)
            self._say(pod, "gated", queued.gate.message)

    def _ungate(self, uid: str) -> None:
        for pod in self.queue.waiting():
            if pod.info.uid == uid:
                info = pod.info
                self.queue.remove(uid)
                fresh = self.cluster.shapes.without_gates(info)
                info.pod, info.shape = fresh.pod, fresh.shape
                pod.gate = None
                pod.rejectors -= {"SchedulingGates"}
                self._say(info, "queued", "its scheduling gates were removed")
                self.queue.add(pod)

    def _cycle(self, queued: QueuedPod) -> None:
        """One scheduling cycle, its binding, and what follows from both."""
        scheduler, pod = self.schedulers[queued.profile], queued.info
        scheduler.next_start = self._start
        attempt = scheduler.attempt(pod)
        self._start = scheduler.next_start
        self.outcome[pod.uid] = attempt
        if attempt.waiting:
            held = scheduler.profile.waiting[pod.uid]
            self._held[pod.uid] = queued
            self._say(pod, "waiting", f"for its permit from {', '.join(sorted(held.waits))}", held.node)
            self._at(held.deadline, _Kind.PERMIT, lambda: self._settle(scheduler))
        elif attempt.placed:
            self._bound(attempt)
        else:
            self._failed(queued, attempt)
        if self._held:
            self._settle(scheduler)

    def _settle(self, scheduler: Scheduler) -> None:
        attempts = {uid: self.outcome[uid] for uid in self._held}
        for attempt in scheduler.settle(attempts):
            queued = self._held.pop(attempt.pod.uid)
            if attempt.placed:
                self._bound(attempt)
            else:
                self._changed(Happening(Event.POD_DELETED, self.cluster, attempt.pod))
                self._failed(queued, attempt)

    def _bound(self, attempt: Attempt) -> None:
        pod, row = attempt.pod, attempt.row
        assert row is not None
        node = self.cluster.columns.names[row]
        self._say(pod, "bound", f"score {attempt.score}" if attempt.score is not None else "the only node", node)
        self._event(pod, "Normal", "Scheduled", f"Successfully assigned {pod.key} to {node}")
        self._changed(Happening(Event.POD_ADDED, self.cluster, pod))
        for name, _ in claim_names(pod.pod):
            self._changed(Happening(Event.VOLUME_CHANGED, self.cluster, pod))
            self._changed(Happening(Event.CLAIM_CHANGED, self.cluster, pod, (pod.shape.namespace, name)))

    def _failed(self, queued: QueuedPod, attempt: Attempt) -> None:
        pod = queued.info
        self._say(pod, "unschedulable", attempt.message)
        self._event(pod, "Warning", "FailedScheduling", attempt.message)
        self._tried_at[pod.uid] = self._state
        self.queue.add_unschedulable(queued, rejectors_of(attempt))
        if attempt.nominated:
            self._preempt(queued, attempt)

    def _preempt(self, queued: QueuedPod, attempt: Attempt) -> None:
        """Victims are told to go and stay for their grace period; the pod keeps a claim to their place."""
        scheduler, node = self.schedulers[queued.profile], attempt.nominated
        told = attempt.evicted
        if told:
            self.preemptions.setdefault(queued.info.uid, []).append(attempt)
        scheduler.nominate(attempt)
        self._say(queued.info, "nominated", f"{len(attempt.victims)} victims: {attempt.criterion}", node)
        for victim in told:
            text = f"Preempted by pod {queued.info.pod.metadata.uid or queued.info.key} on node {node}"
            self._say(victim, "preempted", f"by {queued.info.key}", node)
            self._event(victim, "Normal", "Preempted", text)
            self.cluster.mark_terminating(victim.uid)
            self._at(self.now + grace_of(victim), _Kind.GONE, lambda uid=victim.uid: self._gone(uid))  # type: ignore[misc]
            if self.recreate:
                self._recreate(self._replacements.at_once(victim), queued.profile)

    def _gone(self, uid: str) -> None:
        found = self.cluster.find(uid)
        if found is None:
            return
        pod, row = found
        self.cluster.forget(uid)
        self._say(pod, "gone", "", self.cluster.columns.names[row])
        self._changed(Happening(Event.POD_DELETED, self.cluster, pod))
        if self.recreate and pod.shape.terminating:
            self._recreate(self._replacements.once_gone(pod), pod.pod.spec.scheduler_name or "default-scheduler")

    def _recreate(self, pod: Pod | None, profile: str) -> None:
        if pod is not None:
            owner = pod.spec.scheduler_name or "default-scheduler"
            home = owner if owner in self.schedulers else profile
            self._at(self.now, _Kind.ARRIVAL, lambda: self._enqueue(self.cluster.shapes.info(pod), home, "replacement"))

    def _changed(self, happening: Happening) -> None:
        """The cluster changed: waiting pods that this may help come back."""
        self._state += 1
        for pod in self.queue.happened(happening):
            about = happening.pod.key if happening.pod is not None else ""
            self._say(pod.info, pod.place or "active", f"{happening.event} {about}")

    # --- records

    def _say(self, pod: PodInfo, what: str, why: str = "", node: str = "") -> None:
        self.timeline.append(Entry(self.now, pod.key, what, why, node))

    def _event(self, pod: PodInfo, kind: str, reason: str, message: str) -> None:
        self.events.append(KubeEvent(self.now, pod.key, kind, reason, message))

    def _sort_key(self, pod: QueuedPod) -> Any:
        return self.schedulers[pod.profile].framework.queue_key(pod.info, pod.order)

    def _hints_of(self, profile: str, plugin: str) -> Hints:
        key = (profile, plugin)
        if key not in self._hints:
            found = [p for p in self.schedulers[profile].framework.all_plugins if p.name == plugin]
            self._hints[key] = found[0].requeue_hints if found else {}
        return self._hints[key]


def rejectors_of(attempt: Attempt) -> frozenset[str]:
    """The plugins that turned a pod down, on whatever node (upstream: Diagnosis.UnschedulablePlugins)."""
    diagnosis: Diagnosis | None = attempt.diagnosis
    if diagnosis is None:
        refused = attempt.refused
        return frozenset({refused.plugin}) if refused is not None and refused.rejected else frozenset()
    if diagnosis.refusal is not None:
        names = {diagnosis.refusal.plugin} if diagnosis.refusal.rejected else set()
        return frozenset(names | set(diagnosis.narrowed_by))
    assert diagnosis.verdicts is not None
    first = diagnosis.verdicts.first
    if diagnosis.considered is not None:
        first = first[diagnosis.considered]
    plugins = {diagnosis.verdicts.plugins[index] for index in np.unique(first).tolist() if index >= 0}
    return frozenset(plugins | set(diagnosis.narrowed_by))


def _next_tick(moment: float, tick: float) -> float:
    """The first tick after a moment."""
    return (moment // tick + 1) * tick
