"""The queue on its own: who is next, how long pods back off, what brings them back."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import ClusterEvent, EventOccurrence, QueueingHint, always
from kwhatif.framework.status import Status
from kwhatif.scheduling.queue import Hints, QueuedPod, SchedulingQueue
from tests.builders import cluster_of, pod

CLUSTER = cluster_of([])


def never(waiting: PodInfo, happening: EventOccurrence) -> bool:
    return False


def own(waiting: PodInfo, happening: EventOccurrence) -> bool:
    return happening.pod is waiting


@dataclass
class Bench:
    """A queue whose plugins are a table of hints, and whose gate is a set of names."""

    hints: dict[str, Hints] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    pop_from_backoff: bool = True
    max_backoff: float = 10.0

    def __post_init__(self) -> None:
        self.asked: list[str] = []
        self.queue = SchedulingQueue(
            lambda queued: (-queued.info.priority, queued.order),
            self._gate,
            lambda profile, plugin: self.hints.get(plugin, {}),
            1.0,
            self.max_backoff,
            self.pop_from_backoff,
        )

    def _gate(self, queued: QueuedPod) -> Status | None:
        self.asked.append(queued.info.pod.name)
        return Status(Status.unresolvable().code, ("closed",), "Gate") if queued.info.pod.name in self.closed else None

    def add(self, name: str, priority: int = 0) -> QueuedPod:
        queued = QueuedPod(CLUSTER.shapes.info(pod(name, priority=priority)), "default-scheduler")
        self.queue.add(queued)
        return queued

    def fail(
        self, queued: QueuedPod, *rejectors: str, at: float = 0.0, meanwhile: tuple[ClusterEvent, ...] = ()
    ) -> None:
        self.queue.now = at
        self.queue.add_unschedulable(queued, rejectors, [happening(event) for event in meanwhile])

    def failed(self, name: str, *rejectors: str, priority: int = 0, at: float = 0.0) -> QueuedPod:
        """A pod that was tried and turned down."""
        queued = self.add(name, priority)
        assert self.queue.pop() is queued
        self.fail(queued, *rejectors, at=at)
        return queued

    def popped(self) -> list[str]:
        found = []
        while (queued := self.queue.pop()) is not None:
            found.append(queued.info.pod.name)
        return found


def happening(event: ClusterEvent, about: PodInfo | None = None) -> EventOccurrence:
    cluster: Cluster = CLUSTER
    return EventOccurrence(event, cluster, about)


# --- order


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ([("a", 0), ("b", 0), ("c", 0)], "a b c"),
        ([("a", 0), ("b", 9), ("c", -1)], "b a c"),
        ([("a", 5), ("b", 9), ("c", 5), ("d", 9)], "b d a c"),
    ],
    ids=["in the order they came", "the more important first", "the older first among equally important ones"],
)
def test_pods_are_taken(added: list[tuple[str, int]], expected: str) -> None:
    bench = Bench()
    for name, priority in added:
        bench.add(name, priority)
    assert " ".join(bench.popped()) == expected


def test_a_pod_that_comes_back_is_behind_those_that_came_meanwhile() -> None:
    bench = Bench({"Fit": {ClusterEvent.POD_DELETED: always}})
    old = bench.add("old")
    bench.queue.pop()
    bench.add("new")
    bench.fail(old, "Fit")
    bench.queue.now = 5.0
    assert bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED)) == [old]
    assert bench.popped() == ["new", "old"]


def test_every_time_a_pod_is_taken_counts_as_an_attempt() -> None:
    bench = Bench()
    queued = bench.failed("a")
    bench.queue.now = 2.0
    bench.queue.flush_backoff()
    bench.queue.pop()
    assert (queued.attempts, queued.errors, queued.unschedulable) == (2, 1, 0)


# --- backoff


@pytest.mark.parametrize(
    ("failures", "pause"),
    [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (2000, 10)],
)
@pytest.mark.parametrize("rejectors", [(), ("Fit",)], ids=["errors", "rejections"])
def test_the_backoff_doubles_with_every_failure_up_to_ten_seconds(
    failures: int, pause: int, rejectors: tuple[str, ...]
) -> None:
    bench = Bench()
    queued = bench.add("a")
    bench.queue.pop()
    for _ in range(failures):
        bench.fail(queued, *rejectors, at=100.0)
    assert bench.queue.backoff_end(queued) == 100.0 + pause


@pytest.mark.parametrize(
    ("history", "pause"),
    [("r r r", 4), ("r r e", 1), ("r e e", 2), ("e e r", 1), ("r e r", 2)],
    ids=[
        "three rejections",
        "an error counts from one",
        "two errors",
        "a rejection ends a row of errors",
        "errors do not count as rejections",
    ],
)
def test_errors_and_rejections_are_counted_apart(history: str, pause: int) -> None:
    bench = Bench()
    queued = bench.add("a")
    bench.queue.pop()
    for what in history.split():
        bench.fail(queued, *(["Fit"] if what == "r" else []), at=100.0)
    assert bench.queue.backoff_end(queued) == 100.0 + pause


@pytest.mark.parametrize(
    ("at_once", "failed_at", "ready_at"),
    [(True, 0.0, 2.0), (True, 0.4, 2.0), (True, 0.999, 2.0), (False, 0.0, 1.005), (False, 0.4, 1.405)],
)
def test_backoffs_end_with_a_whole_second_if_pods_may_be_taken_earlier(
    at_once: bool, failed_at: float, ready_at: float
) -> None:
    bench = Bench(pop_from_backoff=at_once)
    queued = bench.failed("a", at=failed_at)
    bench.queue.now = ready_at - 0.01
    assert bench.queue.flush_backoff() == []
    bench.queue.now = ready_at
    assert bench.queue.flush_backoff() == [queued]


def test_a_longest_backoff_of_nothing_switches_backoffs_off() -> None:
    bench = Bench(max_backoff=0.0)
    bench.failed("a")
    assert bench.popped() == ["a"]


def test_pods_whose_backoff_ends_in_one_second_are_ordered_by_importance() -> None:
    bench = Bench({"Fit": {ClusterEvent.POD_DELETED: always}})
    bench.failed("low", "Fit", at=0.9)
    bench.failed("high", "Fit", priority=9, at=0.1)
    bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED))
    assert bench.popped() == ["high", "low"]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_pod_is_taken_from_its_backoff_only_if_it_was_rejected_and_the_feature_is_on(at_once: bool) -> None:
    bench = Bench({"Fit": {ClusterEvent.POD_DELETED: always}}, pop_from_backoff=at_once)
    bench.failed("error")
    rejected = bench.failed("rejected", "Fit")
    bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED))
    assert rejected.place == "backoff"
    bench.add("fresh")
    assert bench.popped() == (["fresh", "rejected"] if at_once else ["fresh"])
    assert [queued.info.pod.name for queued in bench.queue.backing_off()] == (
        ["error"] if at_once else ["error", "rejected"]
    )


# --- what brings pods back


@pytest.mark.parametrize(
    ("hints", "rejectors", "back"),
    [
        ({"Fit": {ClusterEvent.POD_DELETED: always}}, ("Fit",), True),
        ({"Fit": {ClusterEvent.POD_DELETED: never}}, ("Fit",), False),
        ({"Fit": {ClusterEvent.POD_ADDED: always}}, ("Fit",), False),
        ({"Fit": {ClusterEvent.POD_DELETED: always}}, ("Ports",), False),
        (
            {"Fit": {ClusterEvent.POD_DELETED: always}, "Ports": {ClusterEvent.POD_DELETED: never}},
            ("Fit", "Ports"),
            True,
        ),
        ({}, ("Unheard-of",), False),
    ],
    ids=[
        "a plugin that thinks that it helps",
        "not a plugin that thinks that it does not",
        "not something else that happens",
        "not a plugin that did not turn the pod down",
        "one plugin of several",
        "not a plugin that asks for nothing",
    ],
)
def test_what_brings_a_pod_back_is(
    hints: dict[str, dict[ClusterEvent, QueueingHint]], rejectors: tuple[str, ...], back: bool
) -> None:
    for meanwhile in (False, True):
        bench = Bench(dict(hints))
        queued = bench.add("a")
        bench.queue.pop()
        if meanwhile:
            bench.fail(queued, *rejectors, meanwhile=(ClusterEvent.POD_DELETED,))
        else:
            bench.fail(queued, *rejectors)
            assert bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED)) == ([queued] if back else [])
        assert queued.place == ("backoff" if back else "waiting")


def test_what_happens_can_be_told_to_some_pods_only() -> None:
    bench = Bench({"Fit": {ClusterEvent.POD_DELETED: always}})
    bench.failed("low", "Fit")
    high = bench.failed("high", "Fit", priority=9)
    back = bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED), lambda queued: queued.info.priority > 0)
    assert back == [high]


@pytest.mark.parametrize(("at", "back"), [(300.0, False), (300.5, True)])
def test_a_pod_that_nothing_brought_back_is_flushed_after_more_than_five_minutes(at: float, back: bool) -> None:
    bench = Bench()
    queued = bench.failed("a", "Fit")
    bench.queue.now = at
    assert bench.queue.flush_leftover(bench.queue.waiting()) == ([queued] if back else [])
    assert bench.popped() == (["a"] if back else [])


# --- gates


def test_a_gated_pod_waits_until_the_plugin_behind_the_gate_is_asked_again() -> None:
    bench = Bench({"Gate": {ClusterEvent.CLAIM_CHANGED: own}}, closed={"a"})
    queued = bench.add("a")
    bench.add("b")
    assert queued.gate is not None
    assert bench.popped() == ["b"]
    assert bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED)) == []
    bench.queue.move_on_event(happening(ClusterEvent.CLAIM_CHANGED, queued.info))
    assert bench.asked == ["a", "b", "a"]
    assert queued.place == "waiting"
    bench.closed.clear()
    bench.queue.move_on_event(happening(ClusterEvent.CLAIM_CHANGED, queued.info))
    assert queued.gate is None
    assert bench.popped() == ["a"]


def test_a_gated_pod_is_not_flushed() -> None:
    bench = Bench(closed={"a"})
    bench.add("a")
    bench.queue.now = 1000.0
    assert bench.queue.flush_leftover(bench.queue.waiting()) == []


@pytest.mark.parametrize("at_once", [True, False], ids=["on its way to back off", "on its way out"])
def test_a_pod_that_backs_off_is_asked_about_once(at_once: bool) -> None:
    bench = Bench({"Fit": {ClusterEvent.POD_DELETED: always}}, pop_from_backoff=at_once)
    queued = bench.failed("a", "Fit")
    bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED))
    assert len(bench.asked) == (2 if at_once else 1)
    bench.queue.now = 2.0
    assert bench.queue.flush_backoff() == [queued]
    assert bench.asked == ["a", "a"]


def test_a_woken_pod_may_find_its_gate_closed_again_and_then_needs_both_the_gate_and_a_reason() -> None:
    bench = Bench(
        {
            "Fit": {ClusterEvent.POD_DELETED: always, ClusterEvent.POD_ADDED: always},
            "Gate": {ClusterEvent.POD_ADDED: never},
        }
    )
    queued = bench.failed("a", "Fit")
    bench.closed.add("a")
    assert bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED)) == []
    assert queued.rejectors == {"Fit", "Gate"}
    bench.closed.clear()
    # The plugin behind the gate does not ask for pods that go, so this passes it by.
    assert bench.queue.move_on_event(happening(ClusterEvent.POD_DELETED)) == []
    assert bench.queue.move_on_event(happening(ClusterEvent.POD_ADDED)) == [queued]
