"""One kube-scheduler process: a scheduler for each profile, and everything that follows from a cycle.

All code that schedules pods drives one. Either a pod is tried until nothing helps (``schedule_with_preemption``), or
the caller lets retries and evictions take their time, as the simulator does.

Upstream: Scheduler in pkg/scheduler/scheduler.go, and handleSchedulingFailure in schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from kwhatif.api.core import Node, Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.interface import ALL_EVENTS, Plugin
from kwhatif.framework.status import EXTENDER, Code, Status
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.binary_heap import BinaryHeap, has_lesser_key
from kwhatif.scheduling.node_sampling import ParallelSearch
from kwhatif.scheduling.profile import Profile, SharedState
from kwhatif.scheduling.queue import Hints, without_hints
from kwhatif.scheduling.repeated_failures import RepeatedFailures, State
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.scheduling.setup import Setup

MOST_ATTEMPTS = 3
"""How often a pod is tried again at once after its victims left."""

_OWN_PLUGINS = "kwhatif.plugins."

T = TypeVar("T")


class DriverOptions(TypedDict, total=False):
    """Options of a process.

    seed       seeds the random choice between the best nodes, and the race of workers; without one the first by name is
               taken, and one worker visits the nodes in order
    ties_by_name   the first by name wins every tie, whatever the version does: as recorders pin it
    detailed   every plugin's scores are kept in the attempts
    imagined   pods are hypothetical, and no extender is called to bind them
    prefers    for pods by uid or key, the node to take if it is among the best
    observer   is notified of every cycle
    """

    seed: int | None
    ties_by_name: bool
    detailed: bool
    imagined: bool
    prefers: Mapping[str, str]
    observer: Observer


class Driver:
    """Schedulers by ``schedulerName``, each set up on first use: they share one cluster, time, and where the next
    search for nodes begins.
    """

    def __init__(self, cluster: Cluster, setup: Setup, **options: Unpack[DriverOptions]) -> None:
        self.cluster, self.setup = cluster, setup
        self.shared = SharedState(prefers=options.get("prefers", {}))
        self._options = options
        self._schedulers: dict[str, Scheduler | None] = {}
        self._hints: dict[tuple[str, str], Hints] = {}
        self._failures = RepeatedFailures()
        self._race_by_seed()
        self._activated: dict[str, None] = {}

    # --- profiles

    def scheduler(self, name: str | None) -> Scheduler | None:
        """The scheduler of a ``schedulerName``; None if the configuration has no such profile. Raises PolicyError."""
        name = name or "default-scheduler"
        if name not in self._schedulers:
            self._schedulers[name] = self._set_up(name)
        return self._schedulers[name]

    def _set_up(self, name: str) -> Scheduler | None:
        known = self.setup.configuration.profile_for(name)
        if known is None:
            return None
        profile = self.setup.profile(known)
        if self._options.get("imagined") and profile.extenders is not None:
            profile.extenders = profile.extenders.without_binding()
        for plugin in profile.framework.all_plugins:
            plugin.handle.clock, plugin.handle.activate = self._moment, self._activate
        return self._scheduler_of(profile)

    def _scheduler_of(self, profile: Profile) -> Scheduler:
        options = self._options
        return Scheduler(
            self.cluster,
            profile,
            self.shared,
            seed=options.get("seed"),
            detailed=options.get("detailed", False),
            ties_by_name=options.get("ties_by_name", False),
            observer=options.get("observer"),
        )

    def _moment(self) -> float:
        return self.shared.now

    def _activate(self, uids: Collection[str]) -> None:
        self._activated.update(dict.fromkeys(uids))

    def take_activated(self) -> list[str]:
        """The uids of pods that plugins activated since the last call, for callers with a queue."""
        uids = list(self._activated)
        self._activated.clear()
        return uids

    def set_up_all(self) -> None:
        """Set up the schedulers of all profiles. Raises PolicyError."""
        for profile in self.setup.configuration.profiles:
            self.scheduler(profile.scheduler_name)

    def scheduler_for(self, pod: PodInfo) -> Scheduler:
        """The scheduler of a pod that has one."""
        name = pod.pod.spec.scheduler_name
        scheduler = self._schedulers.get(name or "") or self.scheduler(name)
        assert scheduler is not None
        return scheduler

    @property
    def in_use(self) -> list[Scheduler]:
        return [scheduler for scheduler in self._schedulers.values() if scheduler is not None]

    def plugins(self) -> Iterator[Plugin[Any, Any]]:
        """The plugins in use so far, profile by profile."""
        for scheduler in self.in_use:
            yield from scheduler.framework.all_plugins

    def sandbox(self) -> Driver:
        """The same process in its present state on a copy of the cluster, to try something in.

        It has no observer, and no extender is called to bind.
        """
        options: DriverOptions = {**self._options, "imagined": True, "observer": Observer()}
        other = Driver(self.cluster.fork(), self.setup, **options)
        other.shared.next_start, other.shared.cycle = self.shared.next_start, self.shared.cycle
        for name, scheduler in self._schedulers.items():
            if scheduler is not None and scheduler.batch is not None and scheduler.batch.state.kept is not None:
                copy = other.scheduler(name)
                assert copy is not None
                assert copy.batch is not None
                copy.batch.state = scheduler.batch.state
        return other

    def begin_anew(self, start: int = 0) -> None:
        """Start the next search here, without a node hint: the cluster is not as the last cycle left it."""
        self.shared.next_start = start
        for scheduler in self.in_use:
            if scheduler.batch is not None:
                scheduler.batch.forget()

    def restart(self, *, undone: bool = False) -> None:
        """Reset to a process that has done nothing yet: no pod is held, and searches begin where the first one
        began. If all that it did is ``undone`` in its cluster, what it knows of the nodes still holds.
        """
        self.shared = SharedState(prefers=self.shared.prefers)
        before = dict(self._schedulers) if undone else {}
        self._schedulers.clear()
        for name, scheduler in before.items():
            if scheduler is not None:
                scheduler.profile.start_over()
                self._schedulers[name] = again = self._scheduler_of(scheduler.profile)
                again.keep_evaluations(scheduler)
        self._hints.clear()
        self._failures = RepeatedFailures()
        self._race_by_seed()
        observer = self._options.get("observer")
        if observer is not None:
            observer.start_over()

    def reread(self, kinds: Collection[str]) -> None:
        """Objects of these kinds were replaced; schedulers are set up again on their next use."""
        self.cluster.invalidate_kinds(kinds)
        self._failures = RepeatedFailures()
        holding = {
            name: scheduler
            for name, scheduler in self._schedulers.items()
            if scheduler is not None and scheduler.binding.held
        }
        self._schedulers.clear()
        self._hints.clear()
        for name, before in holding.items():
            if (after := self.scheduler(name)) is not None:
                after.take_over(before)

    def add_nodes(self, nodes: Sequence[Node], pods: Iterable[Pod]) -> None:
        """Add nodes with pods that are bound to them; the process goes on."""
        cluster = self.cluster
        cluster.replace_nodes([*cluster.columns.given, *nodes])
        for pod in pods:
            cluster.add(cluster.shapes.info(pod, bound=True), pod.spec.node_name or "")
        for scheduler in self.in_use:
            scheduler.start_over()

    def take_chances(self, random: Random, *, nodes_in_order: bool = False) -> None:
        """Randomise from now on what is random upstream: the order in which the scheduler heard of the nodes, where the
        search for nodes begins, which nodes its workers find and in which order, the choice among the best, and which
        candidates preemption tries and takes. ``nodes_in_order``: the scheduler was there before the nodes.
        """
        self.set_up_all()
        for scheduler in self.in_use:
            scheduler.draw_from(random)
        in_order = nodes_in_order or not self.cluster.shapes.features.nodes_come_in_any_order
        self._race(random, None if in_order else self.cluster.columns.shuffle(random))
        self.begin_anew(random.randrange(max(len(self.cluster.node_order), 1)))

    def _race_by_seed(self) -> None:
        seed = self._options.get("seed")
        if seed is not None and self.cluster.shapes.features.best_node_is_top_of_a_heap:
            self._race(Random(seed))

    def _race(self, random: Random, order: IntpArray | None = None) -> None:
        """Let the workers of searches race from now on."""
        race = np.random.Generator(np.random.PCG64(random.getrandbits(64)))
        self.shared.search = ParallelSearch(race, self.setup.configuration.parallelism, order=order)

    @property
    def undoable(self) -> bool:
        """Whether ``Cluster.go_back`` can undo everything: no plugin from outside or of Kubernetes 1.22 and no extender
        keeps state of its own, and no devices are allocated.
        """
        devices = self.cluster.devices
        if self.setup.extenders is not None or devices.claims or devices.slices:
            return False
        return not any(
            plugin.remembers or not type(plugin).__module__.startswith(_OWN_PLUGINS) for plugin in self.plugins()
        )

    # --- cycles

    def decide(self, pod: PodInfo, begin: int | None = None) -> Attempt:
        """The decision of a cycle now, without acting on it: the next search starts where this one did.

        ``begin`` is the row of the node that this search starts at, if not where the last one ended.
        """
        shared, batch = self.shared, self.scheduler_for(pod).batch
        start, cycle, state = shared.next_start, shared.cycle, None if batch is None else batch.state
        if begin is not None:
            shared.next_start = begin
        attempt = self.scheduler_for(pod).decide(pod)
        attempt.next_start = shared.next_start
        shared.next_start, shared.cycle = start, cycle
        if batch is not None and state is not None:
            batch.state = state
        return attempt

    def attempt(self, pod: PodInfo) -> Attempt:
        """One cycle: victims of a pod that finds no node are not evicted.

        Of pods that look alike and fail, one runs through the cycle, as long as nothing changes: of 100,000 replicas
        without room the others get its result.
        """
        scheduler = self.scheduler_for(pod)
        if not scheduler.repeats_failures(pod):
            return scheduler.attempt(pod)
        before = self._state()
        failed = self._failures.find(before, pod)
        if failed is not None and scheduler.gate(pod) is None:
            self.shared.cycle += 1
            return failed
        attempt = scheduler.attempt(pod)
        changes = attempt.nominated or (attempt.batching is not None and attempt.batching.flushed)
        if attempt.diagnosis is not None and not changes and self._state() == before:
            self._failures.add(before, attempt)
        return attempt

    def _state(self) -> State:
        """What decides about a pod besides itself: it differs whenever a node, a pod, a volume or a device does."""
        cluster, shared = self.cluster, self.shared
        changes = len(cluster.journal), len(cluster.devices.journal), cluster.storage.version
        books = cluster.columns, cluster.storage, cluster.devices
        versions = cluster.nominated.version, cluster.membership_version
        return changes, versions, books, shared.next_start, shared.now

    def is_futile(self, pod: PodInfo) -> bool:
        """Whether an attempt would certainly fail and change nothing. False where that is not certain."""
        if not self.scheduler_for(pod).is_futile(pod):
            return False
        # It is taken from the queue all the same, so that no hint outlasts it.
        self.shared.cycle += 1
        return True

    def futile_attempt(self, pod: PodInfo) -> Attempt | None:
        """The outcome of a futile attempt, computed once for equal pods while nothing changes; else None."""
        if not self.is_futile(pod):
            return None
        state = self._state()
        failed = self._failures.find(state, pod)
        if failed is None:
            failed = self.decide(pod)
            self._failures.add(state, failed)
        return failed

    def schedule_with_preemption(self, pod: PodInfo, *, to_the_end: bool = True) -> list[Attempt]:
        """Try a pod until it has a node, or nothing is left that would help: at most ``MOST_ATTEMPTS`` times.

        Its victims leave before it is tried again. ``to_the_end``: so do terminating victims, and the pod is also
        retried when it got a claim deallocated that could not be used where it was.
        """
        attempts: list[Attempt] = []
        claims = self.cluster.devices.journal
        while len(attempts) < MOST_ATTEMPTS:
            changes = len(claims)
            attempt = self.attempt(pod)
            attempts.append(attempt)
            if attempt.is_placed:
                break
            self.handle_failure(attempt)
            if attempt.nominated:
                self.evict(attempt, to_the_end=to_the_end)
            elif not to_the_end or len(claims) == changes:
                break
        return attempts

    # --- what follows

    def handle_failure(self, attempt: Attempt, *, given_up: bool = False) -> list[PodInfo]:
        """Nominate a node for a pod that found none while its victims leave, or clear its nomination.

        Lower-priority nominations to that node are cleared. Returns the pods whose nomination was cleared. For a pod
        that is ``given_up`` no victim leaves.
        """
        pod = attempt.pod
        if not attempt.nominated or given_up:
            # It stays nominated where preemption did not look for another node.
            lost = [pod] if pod.nominated and (given_up or not attempt.keeps_nomination) else []
        else:
            # Upstream gets to this only when a victim has to be deleted.
            victims = attempt.victims_to_evict or attempt.at_once
            there = self.cluster.nominated.get(attempt.nominated, ()) if victims else ()
            lost = [other for other in there if other.priority < pod.priority]
        for other in lost:
            self.cluster.remove_nomination(other.uid)
            other.nominated = ""
        if attempt.nominated and not given_up:
            self.cluster.nominate(pod, attempt.nominated)
        return lost

    def evict(self, attempt: Attempt, *, to_the_end: bool = True) -> None:
        """Remove a preemptor's victims at once; terminating ones only ``to_the_end``."""
        for victim in attempt.victims if to_the_end else attempt.victims_to_evict:
            if not self.turn_away(victim):
                self.cluster.remove_pod(victim.uid)
        self.settle()

    def turn_away(self, victim: PodInfo) -> bool:
        """Reject a waiting pod in favour of a more important one; False if it is not held.

        Only the scheduler's cache forgets it; to the queue that is an error, not unschedulable.
        """
        for scheduler in self.in_use:
            held = scheduler.profile.waiting.get(victim.uid)
            if held is not None:
                reasons = ("waiting on permit for pod: preempted",)
                held.denied = Status(Code.ERROR, reasons, "DefaultPreemption")
                return True
        return False

    def settle(self) -> list[Attempt]:
        """Bind or reject held pods; one that is bound may make a permit plugin approve others.

        Returns the attempts that came to an end.
        """
        ended: list[Attempt] = []
        bindings = [scheduler.binding for scheduler in self.in_use]
        while attempts := [attempt for binding in bindings if binding.held for attempt in binding.settle()]:
            ended += attempts
        return ended

    def deadlines(self) -> list[float]:
        """When the timeout of each held pod ends."""
        return [held.deadline for scheduler in self.in_use for held in scheduler.profile.waiting.values()]

    def wait(self) -> None:
        """Let time pass until no pod is held."""
        self.settle()
        while moments := self.deadlines():
            self.shared.now = max(self.shared.now, min(moments))
            self.settle()

    # --- the queue

    def queue_key(self, pod: PodInfo, order: int) -> Any:
        """What the queue sorts by; ``order`` is the pod's place in the order of arrival."""
        return self.scheduler_for(pod).framework.queue_key(pod, order)

    def in_order(self, items: Iterable[T], pod: Callable[[T], PodInfo]) -> list[T]:
        """The items whose pods have arrived in this order, in the order in which the queue hands them out.

        These pods exist from now on, so that others of their group count them.
        """
        keyed = []
        for order, item in enumerate(items):
            info = pod(item)
            self.cluster.pending.add(info.pod)
            keyed.append((self.queue_key(info, order), order, item))
        if not keyed or not self.orders_by_heap():
            return [item for _, _, item in sorted(keyed, key=lambda entry: entry[:2])]
        heap: BinaryHeap[tuple[Any, int, T]] = BinaryHeap(has_lesser_key)
        for entry in keyed:
            heap.push(entry)
        return [heap.pop()[2] for _ in keyed]

    def orders_by_heap(self) -> bool:
        """Whether the queue's order depends on the operations of its heap. Raises PolicyError."""
        first = self.scheduler(self.setup.configuration.profiles[0].scheduler_name)
        return first is not None and first.framework.orders_by_heap

    def hints(self, profile: str, plugin: str) -> Hints:
        """The queueing hints of a plugin that rejected the pod."""
        if plugin == EXTENDER:
            return ALL_EVENTS
        key = profile, plugin
        if key not in self._hints:
            scheduler = self.scheduler(profile)
            assert scheduler is not None
            plugins = [p for p in scheduler.framework.all_plugins if p.name == plugin]
            hints = plugins[0].queueing_hints if plugins else {}
            hinted = plugins and plugins[0].handle.features.scheduler_queueing_hints
            self._hints[key] = hints if hinted else without_hints(hints)
        return self._hints[key]
