"""The scheduling queue: active pods, pods in backoff, and unschedulable pods that wait for an event.

Time is a number of seconds that the caller moves; nothing here reads a clock. Upstream: pkg/scheduler/backend/queue
(scheduling_queue.go, backoff_queue.go, active_queue.go; AssignedPodAdded, PopSpecificPod), and buildQueueingHintMap in
scheduler.go, which drops plugins' own hints where the gate SchedulerQueueingHints is off.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from math import floor
from typing import Any

import msgspec

from kwhatif.api.core import Namespace, Pod
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import ClusterEvent, EventOccurrence, QueueingHint, always
from kwhatif.framework.status import Status
from kwhatif.scheduling.binary_heap import BinaryHeap, has_lesser_key
from kwhatif.versions import Features, features_of

_SPREAD = "PodTopologySpread"


def without_hints(hints: Mapping[ClusterEvent, QueueingHint]) -> Mapping[ClusterEvent, QueueingHint]:
    """A queueing hint for which any event may help."""
    return dict.fromkeys(hints, always)


def is_helped_by_new_pod(waiting: PodInfo, rejectors: frozenset[str], happening: EventOccurrence) -> bool:
    """Whether a bound pod may help a waiting pod that has affinity terms or spread constraints."""
    new, features = happening.pod, happening.cluster.shapes.features
    if new is None:
        return True
    if features.spread_hears_of_new_pods and _SPREAD in rejectors and waiting.shape.namespace == new.shape.namespace:
        return True
    if not waiting.shape.affinity:
        return False
    objects = happening.cluster.objects
    labels = (
        next((ns.metadata.labels for ns in objects.list_all(Namespace) if ns.name == new.shape.namespace), None) or {}
    )
    return any(
        (new.shape.namespace in term.namespaces or term.namespace_selector.matches(labels))
        and term.selector.matches(new.shape.labels)
        for term in waiting.shape.affinity
    )


LEFTOVER_AFTER = 300.0
"""Seconds after which a pod that no event has brought back is tried again."""

OFTEN = 32
"""How often a pod counts as refused that waited before the simulation began: so often that it backs off for the longest
time. A snapshot does not say how often it was; pods that are new come back sooner.
"""


def was_refused(pod: Pod) -> bool:
    """Whether the scheduler has said of a pod that no node will do."""
    return any(
        one.type == "PodScheduled" and one.status == "False" and one.reason == "Unschedulable"
        for one in pod.status.conditions or ()
    )


Hints = Mapping[ClusterEvent, QueueingHint]


class QueuedPod(msgspec.Struct, eq=False):
    """A pod in the queue.

    ``rejectors`` are the plugins that rejected it last time; only events that they registered bring it back. A pod that
    failed without one (an error) backs off and comes back by itself. ``gate`` is the refusal of the PreEnqueue plugin
    that gates it, ``place`` where it is: ``active``, ``backoff``, ``waiting``, or nowhere. ``first_active`` is when it
    first became active, among all pods; 0 if it never was.
    """

    info: PodInfo
    profile: str
    timestamp: float = 0.0
    order: int = 0
    attempts: int = 0
    unschedulable: int = 0
    errors: int = 0
    rejectors: frozenset[str] = frozenset()
    gate: Status | None = None
    backoff_until: float | None = None
    place: str = ""
    first_active: int = 0


class SchedulingQueue(msgspec.Struct, eq=False):
    """Active, backing off, waiting.

    ``sort_key`` orders active pods, ``pre_enqueue`` is called before a pod may become active, ``hints`` gives the
    queueing hints of a profile's plugin. With ``pop_from_backoff`` a pod in backoff is popped when no other is active.
    ``by_heap`` says whether the order depends on the operations of upstream's heap; it is called when the first pod
    becomes active.
    """

    sort_key: Callable[[QueuedPod], Any]
    pre_enqueue: Callable[[QueuedPod], Status | None]
    hints: Callable[[str, str], Hints]
    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    pop_from_backoff: bool = True
    features: Features = msgspec.field(default_factory=features_of)
    now: float = 0.0
    by_heap: Callable[[], bool] = lambda: False
    _active: list[tuple[Any, int, QueuedPod]] = []
    _heap: BinaryHeap[tuple[Any, int, QueuedPod]] | None = None
    _backoff: dict[str, QueuedPod] = {}
    _soonest: list[tuple[float, Any, int, QueuedPod]] = []
    _waiting: dict[tuple[str, frozenset[str]], dict[str, QueuedPod]] = {}
    _count: int = 0
    _activations: int = 0

    # --- coming in

    def add(self, pod: QueuedPod) -> None:
        """Add a new pod; it becomes active unless a PreEnqueue plugin gates it."""
        self._stamp(pod)
        self._activate(pod)

    def add_unschedulable(
        self, pod: QueuedPod, rejectors: Iterable[str], meanwhile: Iterable[EventOccurrence] = ()
    ) -> None:
        """Add a pod whose cycle failed. Events ``meanwhile`` may bring it back at once."""
        pod.rejectors = frozenset(rejectors)
        if pod.rejectors:
            pod.unschedulable += 1
            pod.errors = 0
        else:
            pod.errors += 1
        self._stamp(pod)
        pod.backoff_until = None
        if not pod.rejectors or self._has_missed_event(pod, meanwhile):
            self._requeue(pod)
        else:
            self._wait(pod)

    def _has_missed_event(self, pod: QueuedPod, meanwhile: Iterable[EventOccurrence]) -> bool:
        """Whether one of these events might have helped; without hints, any."""
        hinted = self.features.scheduler_queueing_hints
        return any(not hinted or self._helps(pod, happening) for happening in meanwhile)

    def _stamp(self, pod: QueuedPod) -> None:
        pod.timestamp = self.now
        self._count += 1
        pod.order = self._count

    # --- going out

    def pop(self) -> QueuedPod | None:
        """The next pod to try."""
        while self._active or self._heap:
            _, order, pod = self._heap.pop() if self._heap else heapq.heappop(self._active)
            if pod.place == "active" and pod.order == order:
                return self._mark_popped(pod)
        while self._soonest:
            _, _, order, pod = heapq.heappop(self._soonest)
            if pod.place == "backoff" and pod.order == order:
                del self._backoff[pod.info.uid]
                return self._mark_popped(pod)
        return None

    def take(self, pod: QueuedPod) -> bool:
        """Take a pod out, wherever it is, as if it had become active and been popped; False if it is gated."""
        self.activate(pod)
        if pod.place != "active":
            return False
        self._mark_popped(pod)
        return True

    @staticmethod
    def _mark_popped(pod: QueuedPod) -> QueuedPod:
        pod.place = ""
        pod.attempts += 1
        return pod

    def remove(self, pod: QueuedPod) -> None:
        """Remove a deleted pod."""
        if pod.place == "waiting":
            self._leave(pod)
        elif pod.place == "backoff":
            del self._backoff[pod.info.uid]
        pod.place = ""

    def update(self, pod: QueuedPod, info: PodInfo) -> None:
        """Replace the pod; a waiting one may fit now."""
        waits = pod.place == "waiting"
        if waits:
            self._leave(pod)
        pod.info = info
        if waits:
            self._requeue(pod)

    # --- time

    def backoff_end(self, pod: QueuedPod) -> float:
        """When the pod may be tried again; the initial second doubles with every failure, up to a maximum."""
        count = pod.attempts if self.features.backoff_counts_attempts else pod.errors or pod.unschedulable
        if not count or not self.max_backoff:
            return -1.0
        if pod.backoff_until is None:
            # The exponent is bounded, or a pod that failed a thousand times would be too much for a float.
            pause = min(self.initial_backoff * 2.0 ** min(count - 1, 100), self.max_backoff)
            pod.backoff_until = self._align_to_second(pod.timestamp + pause)
        return pod.backoff_until

    def _backing_off(self, pod: QueuedPod) -> bool:
        end, now = self.backoff_end(pod), self._align_to_second(self.now)
        return end > now or (end == now and not self.features.backoff_ends_on_time)

    def _align_to_second(self, moment: float) -> float:
        """Backoffs end with a whole second, so that pods of one second are ordered by priority."""
        return float(floor(moment)) if self.pop_from_backoff else moment

    def _backoff_key(self, pod: QueuedPod) -> tuple[float, Any]:
        return self.backoff_end(pod), self.sort_key(pod)

    def flush_backoff(self) -> list[QueuedPod]:
        """Activate pods whose backoff is over (every second)."""
        ready = sorted((pod for pod in self._backoff.values() if not self._backing_off(pod)), key=self._backoff_key)
        for pod in ready:
            del self._backoff[pod.info.uid]
            # Pods that can be popped from there passed PreEnqueue when they came in.
            self._activate(pod, ask=not self.pop_from_backoff)
        return ready

    def flush_leftover(self, pods: Iterable[QueuedPod]) -> list[QueuedPod]:
        """Bring back those of these waiting pods that have waited for five minutes (every thirty seconds)."""
        late = [pod for pod in pods if pod.gate is None and self.now - pod.timestamp > LEFTOVER_AFTER]
        for pod in late:
            self._leave(pod)
            self._requeue(pod)
        return late

    # --- events

    def move_on_event(
        self, happening: EventOccurrence, among: Callable[[QueuedPod], bool] | None = None
    ) -> list[QueuedPod]:
        """Bring back the waiting pods that this event may help; returns those that are not gated."""
        back = []
        for (profile, rejectors), group in list(self._waiting.items()):
            if not any(happening.event in self.hints(profile, name) for name in rejectors):
                continue
            for pod in list(group.values()):
                if (
                    (among is None or among(pod))
                    and self._is_event_relevant(pod, happening)
                    and self._helps(pod, happening)
                ):
                    self._leave(pod)
                    self._requeue(pod)
                    if pod.gate is None:
                        back.append(pod)
        return back

    def bring_back(self, helps: Callable[[QueuedPod], bool]) -> list[QueuedPod]:
        """Bring back the waiting pods that another change may help, such as a new node; gated ones stay."""
        back = [pod for pod in self.waiting() if pod.gate is None and helps(pod)]
        for pod in back:
            self._leave(pod)
            self._requeue(pod)
        return back

    def _is_event_relevant(self, pod: QueuedPod, happening: EventOccurrence) -> bool:
        """A gated pod is moved only by events that the plugin behind the gate asks for."""
        if happening.event is ClusterEvent.POD_ADDED and not is_helped_by_new_pod(pod.info, pod.rejectors, happening):
            return False
        if pod.gate is not None and not self.features.gated_pods_hear_their_gate_alone:
            return pod.gate.plugin != "SchedulingGates"
        return pod.gate is None or happening.event in self.hints(pod.profile, pod.gate.plugin)

    def _helps(self, pod: QueuedPod, happening: EventOccurrence) -> bool:
        """Whether one of the plugins that rejected the pod expects that it may fit now."""
        for name in pod.rejectors:
            hint = self.hints(pod.profile, name).get(happening.event)
            if hint is not None and hint(pod.info, happening):
                return True
        return False

    def activate(self, pod: QueuedPod) -> bool:
        """Activate a failed pod at a plugin's request, past any backoff; False if it is not waiting."""
        if pod.place not in ("waiting", "backoff"):
            return False
        if pod.place == "waiting":
            self._leave(pod)
        else:
            del self._backoff[pod.info.uid]
        self._activate(pod)
        return True

    # --- where pods are

    def waiting(self) -> list[QueuedPod]:
        """Pods that wait for an event, gated ones included."""
        return [pod for group in self._waiting.values() for pod in group.values()]

    def backing_off(self) -> list[QueuedPod]:
        return list(self._backoff.values())

    def _requeue(self, pod: QueuedPod) -> None:
        if not self._backing_off(pod):
            self._activate(pod)
        elif not self.pop_from_backoff or not self._hold_if_gated(pod):
            pod.place = "backoff"
            self._backoff[pod.info.uid] = pod
            if self.pop_from_backoff and pod.rejectors:
                # Pods that failed with an error have to sit their time out.
                heapq.heappush(self._soonest, (*self._backoff_key(pod), pod.order, pod))

    def _activate(self, pod: QueuedPod, *, ask: bool = True) -> None:
        if not ask or not self._hold_if_gated(pod):
            pod.place = "active"
            self._activations += 1
            pod.first_active = pod.first_active or self._activations
            if self._heap is None and self.by_heap():
                self._heap = BinaryHeap(has_lesser_key)
            entry = self.sort_key(pod), pod.order, pod
            if self._heap is None:
                heapq.heappush(self._active, entry)
            else:
                self._heap.push(entry)

    def _hold_if_gated(self, pod: QueuedPod) -> bool:
        """Whether PreEnqueue gates the pod; then it waits."""
        pod.gate = self.pre_enqueue(pod)
        if pod.gate is None:
            return False
        pod.rejectors |= {pod.gate.plugin}
        self._wait(pod)
        return True

    def _wait(self, pod: QueuedPod) -> None:
        pod.place = "waiting"
        self._waiting.setdefault((pod.profile, pod.rejectors), {})[pod.info.uid] = pod

    def _leave(self, pod: QueuedPod) -> None:
        """Take a waiting pod out of its group."""
        key = (pod.profile, pod.rejectors)
        group = self._waiting[key]
        del group[pod.info.uid]
        if not group:
            del self._waiting[key]
