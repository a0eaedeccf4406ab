from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.cluster.node_view import NodeView, PodDelta, change_of
from tests.builders import GIB, ZONE, cluster_of, node, nodes_in_zones, pod, pods_on
from tests.strategies import GeneratedCluster, scenarios


def test_a_view_of_everything_is_the_clusters_own_arrays() -> None:
    cluster = cluster_of([node("a"), node("b")])
    view = NodeView(cluster)
    assert len(view) == view.size == 2
    assert np.shares_memory(view.requested, cluster.sums)
    assert np.shares_memory(view.pod_count, cluster.sums)
    assert view.allocatable is cluster.columns.allocatable
    assert [view.row(place) for place in range(2)] == [0, 1]


def test_a_view_of_some_rows_has_them_in_the_order_asked_for() -> None:
    cluster = cluster_of(nodes_in_zones("x", "y", "z"), pods_on({"n0": 1, "n2": 3}, cpu="1"))
    view = NodeView(cluster, np.array([2, 0], np.intp))
    assert view.pod_count.tolist() == [3, 1]
    assert view.requested[:, 0].tolist() == [3000, 1000]
    assert view.non_zero[:, 0].tolist() == [3000, 1000]
    assert view.allocatable[:, 1].tolist() == [8 * GIB, 8 * GIB]
    assert [cluster.columns.label(ZONE).values[code] for code in view.label(ZONE)] == ["z", "x"]
    assert [view.row(place) for place in range(2)] == [2, 0]


def test_a_change_adds_and_takes_away() -> None:
    cluster = cluster_of(nodes_in_zones("x", "y"), pods_on({"n0": 2}, cpu="1", ports=["80"]))
    rows = np.array([0, 1], np.intp)
    gone = change_of(cluster, rows, [cluster.pods_on[0][:1], []], -1)
    view = NodeView(cluster, rows, gone)
    assert view.pod_count.tolist() == [1, 0]
    assert view.requested[:, 0].tolist() == [1000, 0]
    assert not view.ports_in_use()[1].any()
    assert NodeView(cluster, rows).ports_in_use()[1][:, 0].tolist() == [True, False]
    more = cluster.shapes.info(pod("more", cpu="500m", ports=["80", "81"]))
    come = NodeView(cluster, rows, change_of(cluster, rows, [[], [more, more]], 1))
    assert come.pod_count.tolist() == [2, 2]
    assert come.requested[:, 0].tolist() == [2000, 1000]
    index, in_use = come.ports_in_use()
    assert in_use[1, [index[port] for port in more.shape.ports]].tolist() == [True, True]
    assert cluster.pod_count.tolist() == [2, 0]


def test_shapes_after_a_change() -> None:
    cluster = cluster_of(nodes_in_zones("x", "y"), pods_on({"n0": 2}, cpu="1"))
    rows = np.array([1, 0], np.intp)
    more = cluster.shapes.info(pod("more", cpu="500m"))
    assert NodeView(cluster, rows).moved_pods() is None
    gone = NodeView(cluster, rows, change_of(cluster, rows, [[], cluster.pods_on[0][:1]], -1)).moved_pods()
    come = NodeView(cluster, rows, change_of(cluster, rows, [[more], []], 1)).moved_pods()
    assert gone is not None
    assert come is not None
    kept = cluster.pods_on[0][0].shape
    assert [gone(0), gone(1)] == [[], [kept]]
    assert [come(0), come(1)] == [[more.shape], [kept, kept]]


@pytest.mark.long
@given(scenarios(max_nodes=4), st.data())
def test_moving_pods_one_by_one_is_a_change_of_all_of_them(scenario: GeneratedCluster, data: st.DataObject) -> None:
    cluster = scenario.cluster()
    width = max(len(pods) for pods in cluster.pods_on)
    rows = np.arange(len(cluster))
    shapes = np.zeros((len(rows), width), np.intp)
    for row, pods in enumerate(cluster.pods_on):
        shapes[row, : len(pods)] = [info.shape.index for info in pods]
    here = [(row, k) for row, pods in enumerate(cluster.pods_on) for k in range(len(pods))]
    gone = data.draw(st.lists(st.sampled_from(here), unique=True)) if here else []
    signs = np.zeros(shapes.shape, np.int64)
    moved = PodDelta(cluster.shapes, shapes, signs.copy())
    for row, k in gone:
        moved.move(cluster.shapes, np.array([row]), np.array([k]), -1)
        signs[row, k] = -1
    at_once = PodDelta(cluster.shapes, shapes, signs)
    for name in ("requested", "count", "signs"):
        assert getattr(moved, name).tolist() == getattr(at_once, name).tolist()
    some = data.draw(st.lists(st.sampled_from(rows.tolist()), unique=True))
    part = at_once.part(np.array(some, np.intp))
    assert part.requested.tolist() == at_once.requested[some].tolist()
    assert part.ports is None


def test_pods_that_come_back_are_there_with_those_before_them() -> None:
    cluster = cluster_of([node("a"), node("b")], [*pods_on({"a": 3}, cpu="1"), *pods_on({"b": 3}, cpu="2")])
    shapes = np.array([[info.shape.index for info in cluster.pods_on[row]] for row in range(2)], np.intp)
    change = PodDelta(cluster.shapes, shapes, np.full((2, 3), -1, np.int64))
    back = change.come_back(cluster.shapes, np.array([1, 0]), np.array([[2, 0], [1, 2]]))
    assert back.signs.tolist() == [[-1, -1, 0], [0, -1, 0], [-1, 0, -1], [-1, 0, 0]]
    assert back.count.tolist() == [-2, -1, -2, -1]
    assert back.requested[:, 0].tolist() == [-4000, -2000, -2000, -1000]
    assert change.count.tolist() == [-3, -3]
