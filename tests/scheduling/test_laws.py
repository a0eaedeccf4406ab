"""What holds of every schedule, whatever the cluster and the pods."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume as given_that
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import HostPort, PodInfo
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.node_sampling import nodes_to_find
from kwhatif.scheduling.schedule_one import Scheduler
from tests.builders import (
    Json,
    cluster_of,
    driver_for,
    nodes_in_zones,
    pod,
    pods_like,
    scheduler_for,
    select,
)
from tests.scheduling.plain_heap import emptied
from tests.scheduling.reference import status_on
from tests.strategies import (
    ALL_PARTS,
    FILTER_PARTS,
    PRIORITIES,
    RESOURCE_PARTS,
    GeneratedCluster,
    Kind,
    crowds,
    kinds,
    node_lists,
    profiles,
    scenarios,
)

pytestmark = pytest.mark.usefixtures("cluster_size")

MORE_PODS_NEED_MORE_ROOM = (*RESOURCE_PARTS, "tolerations", "far")
"""Parts of pods for which one more pod on a node never makes another one fit.

Not so ports: a pod that leaves takes its port out of the set, even if another one on the node holds it as well.
"""


def clash(one: HostPort, other: HostPort) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or "0.0.0.0" in (one[0], other[0]))


# --- nobody gets what is not there


@pytest.mark.long
@given(
    node_lists(),
    st.lists(st.tuples(kinds(FILTER_PARTS), st.sampled_from(PRIORITIES)), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_no_node_ever_promises_more_than_it_has(nodes: list[Any], some: list[tuple[Kind, int]], replicas: int) -> None:
    cluster = cluster_of(nodes)
    driver = driver_for(cluster)
    for i in range(replicas):
        for k, (kind, priority) in enumerate(some):
            attempt = driver.attempt(cluster.shapes.info(pod(f"p{k}-{i}", priority=priority, **kind)))
            if attempt.nominated:
                driver.handle_failure(attempt)
                driver.evict(attempt, to_the_end=False)
            assert (cluster.requested <= cluster.columns.allocatable).all()
            assert (cluster.pod_count <= cluster.columns.allowed_pods).all()
    for pods in cluster.pods_on:
        for one, other in combinations(pods, 2):
            assert not any(clash(p, q) for p in one.shape.ports for q in other.shape.ports)


@pytest.mark.long
@given(scenarios(max_running=8), profiles())
def test_a_pod_is_placed_only_where_it_fits_and_nowhere_better(scenario: GeneratedCluster, config: Json | None) -> None:
    cluster = scenario.cluster()
    scheduler = scheduler_for(cluster, config)
    for pending in scenario.pending:
        info = cluster.shapes.info(pending)
        before = cluster.fork()
        attempt = scheduler.attempt(info)
        fits = [row for row in range(len(cluster)) if status_on(scheduler.framework, before, info, row) is None]
        if attempt.row is None:
            named = attempt.diagnosis is not None and attempt.diagnosis.considered is not None
            assert not fits or named or attempt.refused is not None
            continue
        assert attempt.row in fits
        if attempt.score is not None:
            evaluation = scheduler_for(before, config).evaluation(info)
            evaluation.begin(info)
            totals = evaluation.totals(info, attempt.sampled)
            assert attempt.score == totals.max()
            narrowed = evaluation.narrowed is not None
            best = {cluster.columns.names[row] for row in attempt.sampled[totals == totals.max()]}
            top = cluster.columns.names[attempt.sampled[emptied(totals.tolist())[0]]]
            assert cluster.columns.names[attempt.row] == (min(best) if narrowed else top)


# --- victims


def preempting(scenario: GeneratedCluster) -> tuple[Driver, Attempt]:
    """A cycle that ended in a preemption; other examples are dropped."""
    cluster = scenario.cluster()
    driver = driver_for(cluster)
    attempt = driver.attempt(cluster.shapes.info(scenario.pending[-1]))
    given_that(attempt.nominated)
    return driver, attempt


@pytest.mark.long
@given(crowds())
def test_victims_are_less_important_and_on_the_nominated_node(scenario: GeneratedCluster) -> None:
    driver, attempt = preempting(scenario)
    here = {info.uid for info in driver.cluster.pods_on[row_of(driver.cluster, attempt)]}
    assert attempt.victims
    assert all(victim.priority < attempt.pod.priority for victim in attempt.victims)
    assert {victim.uid for victim in attempt.victims} <= here
    assert len({victim.uid for victim in attempt.victims}) == len(attempt.victims)


@pytest.mark.long
@given(crowds())
def test_the_pod_gets_its_place_once_the_victims_are_gone(scenario: GeneratedCluster) -> None:
    driver, attempt = preempting(scenario)
    driver.handle_failure(attempt)
    driver.evict(attempt)
    again = driver.attempt(attempt.pod)
    assert again.row == row_of(driver.cluster, attempt)


@pytest.mark.long
@given(crowds(parts=MORE_PODS_NEED_MORE_ROOM))
def test_every_victim_is_needed(scenario: GeneratedCluster) -> None:
    driver, attempt = preempting(scenario)
    row = row_of(driver.cluster, attempt)
    for kept in attempt.victims:
        twin = driver.cluster.fork()
        for victim in attempt.victims:
            if victim.uid != kept.uid:
                twin.forget(victim.uid)
        assert status_on(driver.scheduler_for(attempt.pod).framework, twin, attempt.pod, row) is not None


def row_of(cluster: Cluster, attempt: Attempt) -> int:
    row = cluster.columns.row(attempt.nominated)
    assert row is not None
    return row


# --- the order of things


def outcome(cluster: Cluster, scheduler: Scheduler, info: PodInfo) -> dict[str, Any]:
    attempt = scheduler.attempt(info)
    names = cluster.columns.names
    # Which of two equally important pods is the victim may depend on their order.
    preempts = bool(attempt.nominated)
    return {
        "node": None if attempt.row is None else names[attempt.row],
        "score": attempt.score,
        "best": sorted(names[row] for row in attempt.best),
        "sampled": sorted(names[row] for row in attempt.sampled),
        "preempts": preempts,
        "message": "" if preempts else attempt.message,
        "candidates": attempt.candidates,
    }


@pytest.mark.long
@given(scenarios(parts=ALL_PARTS, max_running=8), profiles(), st.data())
def test_the_order_of_objects_changes_no_decision(
    scenario: GeneratedCluster, config: Json | None, data: st.DataObject
) -> None:
    # Which nodes are looked at, if not all of them are, depends on the order in which they joined.
    all_of_them = nodes_to_find(len(scenario.nodes), 0) == len(scenario.nodes)
    shuffled = cluster_of(
        data.draw(st.permutations(scenario.nodes)) if all_of_them else scenario.nodes,
        data.draw(st.permutations(scenario.running)),
        data.draw(st.permutations(scenario.objects)),
    )
    first = scenario.cluster()
    # So does which of equal nodes is taken.
    schedulers = [scheduler_for(cluster, config, ties_by_name=True) for cluster in (first, shuffled)]
    for pending in scenario.pending:
        one, other = (
            outcome(cluster, scheduler, cluster.shapes.info(pending))
            for cluster, scheduler in zip((first, shuffled), schedulers, strict=True)
        )
        assert one == other


@pytest.mark.long
@settings(max_examples=settings().max_examples // 2)
@given(scenarios(max_running=8), profiles(), st.integers(0, 3))
def test_a_schedule_can_be_repeated(scenario: GeneratedCluster, config: Json | None, seed: int) -> None:
    runs = []
    for _ in range(2):
        cluster = scenario.cluster()
        scheduler = scheduler_for(cluster, config, seed=seed)
        runs.append([outcome(cluster, scheduler, cluster.shapes.info(pending)) for pending in scenario.pending])
        assert np.isin(cluster.journal, np.arange(len(cluster))).all()
    assert runs[0] == runs[1]


@pytest.mark.long
@settings(max_examples=settings().max_examples // 2)
@given(scenarios(max_running=8, max_pending=4))
def test_what_is_forgotten_for_want_of_room_is_found_again(scenario: GeneratedCluster) -> None:
    """Neither the evaluations a scheduler keeps nor the tallies of the cluster are more than a memory."""
    runs = []
    for forgetful in (False, True):
        cluster = scenario.cluster()
        scheduler = scheduler_for(cluster)
        found = []
        for pending in (*scenario.pending, *scenario.pending):
            info = cluster.shapes.info(pending)
            if cluster.find(info.uid) is not None:
                cluster.forget(info.uid)
            if forgetful:
                cluster.drop_tallies()
                scheduler = Scheduler(cluster, scheduler.profile, scheduler.shared)
            found.append(outcome(cluster, scheduler, info))
        runs.append(found)
    assert runs[0] == runs[1]


def test_counts_that_few_still_ask_for_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.cluster.node_infos.TALLY_LIMIT", 20)
    cluster = cluster_of(nodes_in_zones("x", "y", "z"))
    scheduler = scheduler_for(cluster)
    dropped, drop = [], Cluster.drop_tallies

    def dropping(self: Cluster) -> None:
        dropped.append(len(cluster.shapes))
        drop(self)

    monkeypatch.setattr(Cluster, "drop_tallies", dropping)
    for i in range(60):
        far = [pods_like(select(app=f"a{i}"))]
        attempt = scheduler.attempt(cluster.shapes.info(pod(f"p{i}", labels={"app": f"a{i}"}, far=far)))
        assert attempt.is_placed
    # Each pod asks for two counts: of pods it wants far, and of pods that want it far.
    assert dropped == [12, 23, 34, 45, 56]
