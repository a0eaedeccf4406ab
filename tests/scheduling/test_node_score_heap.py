"""Which of several best nodes comes to the top of the heap, and in which order the others follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.scheduling.node_score_heap import NodeScoreHeap, top_of
from tests.scheduling.plain_heap import emptied

few_totals = st.lists(st.integers(0, 3), min_size=1, max_size=70)


@pytest.mark.parametrize(
    ("totals", "top"),
    [
        pytest.param([5, 5, 5, 5], 0, id="where all are equal it is the first found"),
        pytest.param([1, 5, 5], 1, id="of two equal children the left one moves up"),
        pytest.param([1, 2, 5, 5], 3, id="what is below the left child comes before the right child"),
        pytest.param([1, 2, 3, 4, 5, 5, 5], 4, id="the left one below the left child comes first of all below"),
        pytest.param([1, 2, 3, 4, 4, 5, 5], 5, id="the right subtree comes last"),
    ],
)
def test_the_structure_of_the_heap_decides_between_equal_totals(totals: list[int], top: int) -> None:
    assert top_of(np.array(totals, np.int64)) == top == emptied(totals)[0]


@given(few_totals)
def test_the_top_is_that_of_a_heap_made_step_by_step(totals: list[int]) -> None:
    assert top_of(np.array(totals, np.int64)) == emptied(totals)[0]


def test_so_it_is_where_the_heap_is_larger_than_any_before() -> None:
    random = np.random.default_rng(0)
    for size in (1023, 1024, 5000, 20000):
        totals = random.integers(0, 4, size).tolist()
        totals[0] = 0
        assert top_of(np.array(totals, np.int64)) == emptied(totals)[0]


@given(few_totals)
def test_the_others_follow_as_from_a_heap_emptied_step_by_step(totals: list[int]) -> None:
    size = len(totals)
    rows = np.arange(size, dtype=np.intp)[::-1]
    heap = NodeScoreHeap(rows, np.array(totals, np.int64), [f"n{row}" for row in range(size)])
    assert len(heap) == size
    assert [heap.node(place) for place in range(size)] == [f"n{size - 1 - place}" for place in emptied(totals)]
