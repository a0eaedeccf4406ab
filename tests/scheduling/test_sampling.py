from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.scheduling.node_sampling import nodes_to_find, sample


@pytest.mark.parametrize(
    ("nodes", "percentage", "expected"),
    [
        pytest.param(0, 0, 0, id="no nodes"),
        pytest.param(99, 1, 99, id="fewer than a hundred are all looked for"),
        pytest.param(100, 0, 100, id="a hundred are never too many"),
        pytest.param(100, 100, 100, id="all of them"),
        pytest.param(1000, 100, 1000, id="all of many"),
        pytest.param(1000, 40, 400, id="a share of many"),
        pytest.param(1000, 5, 100, id="a share below a hundred is a hundred"),
        pytest.param(999, 33, 329, id="shares are truncated"),
        pytest.param(1000, 0, 420, id="of itself the share falls as clusters grow"),  # 50 - 1000 / 125 = 42
        pytest.param(5000, 0, 500, id="50 - 40 percent of five thousand"),
        pytest.param(6000, 0, 300, id="but not below five percent"),
        pytest.param(20000, 0, 1000, id="however large"),
    ],
)
def test_how_many_feasible_nodes_are_enough(nodes: int, percentage: int, expected: int) -> None:
    assert nodes_to_find(nodes, percentage) == expected


def one_by_one(ok: list[bool], start: int, enough: int) -> tuple[list[int], int]:
    """Look at node after node, from ``start`` on and round the end, until one too many is feasible."""
    found: list[int] = []
    for looked in range(len(ok)):
        place = (start + looked) % len(ok)
        if not ok[place]:
            continue
        if len(found) == enough:
            return found, looked
        found.append(place)
    return found, len(ok)


@pytest.mark.parametrize(
    ("ok", "start", "enough", "found", "looked"),
    [
        pytest.param("1111", 0, 2, [0, 1], 2, id="the first two"),
        pytest.param("1111", 3, 2, [3, 0], 2, id="round the end"),
        pytest.param("1001", 0, 1, [0], 3, id="nodes rejected on the way to the next were looked at, too"),
        pytest.param("1000", 0, 1, [0], 4, id="all of them when there is no next"),
        pytest.param("0000", 2, 1, [], 4, id="none"),
        pytest.param("0110", 2, 4, [2, 1], 4, id="fewer than wanted"),
        pytest.param("1101", 1, 2, [1, 3], 3, id="one that is over at the end"),
        pytest.param("", 0, 0, [], 0, id="no nodes"),
    ],
)
def test_sampling(ok: str, start: int, enough: int, found: list[int], looked: int) -> None:
    rows, count = sample(np.array([c == "1" for c in ok], np.bool_), start, enough)
    assert (rows.tolist(), count) == (found, looked)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.data())
def test_sampling_columns_is_looking_at_nodes_one_by_one(ok: list[bool], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(ok) - 1))
    enough = data.draw(st.integers(1, len(ok) + 1))
    rows, looked = sample(np.array(ok), start, enough)
    assert (rows.tolist(), looked) == one_by_one(ok, start, enough)
