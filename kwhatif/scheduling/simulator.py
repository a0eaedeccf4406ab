"""A discrete-event simulation of pods over time: queueing, backoff, preemption, permits, replacements.

Events have a total order, so that a run is reproducible. Scheduling itself takes no time; what takes time is waiting:
permits, backoffs, and victims' grace periods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.times import format_time
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo, start_time
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.progress import report_progress
from kwhatif.scheduling.attempt import MAX_FAILURES, Attempt, RetryLimit, rejectors_of
from kwhatif.scheduling.controllers import Replacements, grace_of, with_claims_again
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.group_rounds import attempts_of
from kwhatif.scheduling.pod_group_results import PodGroupCycle
from kwhatif.scheduling.queue import OFTEN, QueuedPod, SchedulingQueue, was_refused
from kwhatif.scheduling.queued_groups import QueuedGroups
from kwhatif.scheduling.requeueing import Requeueing
from kwhatif.scheduling.timeline import Agenda, EntryKind, EventLog


@dataclass(eq=False)
class Simulator:
    """Drives a scheduler process until nothing more can change.

    The ``diary`` grows while it runs. By uid, ``outcome`` holds each pod's last attempt, ``preemptions`` those that
    evicted pods for it, ``evicted`` the preemptor (a key) for which a pod was deleted, ``recreated`` each pod's
    replacement, ``stands_for`` the pod that a chain of replacements began with, ``entered`` when a pod could first be
    tried, and ``bound`` when it got which node. ``deleted`` pods are not made again. ``unclaimed`` are pods made by
    controllers for other schedulers. ``at_rest`` is called when the scheduler has nothing more to do at a moment,
    ``on_gone`` when a pod has left for good, ``on_group_cycle`` after each cycle of a group.

    A deleted pod is gone after ``leaves_after`` seconds, a bound one completes after ``works_for``, if ever. With
    ``begins`` (seconds since 1970 at time zero) bound pods get a start time. Names are ``taken``, and pods ``renewed``,
    as for ``Replacements``.
    """

    driver: Driver
    recreate: bool = True
    diary: EventLog = field(default_factory=EventLog)
    outcome: dict[str, Attempt] = field(default_factory=dict)
    preemptions: dict[str, list[Attempt]] = field(default_factory=dict)
    evicted: dict[str, str] = field(default_factory=dict)
    recreated: dict[str, str] = field(default_factory=dict)
    stands_for: dict[str, str] = field(default_factory=dict)
    unclaimed: list[Pod] = field(default_factory=list)
    entered: dict[str, float] = field(default_factory=dict)
    bound: dict[str, tuple[float, str]] = field(default_factory=dict)
    at_rest: Callable[[], None] = lambda: None
    on_gone: Callable[[PodInfo], None] = lambda pod: None
    on_group_cycle: Callable[[PodGroupCycle], None] = lambda cycle: None
    leaves_after: Callable[[PodInfo], float] = grace_of
    works_for: Callable[[PodInfo], float | None] = lambda pod: None
    begins: float | None = None
    taken: Callable[[str], bool] = lambda key: False
    renewed: Mapping[tuple[str, str], Pod] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.now = 0.0
        self.cluster, setup = self.driver.cluster, self.driver.setup
        self._agenda = Agenda()
        self._queued: dict[str, QueuedPod] = {}
        self._held: dict[str, QueuedPod] = {}
        self._patience, self._cycles = RetryLimit(), 0
        self._replacements = Replacements(taken=self.taken, renewed=self.renewed)
        self.queue = SchedulingQueue(
            lambda queued: self.driver.queue_key(queued.info, queued.order),
            lambda queued: self.driver.scheduler_for(queued.info).gate(queued.info),
            self.driver.hints,
            setup.configuration.pod_initial_backoff_seconds,
            setup.configuration.pod_max_backoff_seconds,
            setup.features.scheduler_pop_from_backoff_q,
            setup.features,
            by_heap=self.driver.orders_by_heap,
        )
        self.requeueing = Requeueing(self.driver, self.queue, self.diary)
        self._groups = QueuedGroups(self.driver, self.queue, self._queued)

    # --- what comes from outside

    def arrive(self, pod: PodInfo, at: float = 0.0) -> None:
        """Create a pod at a moment."""
        self._agenda.add(at, EntryKind.ARRIVAL, lambda: self._enqueue(pod, "created"))

    def call_at(self, moment: float, do: Callable[[], None]) -> None:
        """Call a function at a moment, which may call the methods below that act in the present."""
        self._agenda.add(moment, EntryKind.ARRIVAL, do)

    def delete(self, uid: str, at: float) -> None:
        """Remove a running pod at a moment."""
        self._agenda.add(at, EntryKind.GONE, lambda: self._remove_pod(uid))

    def add_nodes_at(self, names: Sequence[str], at: float, join: Callable[[], None]) -> None:
        """Add nodes of these names at a moment; ``join`` puts them into the cluster."""

        def join_nodes() -> None:
            join()
            self.requeueing.handle_new_nodes(names, "joined")

        self._agenda.add(at, EntryKind.ARRIVAL, join_nodes)

    def create_pod(self, pod: PodInfo) -> None:
        """Create a pod."""
        self._enqueue(pod, "created")

    def add_bound_pod(self, pod: PodInfo, node: str) -> None:
        """Add a pod that another scheduler has bound."""
        self.cluster.add(pod, node)
        self._say(pod, "bound", "by somebody else", node)
        self.requeueing.handle_event(EventOccurrence(ClusterEvent.POD_ADDED, self.cluster, pod))

    def update_pod(self, pod: PodInfo) -> None:
        """Replace a pod whose labels, requests or gates changed."""
        entry = self.cluster.find(pod.uid)
        if entry is not None:
            old, row = entry
            if old.shape.terminating:
                return
            pod.start = old.start
            self.cluster.forget(pod.uid)
            self.cluster.assume(pod, row)
            for event in (ClusterEvent.POD_DELETED, ClusterEvent.POD_ADDED):
                self.requeueing.handle_event(EventOccurrence(event, self.cluster, pod))
        elif (queued := self._queued.get(pod.uid)) is not None and pod.uid not in self._held:
            if queued.info.nominated:
                self.cluster.nominate(pod, queued.info.nominated)
            self.queue.update(queued, pod)
            self.requeueing.changes += 1
            self._check_gate(queued)

    def remove(self, uid: str) -> None:
        """Delete a pod, or its replacement, for good."""
        while uid in self.recreated:
            uid = self.recreated[uid]
        self.deleted.add(uid)
        held = self._held.get(uid)
        if held is not None:
            self.driver.turn_away(held.info)
            self._settle()
        if (queued := self._queued.pop(uid, None)) is not None:
            self.queue.remove(queued)
            self.cluster.pod_groups.remove(queued.info)
            self._say(queued.info, "deleted")
            self.cluster.remove_nomination(uid)
            if queued.info.nominated:
                self.requeueing.clear_nomination(queued.info)
        elif (entry := self.cluster.find(uid)) is not None:
            self._begin_deletion(entry[0])

    def remove_after(self, uid: str, seconds: float) -> None:
        """Delete a pod, or its replacement, for good, so many seconds from now."""
        self._agenda.add(self.now + seconds, EntryKind.ARRIVAL, lambda: self.remove(uid))

    def complete_at(self, uid: str, at: float) -> None:
        """Complete a pod at a moment, if it still exists."""
        self._agenda.add(at, EntryKind.GONE, lambda: self._remove_pod(uid, deleted=False))

    def empty_node(self, node: str, *, lost: bool = False) -> None:
        """Delete a node's pods, which their controllers make again; they disappear at once if the node is ``lost``.

        Those of daemon sets, and static ones, are left alone.
        """
        row = self.cluster.columns.row(node)
        for pod in () if row is None else list(self.cluster.pods_on[row]):
            owner = pod.shape.controller
            if owner is not None and owner.kind in ("DaemonSet", "Node"):
                continue
            if lost:
                self._remove_pod(pod.uid, lost=True)
            elif not pod.shape.terminating:
                self._begin_deletion(pod)
                self._recreate(pod, self._replacements.replace_on_eviction(pod))

    # --- the loop

    def run(self, until: float = math.inf, *, leftovers: bool = True) -> None:
        """Until no pod is active, nothing is on its way, and no retry could end differently; or until a moment.

        Without ``leftovers`` nobody waits for pods that are tried again because they have waited for five minutes.
        """
        while (moment := self._next(leftovers=leftovers)) is not None and moment <= until:
            self._move_to(moment)
            self._agenda.run(moment)
            self._settle()
            self.requeueing.flush()
            while (pod := self.queue.pop()) is not None:
                self._cycle(pod)
            self.at_rest()

    def _next(self, *, leftovers: bool) -> float | None:
        """The next moment at which there is something to do."""
        moments = [*self.driver.deadlines(), *self.requeueing.next_flushes(leftovers=leftovers)]
        if self._agenda.next is not None:
            moments.append(self._agenda.next)
        return min(moments, default=None)

    def _move_to(self, moment: float) -> None:
        self.now = self.queue.now = self.diary.now = self.driver.shared.now = moment

    # --- into the queue

    def _enqueue(self, pod: PodInfo, why: str) -> None:
        if pod.uid in self.deleted:
            return
        name = pod.pod.spec.scheduler_name or "default-scheduler"
        if self.driver.scheduler(name) is None:
            self._say(pod, "unclaimed", f"schedulerName {name} is none of the configuration's profiles")
            self.unclaimed.append(pod.pod)
            return
        self._say(pod, "queued", why)
        self.cluster.pending.add(pod.pod)
        self.cluster.pod_groups.add(pod, pending=True)
        queued = self._queued[pod.uid] = QueuedPod(pod, name)
        if why == "created" and was_refused(pod.pod):
            queued.attempts = queued.unschedulable = OFTEN
        self.queue.add(queued)
        self._check_gate(queued)
        if pod.nominated and queued.gate is None:
            self.cluster.nominate(pod, pod.nominated)
        for member in self._groups.add(queued):
            self._say(member.info, "queued", "the quorum of its group is there")
            self._check_gate(member)

    def _check_gate(self, queued: QueuedPod) -> None:
        if queued.gate is not None:
            self.outcome[queued.info.uid] = Attempt(queued.info, gated=queued.gate)
            self._say(queued.info, "gated", queued.gate.message)
        else:
            self.entered.setdefault(queued.info.uid, self.now)

    # --- cycles

    def _cycle(self, queued: QueuedPod) -> None:
        """One scheduling cycle of a pod or of its group, the bindings, and what follows from both."""
        self._cycles += 1
        report_progress("Simulating", "cycles", self._cycles)
        key = self._groups.group_of(queued.info)
        if key is None:
            self._cycle_of_pod(queued)
        elif members := self._groups.take_members(queued):
            self._cycle_of_group(key, {member.info.uid: member for member in members})
        self._settle()
        self._activate()

    def _cycle_of_pod(self, queued: QueuedPod) -> None:
        pod = queued.info
        self.requeueing.tried_at[pod.uid] = self.requeueing.changes
        # Of the node that it waited on, no other pod has heard.
        known = any(other.uid == pod.uid for other in self.cluster.nominated.get(pod.nominated, ()))
        nominated, changes = pod.nominated if known else "", len(self.cluster.devices.journal)
        attempt = self.outcome[pod.uid] = self.driver.attempt(pod)
        if attempt.waiting:
            self._hold(queued)
        elif attempt.is_placed:
            self._handle_bound(attempt)
        else:
            self._handle_failure(queued, attempt, nominated)
            if len(self.cluster.devices.journal) > changes:
                self.requeueing.handle_event(EventOccurrence(ClusterEvent.DEVICES_FREED, self.cluster, pod))

    def _cycle_of_group(self, key: GroupKey, members: Mapping[str, QueuedPod]) -> None:
        """The members that failed go back to the queue before others hear of those that are bound."""
        for uid in members:
            self.requeueing.tried_at[uid] = self.requeueing.changes
        cycle, preemptions = self._groups.attempt(key, [member.info for member in members.values()], self._evict)
        self.outcome |= {pod.uid: attempt for pod, (attempt,) in attempts_of([cycle])}
        for attempt in preemptions:
            self.preemptions.setdefault(attempt.pod.uid, []).append(attempt)
        rejectors = cycle.rejectors()
        for failure in cycle.failed.values():
            uid = failure.pod.uid
            given_up = self._requeue_failed(members[uid], self.outcome[uid], rejectors[uid])
            if given_up:
                self.cluster.remove_nomination(uid)
            elif failure.nominated:
                self._say(failure.pod, "nominated", "with its group", failure.nominated)
        self._end_waits(cycle.settled)
        for attempt in cycle.held:
            self._hold(members[attempt.pod.uid])
        for uid in members:
            if self.outcome[uid].is_placed and not self.outcome[uid].waiting:
                self._handle_bound(self.outcome[uid])
        self._activate(cycle.activated)
        self.on_group_cycle(cycle)

    def _activate(self, uids: Iterable[str] = ()) -> None:
        """Activate pods at plugins' request, whatever their backoff."""
        queued = [self._queued[uid] for uid in (*sorted(uids), *self.driver.take_activated()) if uid in self._queued]
        self.requeueing.note_active([pod for pod in queued if self.queue.activate(pod)], "a plugin activates it")

    def _hold(self, queued: QueuedPod) -> None:
        uid = queued.info.uid
        held = self.driver.scheduler_for(queued.info).profile.waiting[uid]
        self._held[uid], self.requeueing.meanwhile[uid] = queued, []
        self._say(queued.info, "waiting", f"for its permit from {', '.join(sorted(held.waits))}", held.node)

    def _settle(self) -> None:
        """Handle held pods that are bound or rejected."""
        self._end_waits(self.driver.settle())

    def _end_waits(self, attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            queued = self._held.pop(attempt.pod.uid)
            meanwhile = self.requeueing.meanwhile.pop(attempt.pod.uid)
            if attempt.is_placed:
                self._handle_bound(attempt)
            else:
                self._handle_failure(queued, attempt, meanwhile=meanwhile)

    def _handle_bound(self, attempt: Attempt) -> None:
        pod, row = attempt.pod, attempt.row
        assert row is not None
        node = self.cluster.columns.names[row]
        self._begin_work(pod, node)
        self._say(pod, "bound", f"score {attempt.score}" if attempt.score is not None else "the only node", node)
        self.diary.normal(pod.key, "Scheduled", f"Successfully assigned {pod.key} to {node}")
        self.requeueing.handle_event(EventOccurrence(ClusterEvent.POD_ADDED, self.cluster, pod))
        for queued in self.requeueing.take_next_turn(pod):
            self._say(queued.info, "queued", "its turn has come")
            self.entered.setdefault(queued.info.uid, self.now)
        self.requeueing.handle_claims(pod)

    def _begin_work(self, pod: PodInfo, node: str) -> None:
        del self._queued[pod.uid]
        self.cluster.pod_groups.pending.pop(pod.uid, None)
        self.bound[pod.uid] = self.now, node
        if self.begins is not None:
            start = format_time(self.begins + self.now)
            pod.pod = replace(pod.pod, status=replace(pod.pod.status, start_time=start))
            pod.start = start_time(start)
        seconds = self.works_for(pod)
        if seconds is not None:
            self.complete_at(pod.uid, self.now + seconds)

    def _handle_failure(
        self, queued: QueuedPod, attempt: Attempt, nominated: str = "", meanwhile: Sequence[EventOccurrence] = ()
    ) -> None:
        """Requeue a failed pod. ``nominated`` is the node it was nominated to until now."""
        pod = queued.info
        alone = self.requeueing.tried_at[pod.uid] == self.requeueing.changes
        given_up = self._requeue_failed(queued, attempt, rejectors_of(attempt), meanwhile)
        lost = self.driver.handle_failure(attempt, given_up=given_up)
        if attempt.nominated and not given_up:
            self._preempt(attempt, lost)
        if nominated and nominated != pod.nominated:
            self.requeueing.clear_nomination(pod)
        if attempt.lost:
            self.requeueing.handle_event(
                EventOccurrence(ClusterEvent.POD_DELETED, self.cluster, pod), lambda other: other is not queued
            )
            if alone:
                # It came and went: for itself, the cluster is as it was.
                self.requeueing.tried_at[pod.uid] = self.requeueing.changes

    def _requeue_failed(
        self,
        queued: QueuedPod,
        attempt: Attempt,
        rejectors: frozenset[str],
        meanwhile: Sequence[EventOccurrence] = (),
    ) -> bool:
        """Put a pod back into the queue; True if it is given up instead."""
        pod = queued.info
        self._say(pod, "unschedulable", attempt.message)
        self.diary.warning(pod.key, "FailedScheduling", attempt.message)
        if self._patience.count_failure(attempt):
            self.given_up.add(pod.uid)
            self._say(pod, "given up", f"it failed {MAX_FAILURES} times after it had a node, or by an error")
            return True
        self.queue.add_unschedulable(queued, rejectors, meanwhile)
        return False

    # --- evictions

    def _preempt(self, attempt: Attempt, lesser: Sequence[PodInfo]) -> None:
        """Delete victims, which stay for their grace period; ``lesser`` pods lose their nomination."""
        node, pod = attempt.nominated, attempt.pod
        if attempt.victims:
            self.preemptions.setdefault(pod.uid, []).append(attempt)
        victims = "1 victim" if len(attempt.victims) == 1 else f"{len(attempt.victims)} victims"
        self._say(pod, "nominated", f"{victims}: {attempt.criterion}", node)
        for other in lesser:
            self._say(other, "no longer nominated", f"{pod.key} is more important", node)
            self.requeueing.clear_nomination(other)
        for victim in attempt.victims_to_evict:
            self._evict(victim, pod, node)

    def _evict(self, victim: PodInfo, pod: PodInfo, node: str) -> None:
        text = f"Preempted by pod {pod.uid} on node {node}"
        self._say(victim, "preempted", f"by {pod.key}", node)
        if self.driver.turn_away(victim):
            self.diary.normal(victim.key, "Preempted", f"{text} (in kube-scheduler memory).")
            return
        self.diary.normal(victim.key, "Preempted", text)
        self.evicted[victim.uid] = pod.key
        on_its_way = victim.shape.terminating
        self._begin_deletion(victim, preempted=True)
        if not on_its_way and self.recreate:
            self._recreate(victim, self._replacements.replace_on_eviction(victim))

    def _begin_deletion(self, pod: PodInfo, *, preempted: bool = False) -> None:
        """Set a pod's deletion timestamp, and schedule its end."""
        if not pod.shape.terminating:
            self.delete(pod.uid, self.now + self.leaves_after(pod))
        if preempted or not pod.shape.terminating:
            self.cluster.mark_terminating(pod.uid, preempted=preempted)

    def _remove_pod(self, uid: str, *, deleted: bool = True, lost: bool = False) -> None:
        """A pod leaves its node: it was ``deleted`` or completed, or its node is ``lost``."""
        entry = self.cluster.find(uid)
        if entry is None or uid in self._held:
            return
        pod, row = entry
        devices = self.cluster.devices
        changes = len(devices.journal)
        self.cluster.remove_pod(uid, deleted=deleted)
        self._say(pod, "gone", "", self.cluster.columns.names[row])
        self.requeueing.handle_event(EventOccurrence(ClusterEvent.POD_DELETED, self.cluster, pod))
        if len(devices.journal) > changes:
            self.requeueing.handle_event(EventOccurrence(ClusterEvent.DEVICES_FREED, self.cluster, pod))
        if lost:
            self._recreate(pod, self._replacements.replacement_of(pod.pod))
        elif deleted and pod.shape.terminating and self.recreate:
            self._recreate(pod, self._replacements.replace_after_deletion(pod))
        if uid not in self.recreated:
            self.on_gone(pod)

    def _recreate(self, old: PodInfo, pod: Pod | None) -> None:
        if pod is not None and old.uid not in self.deleted:
            self.recreated[old.uid] = pod.identity
            self.stands_for[pod.identity] = self.stands_for.get(old.uid, old.uid)
            ready = with_claims_again(old, pod, self.cluster)
            at, shapes = self.now + self._replacements.backoffs.count_loss(pod), self.cluster.shapes
            self._agenda.add(at, EntryKind.ARRIVAL, lambda: self._enqueue(shapes.info(ready), "replacement"))

    def _say(self, pod: PodInfo, what: str, why: str = "", node: str = "") -> None:
        self.diary.say(pod.key, what, why, node)
