"""One kube-scheduler process: a scheduler a profile, and what becomes of a pod after each of its cycles.

Everybody who schedules pods drives one of these. Either all that follows from a cycle happens ``at once``, as below, or
somebody else lets it take its time, as the simulator does.

Upstream: Scheduler in pkg/scheduler/scheduler.go, and handleSchedulingFailure in schedule_one.go.

From a profile's value to a scheduler that runs: plugins are found, checked, given their arguments.

Upstream: NewFramework in pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import numpy as np

from kwhatif.api.core import Node, Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import PluginError, PolicyError
from kwhatif.framework.interface import ALL_EVENTS, Handle, Plugin, WaitingPod, extension_points
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import EXTENDER, Code, Status
from kwhatif.policy.in_tree import InTreePlugins, in_tree
from kwhatif.policy.profile import Profile as PolicyProfile
from kwhatif.policy.profile import SchedulerConfiguration, expand, without
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.node_sampling import ParallelSearch
from kwhatif.scheduling.preemption import Preemption, ineligible
from kwhatif.scheduling.queue import Hints, without_hints
from kwhatif.scheduling.schedule_one import Observer, Profile, Scheduler, SharedState
from kwhatif.versions import Features

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import Extenders


PluginClass = type[Plugin[Any, Any]]


@dataclass
class Setup:
    """Everything but the cluster: rules, configuration, and plugins from outside the tree.

    ``skipped`` collects plugins that are enabled but that nobody provides: with ``skip_unknown`` anybody's, without it
    kube-scheduler's own; ``stand_ins`` says who sorts the queue or binds in their place, by extension point; ``used``
    are the plugins of the profiles that were asked for. ``extenders`` are called, if there are any: they are those of
    the configuration.
    """

    configuration: SchedulerConfiguration
    features: Features
    outside: Mapping[str, PluginClass] = field(default_factory=dict)
    skip_unknown: bool = False
    all_nodes: bool = False
    skipped: set[str] = field(default_factory=set)
    stand_ins: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    extenders: Extenders | None = None

    @cached_property
    def _facts(self) -> InTreePlugins:
        return in_tree(self.features)

    def queues(self, pod: Pod) -> bool:
        """Whether a pod without a node is in the queue: of one of the profiles, and not held back by gates."""
        known = self.configuration.profile_for(pod.spec.scheduler_name or "default-scheduler")
        return known is not None and not pod.spec.scheduling_gates

    def profile(self, profile: PolicyProfile) -> Profile:
        """Plugins of one profile, instantiated. Raises PolicyError."""
        waiting: dict[str, WaitingPod] = {}
        preempt = Preemption(self.extenders)
        strangers = self._strangers(profile)
        own = (name for name, _ in self._facts.default_plugins)
        profile, stand_ins = without(profile, strangers, self._points, own)
        self.skipped |= strangers
        self.stand_ins |= stand_ins
        expanded = expand(profile, self._points)
        weights = {ref.name: ref.weight for ref in expanded["score"]}
        instances: dict[str, Plugin[Any, Any]] = {}
        for refs in expanded.values():
            for ref in refs:
                known = self._class(ref.name)
                if known is None or ref.name in instances:
                    continue
                args = profile.args_of(ref.name)
                handle = Handle(self.features, {} if args is None else args, preempt, waiting)
                instances[ref.name] = _create(known, handle)
        self.used |= instances.keys()
        plugins = {
            point: [instances[ref.name] for ref in refs if ref.name in instances] for point, refs in expanded.items()
        }
        percentage = 100 if self.all_nodes else self.configuration.percentage_for(profile)
        everything = self.configuration.all_filters
        framework = Framework(profile.scheduler_name, plugins, weights, all_filters=everything)
        return Profile(framework, percentage, waiting, self.extenders)

    def _class(self, name: str) -> PluginClass | None:
        if name in self.outside or name not in self._facts.points:
            return self.outside.get(name)
        known = self._facts.plugins[name]
        return known if issubclass(known, Plugin) else None

    def _points(self, name: str) -> Collection[str] | None:
        known = self.outside.get(name)
        return self._facts.points.get(name) if known is None else extension_points(known)

    def _strangers(self, profile: PolicyProfile) -> set[str]:
        """The enabled plugins that nobody provides, if one may go on without them. Raises PolicyError."""
        enabled = {ref.name for plugins in profile.plugins.values() for ref in plugins.enabled}
        strangers = {name for name in enabled if self._class(name) is None}
        # What kube-scheduler itself has and nobody models is for groups of pods, which are scheduled one by one here.
        missing = sorted(strangers - self._facts.points.keys())
        if missing and not self.skip_unknown:
            one = len(missing) == 1
            raise PolicyError(
                f"plugin{'' if one else 's'} {', '.join(missing)} {'is' if one else 'are'} enabled but nobody provides "
                f"{'it' if one else 'them'}: name {'it' if one else 'them'} with --plugin, or go on without "
                f"{'it' if one else 'them'} with --skip-unknown-plugins"
            )
        return strangers


def _create(known: PluginClass, handle: Handle) -> Plugin[Any, Any]:
    try:
        return known(handle)
    except (PolicyError, PluginError):
        raise
    except Exception as error:
        raise PluginError(known.name, "__init__", f"{type(error).__name__}: {error}") from error


MOST_ATTEMPTS = 3
"""A pod is tried again at once after its victims left, but not for ever."""

_OWN_PLUGINS = "kwhatif.plugins."

T = TypeVar("T")


class DriverOptions(TypedDict, total=False):
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

    def __init__(self, cluster: Cluster, setup: Setup, **options: Unpack[DriverOptions]) -> None:
        self.cluster, self.setup = cluster, setup
        self.shared = SharedState(prefers=options.get("prefers", {}), observer=options.get("observer", Observer()))
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
            profile.extenders = profile.extenders.without_binding()
        seed, detailed = self._options.get("seed"), self._options.get("detailed", False)
        return Scheduler(self.cluster, profile, self.shared, seed=seed, detailed=detailed)

    def set_up_all(self) -> None:
        """Set up the schedulers of all profiles. Raises PolicyError."""
        for profile in self.setup.configuration.profiles:
            self.scheduler(profile.scheduler_name)

    def scheduler_for(self, pod: PodInfo) -> Scheduler:
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

    def sandbox(self) -> Driver:
        """The same process as it is now on a copy of the cluster, to try something in.

        Nobody looks on, and no extender is asked to bind.
        """
        options: DriverOptions = {**self._options, "imagined": True, "observer": Observer()}
        other = Driver(self.cluster.fork(), self.setup, **options)
        other.shared.next_start = self.shared.next_start
        return other

    def restart(self) -> None:
        """Be as a process that has done nothing yet: no pod is held, and searches begin where the first one began."""
        self.shared = SharedState(prefers=self.shared.prefers, observer=self.shared.observer)
        self._schedulers.clear()
        self._hints.clear()
        self._failed_at = 0, {}
        self.shared.observer.start_over()

    def reread(self, kinds: Collection[str]) -> None:
        """The cluster's objects of these kinds are others from now on; schedulers are set up anew when asked for."""
        self.cluster.invalidate_kinds(kinds)
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
        self.shared.next_start = random.randrange(max(len(self.cluster.node_order), 1))

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
        attempt = self.scheduler_for(pod).decide(pod)
        self.shared.next_start = start
        return attempt

    def attempt(self, pod: PodInfo) -> Attempt:
        """One cycle and no more: nobody leaves for a pod that finds no node."""
        return self.scheduler_for(pod).attempt(pod)

    def is_futile(self, pod: PodInfo) -> bool:
        """Whether an attempt could only fail and would leave everything as it is. False where that is not sure."""
        return self.scheduler_for(pod).is_futile(pod)

    def futile_attempt(self, pod: PodInfo) -> Attempt | None:
        """What an attempt ``in_vain`` comes to, worked out once for equal pods while no node changes; else None."""
        if not self.is_futile(pod):
            return None
        changes, failed = self._failed_at
        if changes != len(self.cluster.journal):
            failed = {}
            self._failed_at = len(self.cluster.journal), failed
        index = pod.shape.index
        if index not in failed:
            failed[index] = self.decide(pod)
        return replace(failed[index], pod=pod)

    def schedule_with_preemption(self, pod: PodInfo, *, to_the_end: bool = True) -> list[Attempt]:
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
            there = self.cluster.nominated.get(attempt.nominated, ()) if attempt.victims_to_evict else ()
            lost = [other for other in there if other.priority < pod.priority]
        for other in lost:
            self.cluster.remove_nomination(other.uid)
            other.nominated = ""
        if attempt.nominated and not given_up:
            self.cluster.nominate(pod, attempt.nominated)
        return lost

    def evict(self, attempt: Attempt, *, to_the_end: bool = True) -> None:
        """Let a preemptor's victims leave at once; those that were leaving anyway only ``to_the_end``."""
        for victim in attempt.victims if to_the_end else attempt.victims_to_evict:
            if not self.turn_away(victim):
                self.cluster.remove_pod(victim.uid)
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
        return self.scheduler_for(pod).framework.queue_key(pod, order)

    def in_order(self, items: Iterable[T], pod: Callable[[T], PodInfo]) -> list[T]:
        """The items whose pods have arrived in this order, in the one in which the queue hands them out."""
        keyed = [(self.queue_key(pod(item), order), order, item) for order, item in enumerate(items)]
        return [item for _, _, item in sorted(keyed, key=lambda entry: entry[:2])]

    def hints(self, profile: str, plugin: str) -> Hints:
        """What brings a pod back that the plugin turned down."""
        if plugin == EXTENDER:
            return ALL_EVENTS
        key = profile, plugin
        if key not in self._hints:
            scheduler = self.scheduler(profile)
            assert scheduler is not None
            found = [p for p in scheduler.framework.all_plugins if p.name == plugin]
            hints = found[0].queueing_hints if found else {}
            hinted = found and found[0].handle.features.scheduler_queueing_hints
            self._hints[key] = hints if hinted else without_hints(hints)
        return self._hints[key]
