"""A scheduler process: what its profiles share, and what becomes of a pod after a cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import msgspec
import pytest

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.conformance.scenario_files import replay_scenario
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.framework.interface import Plugin
from kwhatif.framework.status import Status
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import MOST_ATTEMPTS, Driver
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.versions import features_of
from tests.builders import Json, cluster_of, driver_for, node, pod, profile_document
from tests.device_builders import allocated, claim, device_class, devices_of, pod_with
from tests.scheduling.stories import Hold, Story, enabling

TWO_HUNDRED = [node(f"n{i:03}") for i in range(200)]
"""Of so many nodes a search takes a hundred."""

TWO_PROFILES: Json = {
    **profile_document(),
    "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "batch-scheduler"}],
}
BATCH: Json = {"schedulerName": "batch-scheduler"}


def first_looked_at(driver: Driver, attempt: Attempt) -> str:
    return driver.cluster.columns.names[int(attempt.sampled[0])]


# --- pods that fail alike


def cycles_of(driver: Driver, *pods: Pod) -> list[str]:
    """The pods for which a cycle ran, of these that are attempted."""
    names = []
    for each in pods:
        info = driver.cluster.shapes.info(each)
        with mock.patch.object(Scheduler, "attempt", autospec=True, side_effect=Scheduler.attempt) as cycle:
            attempt = driver.attempt(info)
        assert attempt.pod is info
        names += [info.pod.metadata.name or ""] * cycle.call_count
    return names


def test_of_pods_that_fail_alike_one_runs_through_the_cycle_until_something_changes() -> None:
    driver = driver_for(cluster_of([node("a", cpu="4")], [pod("low", cpu="1", on="a", priority=-1)]))
    shapes = driver.cluster.shapes
    large = [pod(f"p{number}", cpu="5") for number in range(6)]
    assert cycles_of(driver, *large[:3]) == ["p0"]
    first, again = (driver.attempt(shapes.info(each)) for each in large[2:4])
    assert first.message == again.message
    assert "1 Insufficient cpu" in first.message
    driver.cluster.remove_pod(pod("low").metadata.uid or "")
    assert cycles_of(driver, *large[4:]) == ["p4"]


@pytest.mark.parametrize(
    ("change", "cycles"),
    [
        pytest.param(lambda driver: driver.attempt(driver.cluster.shapes.info(pod("x", cpu="1"))), 1, id="a pod bound"),
        pytest.param(
            lambda driver: driver.cluster.nominate(driver.cluster.shapes.info(pod("x")), "a"), 1, id="a pod nominated"
        ),
        pytest.param(lambda driver: setattr(driver.shared, "now", 1.0), 1, id="time that passed"),
        pytest.param(lambda driver: driver.reread({"Namespace"}), 1, id="objects that were read again"),
        pytest.param(lambda driver: driver.add_nodes([node("b", cpu="3")], []), 1, id="nodes that came"),
        pytest.param(lambda driver: driver.attempt(driver.cluster.shapes.info(pod("y", cpu="6"))), 0, id="nothing"),
    ],
)
def test_what_may_matter_to_a_pod_has_it_tried_again(change: Callable[[Driver], object], cycles: int) -> None:
    driver = driver_for(cluster_of([node("a", cpu="4")]))
    assert cycles_of(driver, pod("p0", cpu="5")) == ["p0"]
    change(driver)
    assert len(cycles_of(driver, pod("p1", cpu="5"))) == cycles


def test_pods_that_fail_alike_are_spared_however_many_others_are_nominated() -> None:
    nodes = [node(f"n{number:03}", cpu="4") for number in range(80)]
    driver = driver_for(cluster_of(nodes, [pod(f"w{number}", nominated=f"n{number:03}") for number in range(80)]))
    assert cycles_of(driver, *(pod(f"p{number}", cpu="5") for number in range(3))) == ["p0"]


def test_a_failure_counts_as_a_cycle_for_batching_whoever_ran_through_it() -> None:
    driver = driver_for(cluster_of([node("a", cpu="4")]))
    for number in range(3):
        driver.attempt(driver.cluster.shapes.info(pod(f"p{number}", cpu="5")))
    assert driver.shared.cycle == 3


# --- where the next search starts


def test_a_search_starts_where_the_last_one_ended_whichever_profile_it_was_for() -> None:
    driver = driver_for(cluster_of(TWO_HUNDRED), TWO_PROFILES)
    pods = [pod("one"), pod("two", spec=BATCH), pod("three", spec=BATCH), pod("four")]
    found = [first_looked_at(driver, driver.attempt(driver.cluster.shapes.info(each))) for each in pods]
    assert found == ["n000", "n100", "n000", "n100"]


@pytest.mark.parametrize("minor", ["1.34", "1.35"], ids=["where one of the best is drawn", "where workers race"])
@pytest.mark.parametrize("seed", [None, 1, 7])
def test_a_process_that_is_restarted_does_all_again_that_it_did(minor: str, seed: int | None) -> None:
    pods = [pod(f"p{number}", cpu="100m") for number in range(12)]

    def place_all(driver: Driver) -> list[str]:
        attempts = [driver.attempt(driver.cluster.shapes.info(each)) for each in pods]
        return [driver.cluster.columns.names[each.row or 0] for each in attempts]

    driver = driver_for(cluster_of(TWO_HUNDRED, features=features_of(minor)), seed=seed)
    before = driver.cluster.checkpoint()
    first = place_all(driver)
    driver.cluster.go_back(before)
    driver.restart()
    assert place_all(driver) == first
    assert place_all(driver_for(cluster_of(TWO_HUNDRED, features=features_of(minor)), seed=seed)) == first
    other = place_all(driver_for(cluster_of(TWO_HUNDRED, features=features_of(minor)), seed=5))
    assert other != first


def test_so_it_does_over_time() -> None:
    story = Story(TWO_HUNDRED, config=TWO_PROFILES).arrive(pod("one"), pod("two", spec=BATCH), pod("three"))
    story.tell()
    columns = story.cluster.columns
    chosen = [columns.names[attempt.row or 0] for attempt in story.simulator.outcome.values()]
    assert chosen == ["n000", "n100", "n001"]


def test_so_it_does_in_a_recording() -> None:
    objects = [{"apiVersion": "v1", "kind": "Node", **_raw_node(each.name)} for each in TWO_HUNDRED]
    pods = [_raw_pod("one"), _raw_pod("two", "batch-scheduler"), _raw_pod("three")]
    told = replay_scenario(_scenario(objects, pods, TWO_PROFILES))
    assert [each["attempts"][0]["sampled"][0] for each in told["pods"]] == ["n000", "n100", "n000"]


def test_a_decision_that_is_not_carried_out_leaves_no_trace() -> None:
    driver = driver_for(cluster_of(TWO_HUNDRED))
    info = driver.cluster.shapes.info(pod())
    assert [first_looked_at(driver, driver.decide(info)) for _ in range(2)] == ["n000", "n000"]
    assert list(driver.cluster.pods()) == []


def test_a_copy_goes_on_from_where_the_process_is_and_does_not_move_it() -> None:
    driver = driver_for(cluster_of(TWO_HUNDRED))
    driver.attempt(driver.cluster.shapes.info(pod("one")))
    copy = driver.sandbox()
    two = driver.cluster.shapes.info(pod("two"))
    assert first_looked_at(copy, copy.attempt(two)) == "n100"
    assert first_looked_at(driver, driver.attempt(two)) == "n100"


# --- again at once


def full(*, terminating: bool = False) -> tuple[Driver, Cluster]:
    """One node, full of a pod that a more important one may have leave."""
    cluster = cluster_of([node("a", cpu="2")], [pod("old", on="a", cpu="2", priority=1, terminating=terminating)])
    return driver_for(cluster), cluster


def test_a_preemptor_is_tried_again_once_its_victims_have_left() -> None:
    driver, cluster = full()
    vip = cluster.shapes.info(pod("vip", cpu="2", priority=9))
    attempts = driver.schedule_with_preemption(vip)
    assert [(attempt.nominated, attempt.is_placed) for attempt in attempts] == [("a", False), ("", True)]
    assert [info.pod.name for info, _ in cluster.pods()] == ["vip"]
    assert not cluster.nominated


@pytest.mark.parametrize(
    ("to_the_end", "tries", "placed"),
    [
        pytest.param(True, 2, True, id="they are gone in the end"),
        pytest.param(False, MOST_ATTEMPTS, False, id="nobody waits for them"),
    ],
)
def test_victims_that_were_leaving_anyway(to_the_end: bool, tries: int, placed: bool) -> None:
    driver, cluster = full(terminating=True)
    vip = cluster.shapes.info(pod("vip", cpu="2", priority=9))
    attempts = driver.schedule_with_preemption(vip, to_the_end=to_the_end)
    assert (len(attempts), attempts[-1].is_placed) == (tries, placed)


def test_a_pod_that_only_a_cycle_is_asked_of_evicts_nobody() -> None:
    driver, cluster = full()
    attempt = driver.attempt(cluster.shapes.info(pod("vip", cpu="2", priority=9)))
    assert attempt.nominated == "a"
    assert [info.pod.name for info, _ in cluster.pods()] == ["old"]
    assert not cluster.nominated


def test_a_preemptor_that_its_node_refuses_in_the_end_is_not_tried_again() -> None:
    class Closed(Plugin[None, None]):
        """Whatever room there is, the node is closed in the end."""

        name = "Closed"

        def reserve(self, pod: Any, node: str, state: None) -> Any:
            return Status.unschedulable("closed")

    cluster = cluster_of([node("a", cpu="2")], [pod("old", on="a", cpu="2", priority=1)])
    driver = driver_for(cluster, enabling("Closed"), outside=[Closed])
    attempts = driver.schedule_with_preemption(cluster.shapes.info(pod("vip", cpu="2", priority=9)))
    assert [bool(attempt.nominated) for attempt in attempts] == [True, False]
    assert attempts[-1].message == "0/1 nodes are available: 1 closed."


AWAY: Json = {"kubernetes.io/hostname": "b"}


def idle_claim() -> Driver:
    """A claim that has a device on node a, which nobody uses."""
    slices = [devices_of("a", ["g0"]), devices_of("b", ["g1"])]
    return driver_for(
        cluster_of([node("a"), node("b")], objects=[device_class(), *slices, claim(has=["g0"], node="a")])
    )


def test_a_pod_is_tried_again_when_its_claim_was_taken_back_from_a_node_it_cannot_use() -> None:
    driver = idle_claim()
    attempts = driver.schedule_with_preemption(driver.cluster.shapes.info(pod_with("c", node_selector=AWAY)))
    assert [attempt.is_placed for attempt in attempts] == [False, True]
    assert allocated(driver.cluster) == ["r=b/g1"]


def test_a_claim_that_was_taken_back_is_free_for_the_pods_after_that() -> None:
    driver = idle_claim()
    (attempt,) = driver.schedule_with_preemption(
        driver.cluster.shapes.info(pod_with("c", node_selector=AWAY)), to_the_end=False
    )
    assert "deallocation of ResourceClaim completed" in attempt.message
    assert allocated(driver.cluster) == []
    (after,) = driver.schedule_with_preemption(
        driver.cluster.shapes.info(pod_with("c", name="q", node_selector=AWAY)), to_the_end=False
    )
    assert (after.is_placed, allocated(driver.cluster)) == (True, ["r=b/g1"])


# --- places that are kept


def test_no_node_is_kept_for_a_pod_that_finds_no_help_there() -> None:
    large = pod("large", cpu="4", nominated="a")
    cluster = cluster_of([node("a", cpu="2")], [large])
    driver = driver_for(cluster)
    info = cluster.shapes.info(large)
    cluster.nominate(info, "a")
    assert driver.handle_failure(driver.attempt(info)) == [info]
    assert (info.nominated, dict(cluster.nominated)) == ("", {})


def test_for_a_pod_that_is_given_up_nobody_leaves() -> None:
    driver, cluster = full()
    vip = cluster.shapes.info(pod("vip", cpu="2", priority=9))
    assert driver.handle_failure(driver.attempt(vip), given_up=True) == []
    assert (vip.nominated, dict(cluster.nominated)) == ("", {})


# --- permits


def holding(*pods: Pod) -> tuple[Driver, list[Attempt]]:
    cluster = cluster_of([node("a", cpu="4")])
    driver = driver_for(cluster, enabling("Hold"), outside=[Hold])
    return driver, [driver.attempt(cluster.shapes.info(each)) for each in pods]


def test_a_victim_that_waits_for_its_permit_is_turned_away_before_the_preemptor_is_tried_again() -> None:
    driver, (held,) = holding(pod("low", cpu="3", labels={"hold": "5"}))
    attempts = driver.schedule_with_preemption(driver.cluster.shapes.info(pod("vip", cpu="3", priority=9)))
    assert [attempt.is_placed for attempt in attempts] == [False, True]
    assert (held.is_placed, held.waiting, held.lost) == (False, False, True)
    assert held.message == "waiting on permit for pod: preempted"
    assert [info.pod.name for info, _ in driver.cluster.pods()] == ["vip"]


def test_time_passes_until_nobody_waits() -> None:
    driver, attempts = holding(*(pod(f"p{i}", labels={"hold": f"{i}"}) for i in (7, 5)))
    assert sorted(driver.deadlines()) == [5.0, 7.0]
    driver.wait()
    assert driver.shared.now == 7.0
    assert [attempt.refused.reasons for attempt in attempts if attempt.refused] == [
        ("rejected due to timeout after waiting 7s at plugin Hold",),
        ("rejected due to timeout after waiting 5s at plugin Hold",),
    ]


def test_one_pod_that_goes_on_may_let_another_go_on() -> None:
    opener = pod("opener", labels={"hold": "9", "opens": "last"})
    driver, attempts = holding(opener, pod("last", labels={"hold": "9"}))
    driver.scheduler_for(attempts[0].pod).profile.waiting[attempts[0].pod.uid].allow("Hold")
    assert driver.settle() == attempts
    assert [attempt.is_placed for attempt in attempts] == [True, True]


# --- who looks on


def test_an_observer_sees_every_cycle_before_it_when_it_is_decided_and_when_it_is_over() -> None:
    seen: list[tuple[str, int]] = []

    class Watching(Observer):
        def before_cycle(self, scheduler: Scheduler, pod: Any) -> None:
            seen.append((f"{pod.pod.name} begins", len(list(scheduler.cluster.pods()))))

        def on_decision(self, scheduler: Scheduler, attempt: Attempt) -> None:
            seen.append((f"row {attempt.row}", len(list(scheduler.cluster.pods()))))

        def after_cycle(self, scheduler: Scheduler, attempt: Attempt) -> None:
            seen.append(("over", len(list(scheduler.cluster.pods()))))

    cluster = cluster_of([node("a", cpu="2")])
    driver = driver_for(cluster, observer=Watching())
    for name in ("one", "two"):
        driver.attempt(cluster.shapes.info(pod(name, cpu="2")))
    assert seen == [
        *(("one begins", 0), ("row 0", 0), ("over", 1)),
        *(("two begins", 1), ("row None", 1), ("over", 1)),
    ]


def test_among_equals_the_node_that_is_preferred_wins() -> None:
    cluster = cluster_of([node("a"), node("b"), node("c", cpu="1")])
    driver = driver_for(cluster, prefers={"default/one": "b", "default/two": "c"})
    chosen = [driver.attempt(cluster.shapes.info(pod(name, cpu="2"))).row for name in ("one", "two")]
    assert chosen == [1, 0]


# --- what is remembered between pods


def behind(*rows: int) -> tuple[Driver, Attempt, int]:
    """The second of two pods of a kind, after pods that fill these rows came in between; how far behind it then is.

    Of 300 nodes the first looks at the first 144, the second at the next.
    """
    driver = driver_for(cluster_of([node(f"n{i:03}", cpu="2") for i in range(300)]))
    cluster = driver.cluster
    first, second = (cluster.shapes.info(pod(name, cpu="1")) for name in ("first", "second"))
    driver.attempt(first)
    for row in rows:
        cluster.assume(cluster.shapes.info(pod(f"large-{row}", cpu="2")), row)
    attempt = driver.attempt(second)
    return driver, attempt, len(driver.scheduler_for(second).evaluation(second).find_stale_rows())


@pytest.mark.parametrize("row", [144, 215, 217, 250, 287])
def test_a_node_that_has_filled_up_is_seen_wherever_it_is_among_those_looked_at(row: int) -> None:
    _, attempt, _ = behind(row)
    assert attempt.sampled.tolist() == [other for other in range(144, 289) if other != row]


def test_what_changed_where_nobody_looks_is_not_worked_out() -> None:
    assert behind(*range(2, 62))[2] > 60


def test_nobody_falls_behind_by_more_than_a_few_nodes() -> None:
    assert behind(*range(2, 72))[2] <= 1


# --- recordings


def _raw_node(name: str) -> Json:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {"metadata": {"name": name}, "status": {"allocatable": amounts, "capacity": amounts}}


def _raw_pod(name: str, scheduler: str = "default-scheduler") -> Json:
    spec = {"schedulerName": scheduler, "priority": 0, "containers": [{"name": "main", "image": "app"}]}
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec}


def _scenario(objects: list[Json], pods: list[Json], config: Json) -> SchedulerScenario:
    raw = [[msgspec.Raw(msgspec.json.encode(each)) for each in some] for some in (objects, pods)]
    return SchedulerScenario("two profiles", raw[0], raw[1], config)
