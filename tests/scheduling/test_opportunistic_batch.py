"""Hints at nodes for pods that look like the one before: when they are given, used, and lost."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.opportunistic_batch import NODE_NOT_FULL, POD_INCOMPATIBLE, POD_SKIPPED
from kwhatif.versions import features_of
from tests.builders import Json, cluster_of, driver_for, node, pod

ONE_EACH: dict[str, Any] = {"cpu": "3"}
"""Of such pods a node holds one."""
NO_SPREADING: Json = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "pluginConfig": [
                {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": []}},
            ]
        }
    ],
}


def batching_driver(config: Json | None = NO_SPREADING, minor: str = "1.36") -> Driver:
    number, *gates = minor.split()
    features = features_of(number, {gate.lstrip("!"): not gate.startswith("!") for gate in gates})
    return driver_for(cluster_of([node(name) for name in "abcde"], features=features), config)


def place(driver: Driver, name: str, **kind: Any) -> Attempt:
    return driver.attempt(driver.cluster.shapes.info(pod(name, **kind)))


def homes(driver: Driver, attempts: list[Attempt]) -> list[str]:
    return [driver.cluster.columns.names[attempt.row] for attempt in attempts if attempt.row is not None]


@pytest.mark.parametrize("minor", ["1.35", "1.36", "1.36 DRAExtendedResource"])
def test_pods_that_fill_a_node_each_follow_the_heap_without_a_look_at_the_others(minor: str) -> None:
    driver = batching_driver(minor=minor)
    attempts = [place(driver, f"p{i}", **ONE_EACH) for i in range(5)]
    # The last of the heap comes up when its top is taken off.
    assert homes(driver, attempts) == ["a", "e", "d", "c", "b"]
    assert [attempt.is_hinted for attempt in attempts] == [False, True, True, True, True]
    assert [attempt.evaluated for attempt in attempts] == [5, 1, 1, 1, 1]
    assert [attempt.score is None for attempt in attempts] == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("config", "minor"),
    [
        pytest.param(None, "1.36", id="with the default spread constraints no pod has a signature"),
        pytest.param(NO_SPREADING, "1.34", id="until 1.34 there is no batching"),
        pytest.param(NO_SPREADING, "1.35 DRAExtendedResource", id="in 1.35 not where classes serve extended resources"),
        pytest.param(NO_SPREADING, "1.36 !OpportunisticBatching", id="nor where the gate is off"),
    ],
)
def test_nobody_is_hinted_at_a_node(config: Json | None, minor: str) -> None:
    driver = batching_driver(config, minor)
    attempts = [place(driver, f"p{i}", **ONE_EACH) for i in range(5)]
    assert homes(driver, attempts) == list("abcde")
    assert not any(attempt.is_hinted for attempt in attempts)


@pytest.mark.parametrize(
    ("second", "flushed"),
    [
        pytest.param({"cpu": "2"}, POD_INCOMPATIBLE, id="a pod that asks for something else"),
        pytest.param({"cpu": "3", "labels": {"app": "x"}}, POD_INCOMPATIBLE, id="a pod with other labels"),
        pytest.param({"cpu": "3", "ports": [80]}, POD_INCOMPATIBLE, id="a pod with a host port"),
        pytest.param({"cpu": "3", "tolerations": ["x"]}, POD_INCOMPATIBLE, id="a pod with a toleration"),
        pytest.param({"cpu": "3", "node_selector": {"x": "y"}}, POD_INCOMPATIBLE, id="a pod with a node selector"),
    ],
)
def test_a_pod_that_differs_gets_no_hint(second: dict[str, Any], flushed: str) -> None:
    driver = batching_driver()
    place(driver, "p0", **ONE_EACH)
    attempt = place(driver, "p1", **second)
    assert attempt.batching is not None
    assert not attempt.batching.hint
    assert attempt.batching.flushed[:1] == (flushed,)


def test_a_node_that_holds_another_one_of_the_pods_leads_to_no_hint() -> None:
    driver = batching_driver()
    place(driver, "p0", cpu="1")
    attempt = place(driver, "p1", cpu="1")
    assert attempt.batching is not None
    assert attempt.batching.flushed == (NODE_NOT_FULL,)


def test_a_pod_in_between_that_fails_ends_the_list_and_so_does_one_that_cannot_but_fail() -> None:
    for fails in (lambda driver: place(driver, "big", cpu="9"), lambda driver: in_vain(driver)):
        driver = batching_driver()
        place(driver, "p0", **ONE_EACH)
        fails(driver)
        attempt = place(driver, "p1", **ONE_EACH)
        assert attempt.batching is not None
        assert attempt.batching.flushed == (POD_SKIPPED,)


def in_vain(driver: Driver) -> None:
    big = pod("big", cpu="9", spec={"preemptionPolicy": "Never"})
    assert driver.is_futile(driver.cluster.shapes.info(big))


def test_a_list_is_good_for_half_a_second() -> None:
    driver = batching_driver()
    place(driver, "p0", **ONE_EACH)
    driver.shared.now += 0.6
    assert not place(driver, "p1", **ONE_EACH).is_hinted


def test_what_is_only_asked_takes_nothing_off_the_list() -> None:
    driver = batching_driver()
    place(driver, "p0", **ONE_EACH)
    asked = driver.decide(driver.cluster.shapes.info(pod("p1", **ONE_EACH)))
    apart = driver.sandbox()
    tried = apart.attempt(apart.cluster.shapes.info(pod("p1", **ONE_EACH)))
    placed = place(driver, "p1", **ONE_EACH)
    assert asked.is_hinted
    assert tried.is_hinted
    assert placed.is_hinted
    assert homes(driver, [asked, tried, placed]) == ["e", "e", "e"]


def test_a_cluster_that_is_another_one_has_no_list() -> None:
    driver = batching_driver()
    place(driver, "p0", **ONE_EACH)
    driver.begin_anew()
    assert not place(driver, "p1", **ONE_EACH).is_hinted
