"""A failure in a cluster that is taken back afterwards is one in a cluster that never had the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.outage.failures import FailingCluster
from kwhatif.scheduling.controllers import with_claims
from kwhatif.scheduling.driver import Driver
from tests.builders import driver_for
from tests.scheduling.test_volume_laws import state_of
from tests.storage_strategies import Store, stores
from tests.strategies import GeneratedCluster, crowds, large_scenarios, scenarios

pytestmark = pytest.mark.long


def again(info: PodInfo) -> Pod:
    """A pod that is made in the place of another."""
    meta = replace(info.pod.metadata, name=f"{info.pod.name}-again", uid=f"{info.uid}-again", deletion_timestamp=None)
    return replace(info.pod, metadata=meta)


def told(driver: Driver, pods: list[Pod]) -> Iterator[object]:
    """What becomes of pods, each of which may evict others, cycle by cycle."""
    names = driver.cluster.columns.names
    for each in pods:
        info = driver.cluster.shapes.info(with_claims(each, driver.cluster))
        for attempt in driver.schedule_with_preemption(info):
            home = None if attempt.row is None else names[attempt.row]
            victims = [victim.key for victim in attempt.victims]
            yield each.name, home, attempt.score, attempt.message, attempt.nominated, victims, attempt.criterion


def state(cluster: Cluster) -> object:
    """All there is to know of a cluster, whatever columns there are that nobody uses."""
    ports = [[port for port, column in cluster.port_index.items() if row[column]] for row in cluster.ports]
    names = cluster.shapes.resources.names
    requested = [{name: n for name, n in zip(names, row, strict=True) if n} for row in cluster.requested.tolist()]
    where = {info.key: row for info, row in cluster.pods()}
    return {**state_of(cluster), "ports": ports, "requested": requested, "where": where}


def hold(make: Callable[[], Cluster], failures: list[list[str]], pending: list[Pod]) -> None:
    """Fail nodes one failure after the other, and compare with clusters that have only the others."""
    cluster = make()
    setup = driver_for(cluster).setup
    failing, before = FailingCluster(cluster, setup), state(cluster)
    for nodes in [*failures, []]:
        pods = [*map(again, failing.pods_on(nodes)), *pending]
        with failing.without(nodes) as driver:
            found = list(told(driver, pods))
        fresh = Driver(make().without_nodes(nodes), setup, imagined=True)
        assert found == list(told(fresh, pods))
        assert state(cluster) == before


def failures_of(names: list[str], most: int) -> st.SearchStrategy[list[list[str]]]:
    some = st.lists(st.sampled_from(names), min_size=1, max_size=min(most, len(names)), unique=True)
    return st.lists(some, min_size=1, max_size=3)


@st.composite
def failing_scenarios(
    draw: st.DrawFn, scenarios: st.SearchStrategy[GeneratedCluster], most: int = 3
) -> tuple[GeneratedCluster, list[list[str]]]:
    scenario = draw(scenarios)
    return scenario, draw(failures_of([node.name for node in scenario.nodes], most))


@pytest.mark.usefixtures("cluster_size")
@settings(max_examples=20)
@given(failing_scenarios(scenarios(max_running=12, budgets=True)))
def test_a_failure_is_as_if_the_nodes_had_never_been_there(found: tuple[GeneratedCluster, list[list[str]]]) -> None:
    scenario, failures = found
    hold(scenario.cluster, failures, scenario.pending)


@settings(max_examples=20)
@given(failing_scenarios(crowds()))
def test_so_it_is_where_pods_evict_others(found: tuple[GeneratedCluster, list[list[str]]]) -> None:
    scenario, failures = found
    hold(scenario.cluster, failures, scenario.pending)


@settings(max_examples=8)
@given(failing_scenarios(large_scenarios(100, 260), most=40))
def test_so_it_is_where_the_scheduler_looks_at_some_of_the_nodes_only(
    found: tuple[GeneratedCluster, list[list[str]]],
) -> None:
    scenario, failures = found
    hold(scenario.cluster, failures, scenario.pending)


@settings(max_examples=20)
@given(st.data(), stores())
def test_so_it_is_with_volumes(data: st.DataObject, store: Store) -> None:
    failures = data.draw(failures_of([node.name for node in store.nodes], 2))
    first = data.draw(st.integers(0, len(store.pending)))

    def running() -> Cluster:
        """The first pods run, and have their volumes."""
        cluster = store.cluster()
        list(told(driver_for(cluster), store.pending[:first]))
        return cluster

    hold(running, failures, store.pending[first:])
