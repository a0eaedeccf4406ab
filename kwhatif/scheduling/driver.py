"""One kube-scheduler process: a scheduler a profile, and what becomes of a pod after each of its cycles.

Everybody who schedules pods drives one of these. Either all that follows from a cycle happens ``at once``, as below, or
somebody else lets it take its time, as the simulator does.

Upstream: Scheduler in pkg/scheduler/scheduler.go, and handleSchedulingFailure in schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from kwhatif.api.core import Node, Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.events import EVERYTHING
from kwhatif.framework.interface import Plugin
from kwhatif.framework.status import EXTENDER, Code, Status
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.news import without_hints
from kwhatif.scheduling.parallel_search import ParallelSearch
from kwhatif.scheduling.preemption import ineligible
from kwhatif.scheduling.queue import Hints
from kwhatif.scheduling.schedule_one import Observer, Scheduler, Shared
from kwhatif.scheduling.setup import Setup

MOST_ATTEMPTS = 3
"""A pod is tried again at once after its victims left, but not for ever."""

_OWN_PLUGINS = "kwhatif.plugins."

T = TypeVar("T")


class Options(TypedDict, total=False):
    """How a process schedules.

    seed       breaks ties at random as the real scheduler does; without one the first by name wins
    detailed   every plugin's scores are kept in the attempts
    imagined   pods are imagined ones, which no extender is asked to bind
    prefers    for pods by uid or key, the node to take if it is among the best
    observer   looks on
    """

    seed: int | None
    detailed: bool
    imagined: bool
    prefers: Mapping[str, str]
    observer: Observer


class Driver:
    """Schedulers by ``schedulerName``, each set up when it is first asked for: they share one cluster, time, and where
    the next search for nodes begins.
    """

    def __init__(self, cluster: Cluster, setup: Setup, **options: Unpack[Options]) -> None:
        self.cluster, self.setup = cluster, setup
        self.shared = Shared(prefers=options.get("prefers", {}), observer=options.get("observer", Observer()))
        self._options = options
        self._schedulers: dict[str, Scheduler | None] = {}
        self._hints: dict[tuple[str, str], Hints] = {}
        self._failed_at = 0, dict[int, Attempt]()

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
            profile.extenders = profile.extenders.imagined()
        seed, detailed = self._options.get("seed"), self._options.get("detailed", False)
        return Scheduler(self.cluster, profile, self.shared, seed=seed, detailed=detailed)

    def set_up_all(self) -> None:
        """Set up the schedulers of all profiles. Raises PolicyError."""
        for profile in self.setup.configuration.profiles:
            self.scheduler(profile.scheduler_name)

    def of(self, pod: PodInfo) -> Scheduler:
        """The scheduler of a pod that has one."""
        found = self.scheduler(pod.pod.spec.scheduler_name)
        assert found is not None
        return found

    @property
    def in_use(self) -> list[Scheduler]:
        return [scheduler for scheduler in self._schedulers.values() if scheduler is not None]

    def plugins(self) -> Iterator[Plugin[Any, Any]]:
        """The plugins in use so far, profile by profile."""
        for scheduler in self.in_use:
            yield from scheduler.framework.all_plugins

    def apart(self) -> Driver:
        """The same process as it is now on a copy of the cluster, to try something in.

        Nobody looks on, and no extender is asked to bind.
        """
        options: Options = {**self._options, "imagined": True, "observer": Observer()}
        other = Driver(self.cluster.fork(), self.setup, **options)
        other.shared.next_start = self.shared.next_start
        return other

    def reread(self, kinds: Collection[str]) -> None:
        """The cluster's objects of these kinds are others from now on; schedulers are set up anew when asked for."""
        self.cluster.reread(kinds)
        holding = {name: each for name, each in self._schedulers.items() if each is not None and each.held}
        self._schedulers.clear()
        self._hints.clear()
        for name, before in holding.items():
            if (after := self.scheduler(name)) is not None:
                after.take_over(before)

    def add_nodes(self, nodes: Sequence[Node], pods: Iterable[Pod]) -> None:
        """Nodes join the cluster, with pods that are bound to them; the process goes on."""
        cluster = self.cluster
        cluster.replace_nodes([*cluster.columns.given, *nodes])
        for pod in pods:
            cluster.add(cluster.shapes.info(pod, bound=True), pod.spec.node_name or "")
        for scheduler in self.in_use:
            scheduler.start_over()

    def take_chances(self, random: Random) -> None:
        """Leave to chance from now on, as upstream does, where the search for nodes begins, which nodes its workers
        find, and which of the best is taken.
        """
        self.set_up_all()
        for scheduler in self.in_use:
            scheduler.reseed(random)
        race = np.random.Generator(np.random.PCG64(random.getrandbits(64)))
        self.shared.search = ParallelSearch(race, self.setup.configuration.parallelism)
        self.shared.next_start = random.randrange(max(len(self.cluster.searched), 1))

    @property
    def undoable(self) -> bool:
        """Whether all that is done may be undone by ``Cluster.go_back``: nobody else keeps account of it, as plugins
        from outside, those of Kubernetes 1.22 and extenders may, and no devices are given away.
        """
        devices = self.cluster.devices
        strangers = any(not type(plugin).__module__.startswith(_OWN_PLUGINS) for plugin in self.plugins())
        return not (strangers or self.setup.extenders is not None or devices.claims or devices.slices)

    # --- cycles

    def decide(self, pod: PodInfo, begin: int | None = None) -> Attempt:
        """What a cycle would make of a pod now, which is not done: the next search starts where this one did.

        ``begin`` is the row of the node that this search starts at, if not where the last one ended.
        """
        start = self.shared.next_start
        if begin is not None:
            self.shared.next_start = begin
        attempt = self.of(pod).decide(pod)
        self.shared.next_start = start
        return attempt

    def attempt(self, pod: PodInfo) -> Attempt:
        """One cycle and no more: nobody leaves for a pod that finds no node."""
        return self.of(pod).attempt(pod)

    def in_vain(self, pod: PodInfo) -> bool:
        """Whether an attempt could only fail and would leave everything as it is. False where that is not sure."""
        return self.of(pod).in_vain(pod)

    def failing(self, pod: PodInfo) -> Attempt | None:
        """What an attempt ``in_vain`` comes to, worked out once for equal pods while no node changes; else None."""
        if not self.in_vain(pod):
            return None
        changes, failed = self._failed_at
        if changes != len(self.cluster.journal):
            failed = {}
            self._failed_at = len(self.cluster.journal), failed
        index = pod.shape.index
        if index not in failed:
            failed[index] = self.decide(pod)
        return replace(failed[index], pod=pod)

    def at_once(self, pod: PodInfo, *, to_the_end: bool = True) -> list[Attempt]:
        """Try a pod until it has found a node, or nothing is left that would help: at most ``MOST_ATTEMPTS`` times.

        Its victims leave before it is tried again. ``to_the_end``: so do those among them that were leaving anyway, and
        the pod is also tried again when it got a claim taken back from where it could not be used.
        """
        attempts: list[Attempt] = []
        claims = self.cluster.devices.journal
        while len(attempts) < MOST_ATTEMPTS:
            changes = len(claims)
            attempt = self.attempt(pod)
            attempts.append(attempt)
            if attempt.placed:
                break
            self.failed(attempt)
            if attempt.nominated:
                self.evict(attempt, to_the_end=to_the_end)
            elif not to_the_end or len(claims) == changes:
                break
        return attempts

    # --- what follows

    def failed(self, attempt: Attempt, *, given_up: bool = False) -> list[PodInfo]:
        """Keep a node for a pod that found none while its victims leave, or keep none for it any more.

        Lesser nominations to that node are void. Returns the pods that no node is kept for any more. For a pod that is
        ``given_up`` nobody leaves.
        """
        pod = attempt.pod
        if not attempt.nominated or given_up:
            # It stays nominated where preemption did not look for another node.
            kept = not given_up and attempt.diagnosis is not None and ineligible(pod, attempt.diagnosis)
            lost = [pod] if pod.nominated and not kept else []
        else:
            # Upstream gets to this only when somebody has to be told to leave.
            there = self.cluster.nominated.get(attempt.nominated, ()) if attempt.evicted else ()
            lost = [other for other in there if other.priority < pod.priority]
        for other in lost:
            self.cluster.denominate(other.uid)
            other.nominated = ""
        if attempt.nominated and not given_up:
            self.cluster.nominate(pod, attempt.nominated)
        return lost

    def evict(self, attempt: Attempt, *, to_the_end: bool = True) -> None:
        """Let a preemptor's victims leave at once; those that were leaving anyway only ``to_the_end``."""
        for victim in attempt.victims if to_the_end else attempt.evicted:
            if not self.turn_away(victim):
                self.cluster.leave(victim.uid)
        self.settle()

    def turn_away(self, victim: PodInfo) -> bool:
        """Deny a pod its permit for a more important one; False if it is not held.

        It has to leave nothing but the scheduler's memory; to the queue that is an accident, not a verdict.
        """
        for scheduler in self.in_use:
            held = scheduler.profile.waiting.get(victim.uid)
            if held is not None:
                reasons = ("waiting on permit for pod: preempted",)
                held.denied = Status(Code.ERROR, reasons, "DefaultPreemption")
                return True
        return False

    def settle(self) -> list[Attempt]:
        """Let held pods go on or turn them away; one that goes on may move a permit plugin to let others go.

        Returns the attempts that came to an end.
        """
        ended: list[Attempt] = []
        while found := [attempt for scheduler in self.in_use if scheduler.held for attempt in scheduler.settle()]:
            ended += found
        return ended

    def deadlines(self) -> list[float]:
        """When the patience with each held pod ends."""
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
        return self.of(pod).framework.queue_key(pod, order)

    def in_order(self, items: Iterable[T], pod: Callable[[T], PodInfo]) -> list[T]:
        """The items whose pods have arrived in this order, in the one in which the queue hands them out."""
        keyed = [(self.queue_key(pod(item), order), order, item) for order, item in enumerate(items)]
        return [item for _, _, item in sorted(keyed, key=lambda entry: entry[:2])]

    def hints(self, profile: str, plugin: str) -> Hints:
        """What brings a pod back that the plugin turned down."""
        if plugin == EXTENDER:
            return EVERYTHING
        key = profile, plugin
        if key not in self._hints:
            scheduler = self.scheduler(profile)
            assert scheduler is not None
            found = [p for p in scheduler.framework.all_plugins if p.name == plugin]
            hints = found[0].requeue_hints if found else {}
            hinted = found and found[0].handle.features.scheduler_queueing_hints
            self._hints[key] = hints if hinted else without_hints(hints)
        return self._hints[key]
