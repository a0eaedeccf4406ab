"""The schedulers of one process, one a profile: they share time, the queue and the rotating start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kwhatif.framework.events import EVERYTHING
from kwhatif.framework.interface import WaitingPod
from kwhatif.framework.status import Code, Status
from kwhatif.scheduling.attempt import EXTENDER, Attempt
from kwhatif.scheduling.news import without_hints
from kwhatif.scheduling.queue import Hints, QueuedPod
from kwhatif.scheduling.schedule_one import Scheduler

__all__ = ["Profiles"]


class Profiles:
    """Schedulers by the ``schedulerName`` of the pods met so far; ``find`` knows them all."""

    def __init__(self, find: Callable[[str], Scheduler | None]) -> None:
        self._find = find
        self._used: dict[str, Scheduler] = {}
        self._hints: dict[tuple[str, str], Hints] = {}
        self._start = 0
        self._now = 0.0

    def __getitem__(self, name: str) -> Scheduler:
        return self._used[name]

    def known(self, name: str) -> bool:
        """Whether there is a scheduler of this name, which from now on is in use."""
        if name not in self._used:
            scheduler = self._find(name)
            if scheduler is None:
                return False
            scheduler.now = self._now
            self._used[name] = scheduler
        return True

    def move_to(self, moment: float) -> None:
        self._now = moment
        for scheduler in self._used.values():
            scheduler.now = moment

    def attempt(self, queued: QueuedPod) -> Attempt:
        """One scheduling cycle."""
        scheduler = self._used[queued.profile]
        scheduler.next_start = self._start
        attempt = scheduler.attempt(queued.info)
        self._start = scheduler.next_start
        return attempt

    # --- pods that permit plugins hold

    def held(self, queued: QueuedPod) -> WaitingPod:
        return self._used[queued.profile].profile.waiting[queued.info.uid]

    def preempt(self, queued: QueuedPod) -> None:
        """Turn a held pod away for a more important one; to the queue that is an accident, not a verdict."""
        reasons = ("waiting on permit for pod: preempted",)
        self.held(queued).denied = Status(Code.ERROR, reasons, "DefaultPreemption")

    def deadlines(self) -> list[float]:
        """When the patience with each held pod ends."""
        return [held.deadline for scheduler in self._used.values() for held in scheduler.profile.waiting.values()]

    def settle(self, attempts: Mapping[str, Attempt]) -> list[Attempt]:
        """The attempts of held pods, by uid, that came to an end now."""
        return [
            ended
            for scheduler in self._used.values()
            if scheduler.profile.waiting
            for ended in scheduler.settle({uid: attempts[uid] for uid in scheduler.profile.waiting})
        ]

    # --- what the queue asks

    def sort_key(self, pod: QueuedPod) -> Any:
        return self._used[pod.profile].framework.queue_key(pod.info, pod.order)

    def pre_enqueue(self, pod: QueuedPod) -> Status | None:
        return self._used[pod.profile].framework.pre_enqueue(pod.info)

    def hints(self, profile: str, plugin: str) -> Hints:
        """What brings a pod back that the plugin turned down."""
        if plugin == EXTENDER:
            return EVERYTHING
        key = (profile, plugin)
        if key not in self._hints:
            found = [p for p in self._used[profile].framework.all_plugins if p.name == plugin]
            hints = found[0].requeue_hints if found else {}
            hinted = found and found[0].handle.features.scheduler_queueing_hints
            self._hints[key] = hints if hinted else without_hints(hints)
        return self._hints[key]
