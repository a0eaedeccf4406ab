from __future__ import annotations

import numpy as np
import pytest

from kwhatif.cluster.shapes import NEVER_STARTED
from kwhatif.scheduling.preemption_candidates import VictimTable, by_importance
from tests.builders import cluster_of, node, pod, pods_on

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([(1, EARLY), (3, LATE), (2, None)], [1, 2, 0], id="priority first"),
        pytest.param([(1, LATE), (1, EARLY)], [1, 0], id="then age"),
        pytest.param([(1, None), (1, LATE)], [1, 0], id="a pod that has not started is the youngest"),
        pytest.param([(1, EARLY), (1, EARLY)], [0, 1], id="equals keep their order"),
        pytest.param([(1, None), (1, None), (1, None)], [2, 1, 0], id="but for pods that have not started"),
    ],
)
def test_importance(pods: list[tuple[int, str | None]], expected: list[int]) -> None:
    shapes = cluster_of([]).shapes
    infos = [shapes.info(pod(str(i), priority=priority, started=start)) for i, (priority, start) in enumerate(pods)]
    assert [int(info.pod.name) for info in by_importance(infos)] == expected


def test_the_table_follows_the_cluster() -> None:
    cluster = cluster_of([node("a"), node("b")], pods_on({"a": 2}, priority=1))
    table = VictimTable(cluster)
    rows = np.array([1, 0], np.intp)
    shapes, there = table.shapes_on(rows)
    assert there.tolist() == [[False, False], [True, True]]
    assert table.starts(rows, 2)[1].tolist() == [NEVER_STARTED] * 2
    cluster.assume(cluster.shapes.info(pod("top", priority=9, started=EARLY)), 0)
    cluster.forget("uid-default-a-0")
    shapes, there = table.shapes_on(rows)
    assert there.tolist() == [[False, False], [True, True]]
    assert cluster.shapes.priorities[shapes[1]].tolist() == [9, 1]
    assert [info.pod.name for info in table.pods(0)] == ["top", "a-1"]


def test_the_table_widens_for_crowded_nodes() -> None:
    cluster = cluster_of([node("a"), node("b")], pods_on({"a": 3, "b": 21}))
    table = VictimTable(cluster)
    shapes, there = table.shapes_on(np.arange(2))
    assert shapes.shape == (2, 21)
    assert there.sum(axis=1).tolist() == [3, 21]
