"""Where would these pods go? One scheduling cycle a pod, victims leaving at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kwhatif.api.devices import ResourceClaim
from kwhatif.api.others import PersistentVolumeClaim
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results import Placement, PlaceResult, Victim
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.budgets import Budgets
from kwhatif.scheduling.explain import devices_of, scores_at, victims_of
from kwhatif.scheduling.preemption import ineligible
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.whatif.expand.expand import Rollout
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.place.consequences import with_consequences
from kwhatif.whatif.place.rolling import Taken, roll_out
from kwhatif.whatif.session import MOST_ATTEMPTS, Asked, Session

__all__ = ["MOST_TIED", "not_ours", "place", "placement_of", "skipped"]

MOST_TIED = 10
"""So many names of tied nodes are kept."""


def place(
    session: Session, asked: Sequence[Asked], *, rollouts: Sequence[Rollout] = (), others: Sequence[str] = ()
) -> PlaceResult:
    """Schedule the pods in the scheduler's order: by priority, then as given; then roll out updates, one by one.

    ``others`` names objects of the input that no pods were made of, for the fidelity report.
    """
    run = Run(session)
    run.all_of(asked)
    asked = list(asked)
    plans = tuple(roll_out(rollout, run, asked) for rollout in rollouts)
    placements = with_consequences(session, run.placements, run.evicted)
    return PlaceResult(
        nodes=len(session.cluster),
        placements=placements,
        fidelity=assess(session, asked, placements, others, rollouts),
        warnings=session.setup.configuration.warnings,
        rollouts=plans,
    )


def not_ours(session: Session, asked: Asked, scheduler: Scheduler | None) -> str:
    """Why the scheduler would not take the pod up at all."""
    pod = asked.pod
    if scheduler is None:
        return f"schedulerName {pod.spec.scheduler_name} is none of the configuration's profiles"
    if pod.metadata.deletion_timestamp:
        return "the pod is being deleted"
    found = session.running(pod)
    if found is not None:
        return f"it runs on {session.cluster.columns.names[found[1]]} already"
    if pod.spec.node_name:
        session.cluster.add(session.info(asked, bound=True), pod.spec.node_name)
        return f"spec.nodeName binds it to {pod.spec.node_name} without the scheduler"
    return ""


class Run:
    """Placements so far; waiting pods keep their place in the list until they come to an end."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._budgets = Budgets(session.cluster)
        self._waiting: dict[str, tuple[int, Asked, Attempt, tuple[Victim, ...]]] = {}
        self.placements: list[Placement] = []
        self.evicted: list[PodInfo] = []
        self.left = 0
        self._uids: dict[str, str] = {}

    def ours(self, asked: Asked) -> tuple[PodInfo, Scheduler] | None:
        """The pod and its scheduler; None if it was skipped, since no scheduler here takes it up."""
        scheduler = self._session.scheduler(asked.pod.spec.scheduler_name)
        reason = not_ours(self._session, asked, scheduler)
        if reason or scheduler is None:
            self.placements.append(skipped(asked, reason))
            return None
        return self._session.info(asked), scheduler

    def all_of(self, asked: Sequence[Asked]) -> None:
        """Schedule pods in the scheduler's order, and wait for permits."""
        queue: list[tuple[Any, int, Asked, PodInfo, Scheduler]] = []
        for order, item in enumerate(asked):
            ours = self.ours(item)
            if ours is not None:
                info, scheduler = ours
                queue.append((scheduler.framework.queue_key(info, order), order, item, info, scheduler))
        for _, _, item, info, scheduler in sorted(queue, key=lambda entry: entry[:2]):
            self.schedule(item, info, scheduler)
            self._uids[item.pod.key] = info.uid
        self.wait()

    def take(self, asked: Asked) -> Taken:
        """What becomes of one more pod, by itself; permits are waited for."""
        index = len(self.placements)
        ours = self.ours(asked)
        if ours is not None:
            self.schedule(asked, *ours)
            self.wait()
            self._uids[asked.pod.key] = ours[0].uid
        return Taken(asked, ours, index, self.placements[index], self.left)

    def again(self, taken: Taken) -> None:
        """Try a pod once more that found no node; what it comes to takes the place of what it came to before."""
        taken.left = self.left
        if taken.placement.good or taken.ours is None:
            return
        self.schedule(taken.asked, *taken.ours)
        self.wait()
        taken.placement = self.placements[taken.index] = self.placements.pop()

    def homes(self) -> dict[str, str]:
        """The nodes of the pods that have found one: pod -> node."""
        return {placement.pod: placement.node for placement in self.placements if placement.good and placement.node}

    def claim(self, claim: PersistentVolumeClaim | ResourceClaim) -> None:
        """A claim comes into being."""
        if isinstance(claim, ResourceClaim):
            self._session.cluster.devices.put(claim)
        else:
            self._session.cluster.storage.add_claim(claim)

    def remove(self, key: str) -> None:
        """A pod that runs leaves its node."""
        uid = self._uids.get(key) or self._session.uid_of(key)
        if uid is not None and self._session.cluster.find(uid) is not None:
            self._session.cluster.leave(uid)
            self.left += 1

    def schedule(self, asked: Asked, info: PodInfo, scheduler: Scheduler) -> None:
        victims: tuple[Victim, ...] = ()
        criterion = ""
        devices = self._session.cluster.devices
        for _ in range(MOST_ATTEMPTS):
            changes = len(devices.journal)
            attempt = self._session.attempt(scheduler, info)
            if not attempt.nominated:
                if attempt.placed or len(devices.journal) == changes:
                    break
                # A claim was taken back from where it could not be used, so the pod is tried again.
                continue
            victims += victims_of(attempt, self._budgets)
            self.evicted += attempt.victims
            criterion = attempt.criterion
            scheduler.evict(attempt, terminating=True)
        if info.nominated and not (attempt.placed or attempt.nominated or _keeps_its_node(attempt)):
            self._session.cluster.denominate(info.uid)
            info.nominated = ""
        if attempt.waiting:
            self._waiting[info.uid] = (len(self.placements), asked, attempt, victims)
        self.placements.append(placement_of(self._session, asked, attempt, victims, criterion))
        self._settle()

    def wait(self) -> None:
        """Let simulated time pass until no pod waits for a permit any more."""
        while self._waiting:
            self._settle()
            held = [w for s in self._session.schedulers() for w in s.profile.waiting.values()]
            if held:
                moment = min(waiting.deadline for waiting in held)
                for scheduler in self._session.schedulers():
                    scheduler.now = max(scheduler.now, moment)

    def _settle(self) -> None:
        attempts = {uid: attempt for uid, (_, _, attempt, _) in self._waiting.items()}
        for scheduler in self._session.schedulers():
            for attempt in scheduler.settle(attempts):
                index, asked, _, victims = self._waiting.pop(attempt.pod.uid)
                criterion = self.placements[index].criterion
                self.placements[index] = placement_of(self._session, asked, attempt, victims, criterion)


def _keeps_its_node(attempt: Attempt) -> bool:
    """Whether a pod that failed stays nominated: preemption did not look for another node."""
    return attempt.diagnosis is not None and bool(ineligible(attempt.pod, attempt.diagnosis))


def skipped(asked: Asked, reason: str) -> Placement:
    """A pod that the scheduler does not take up."""
    pod = asked.pod
    return Placement(
        pod=pod.key,
        outcome="skipped",
        priority=pod.spec.priority or 0,
        scheduler=pod.spec.scheduler_name or "",
        message=reason,
        origin=asked.origin,
        defaults=asked.defaults,
    )


def placement_of(
    session: Session, asked: Asked, attempt: Attempt, victims: tuple[Victim, ...], criterion: str
) -> Placement:
    """What an attempt came to, in words and numbers."""
    columns = session.cluster.columns
    names = columns.names
    message, outcome = attempt.message, "unschedulable"
    if attempt.gated is not None:
        outcome, message = "gated", attempt.gated.message
    elif attempt.waiting:
        outcome = "waiting"
    elif attempt.placed:
        outcome = "placed"
    in_order = attempt.best[np.argsort(columns.name_rank[attempt.best])].tolist()
    return Placement(
        pod=asked.pod.key,
        outcome=outcome,
        priority=attempt.pod.priority,
        scheduler=asked.pod.spec.scheduler_name or "",
        node="" if attempt.row is None else names[attempt.row],
        score=attempt.score,
        feasible=len(attempt.sampled),
        evaluated=attempt.evaluated,
        ties=max(len(attempt.best), 1) if attempt.placed else 0,
        tied=tuple(names[row] for row in in_order[:MOST_TIED]) if len(in_order) > 1 else (),
        scores=scores_at(attempt),
        message=message,
        victims=victims,
        criterion=criterion,
        origin=asked.origin,
        defaults=asked.defaults,
        devices=devices_of(session.cluster, attempt.pod) if attempt.placed or attempt.waiting else (),
    )
