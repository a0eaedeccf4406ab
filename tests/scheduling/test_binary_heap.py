"""The heap that decides where keys do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.scheduling.binary_heap import BinaryHeap


def given_out(items: list[int], heap: BinaryHeap[int]) -> list[int]:
    for item in items:
        heap.push(item)
    return [heap.pop() for _ in items]


@given(items=st.lists(st.integers()))
def test_numbers_come_out_sorted(items: list[int]) -> None:
    assert given_out(items, BinaryHeap(lambda one, other: one < other)) == sorted(items)


def test_where_every_comparison_says_yes_the_steps_of_the_heap_decide() -> None:
    assert given_out([1, 2, 3, 4], BinaryHeap(lambda one, other: True)) == [4, 2, 3, 1]
