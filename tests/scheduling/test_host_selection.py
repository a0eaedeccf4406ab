"""What decides between nodes that are equally good, and what is chance there."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kwhatif.cluster.cluster import Cluster
from kwhatif.scheduling.host_selection import Choice, HostSelection
from kwhatif.scheduling.preemption_candidates import BY_CHANCE, FIRST_BY_NAME, Candidates, choose
from kwhatif.versions import features_of
from tests.builders import cluster_of, driver_for, node, pod

NAMES = "mcxt"


def cluster_by(minor: str) -> Cluster:
    return cluster_of([node(name) for name in NAMES], features=features_of(minor))


def select(
    cluster: Cluster,
    best: list[int],
    scored: list[int] | None = None,
    *,
    in_any_order: bool = False,
    random: Random | None = None,
) -> tuple[str, Choice]:
    """The name of the node taken of these places of the list, of which extenders ``scored`` some."""
    randomized = None if scored is None else np.isin(np.arange(len(NAMES)), scored)
    info = cluster.shapes.info(pod("p"))
    rows = np.arange(len(NAMES))
    place, choice = HostSelection(cluster, random=random).select(
        info, rows, np.isin(rows, best).astype(np.int64), {}, randomized, in_any_order=in_any_order
    )
    return cluster.columns.names[place], choice


@pytest.mark.parametrize(
    ("minor", "best", "scored", "taken"),
    [
        pytest.param("1.36", [0, 1, 2, 3], None, ("m", Choice.HEAP), id="the first found is the top of the heap"),
        pytest.param("1.36", [2, 3], None, ("t", Choice.HEAP), id="what lies below the left child comes first"),
        pytest.param("1.34", [0, 1, 2, 3], None, ("c", Choice.DRAW), id="until 1.34 it is drawn"),
        pytest.param("1.36", [0, 1, 2], [1, 2], ("c", Choice.DRAW), id="those that extenders scored are drawn"),
        pytest.param("1.36", [0, 3], [1, 2], ("m", Choice.HEAP), id="scores of others make no chance"),
        pytest.param("1.36", [2], [2], ("x", Choice.ONLY), id="of one there is no choice"),
    ],
)
def test_the_version_and_extenders_decide(
    minor: str, best: list[int], scored: list[int] | None, taken: tuple[str, Choice]
) -> None:
    assert select(cluster_by(minor), best, scored) == taken


def test_where_it_is_drawn_each_of_the_best_is_taken_and_no_other() -> None:
    cluster = cluster_by("1.36")
    drawn = {select(cluster, [0, 1, 3], in_any_order=True, random=Random(seed)) for seed in range(40)}
    assert drawn == {(name, Choice.DRAW) for name in "mct"}


def test_chance_does_not_change_what_the_heap_decides() -> None:
    cluster = cluster_by("1.36")
    assert {select(cluster, [0, 1, 3], random=Random(seed)) for seed in range(20)} == {("m", Choice.HEAP)}


def test_of_equal_candidates_of_a_preemption_any_is_taken_by_chance() -> None:
    same, flags = np.ones((3, 5), np.int64), np.zeros((3, 1), np.bool_)
    candidates = Candidates(np.array([0, 1, 2]), same, flags, flags)
    ranks = np.array([2, 0, 1])
    assert choose(candidates, ranks) == (1, FIRST_BY_NAME)
    assert {choose(candidates, ranks, Random(seed)) for seed in range(30)} == {(k, BY_CHANCE) for k in range(3)}


@pytest.mark.parametrize("minor", ["1.34", "1.36"])
def test_with_chances_taken_any_of_equal_nodes_is_made_room_on(minor: str) -> None:
    nominated = set()
    for seed in range(12):
        low = [pod(f"low-{name}", on=name, cpu="3", priority=1, started="2026-01-01T00:00:00Z") for name in NAMES]
        cluster = cluster_of([node(name) for name in NAMES], low, features=features_of(minor))
        driver = driver_for(cluster)
        driver.take_chances(Random(seed))
        nominated.add(driver.attempt(cluster.shapes.info(pod("p", cpu="3", priority=9))).nominated)
    assert nominated == set(NAMES)


@pytest.mark.long
def test_a_seed_lets_workers_race_since_1_35() -> None:
    def taken(seed: int) -> str:
        cluster = cluster_of([node(f"n{i:03}") for i in range(90)])
        driver = driver_for(cluster, seed=seed)
        attempt = driver.attempt(cluster.shapes.info(pod("p")))
        assert attempt.choice is Choice.HEAP
        assert attempt.row is not None
        return cluster.columns.names[attempt.row]

    homes = [taken(seed) for seed in range(30)]
    assert homes == [taken(seed) for seed in range(30)]
    # One worker is mostly done with the first node before others have begun.
    assert homes.count("n000") > 15
