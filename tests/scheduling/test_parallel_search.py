"""Searches whose workers race: what they find, held against the race played out step by step."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.commands.chances.result import Probability
from kwhatif.scheduling.node_sampling import ParallelSearch, chunk_size, sample

Found = tuple[tuple[int, ...], int]


def exact(ok: list[bool], enough: int, workers: int, late: int) -> Counter[Found]:
    """How likely each outcome of a search is, if each busy worker is as likely as any other to be done with its node
    next, and ``late`` times as likely as each that has not begun is to begin. Nodes are in the order found.
    """
    size = chunk_size(len(ok), workers)
    chunks = [tuple(range(begin, min(begin + size, len(ok)))) for begin in range(0, len(ok), size)]
    outcomes: Counter[Found] = Counter()

    def play(busy: tuple[tuple[int, ...], ...], idle: int, taken: int, found: tuple[int, ...], p: Fraction) -> None:
        if not busy and taken == len(chunks):
            outcomes[found, len(ok)] += p  # type: ignore[assignment]
            return
        begins = idle if taken < len(chunks) else 0
        whole = Fraction(len(busy)) + Fraction(begins, late or 1)
        if begins:
            play((*busy, chunks[taken]), idle - 1, taken + 1, found, p * Fraction(begins, late) / whole)
        for k, chunk in enumerate(busy):
            node, rest = chunk[0], chunk[1:]
            others, then = [*busy[:k], *busy[k + 1 :]], taken
            left = [*others]
            if rest:
                left.append(rest)
            elif taken < len(chunks):
                left.append(chunks[taken])
                then += 1
            if ok[node] and len(found) == enough:
                # One too many: the others are still done with the nodes that they look at.
                begun = {n for chunk in chunks[:taken] for n in chunk} - {n for each in busy for n in each}
                vain = sum(not ok[n] for n in begun) + sum(not ok[each[0]] for each in others)
                outcomes[found, len(found) + vain] += p / whole  # type: ignore[assignment]
            else:
                play(tuple(left), idle, then, (*found, node) if ok[node] else found, p / whole)

    first = workers if not late else 1
    play(tuple(chunks[:first]), max(min(workers, len(chunks)) - first, 0), min(first, len(chunks)), (), Fraction(1))
    return outcomes


@pytest.mark.parametrize(
    ("nodes", "workers", "size"),
    [(1, 16, 1), (16, 16, 2), (100, 16, 7), (1000, 16, 31), (5000, 16, 70), (4, 4, 2), (100, 1, 10)],
)
def test_chunks_are_as_large_as_upstreams(nodes: int, workers: int, size: int) -> None:
    assert chunk_size(nodes, workers) == size


@pytest.mark.long
@pytest.mark.parametrize("late", [0, 3])
@pytest.mark.parametrize(
    ("ok", "enough", "workers"),
    [
        pytest.param([True] * 4, 1, 4, id="the first of two workers"),
        pytest.param([True] * 4, 2, 4, id="two nodes of two workers"),
        pytest.param([True, False, True, True, False, True], 2, 3, id="some nodes are rejected on the way"),
        pytest.param([False, True, True, False, True, True, True], 3, 2, id="more chunks than workers"),
        pytest.param([True, True, False, False], 2, 2, id="no more than enough: all are looked at"),
    ],
)
def test_the_race_is_that_of_equally_fast_workers(ok: list[bool], enough: int, workers: int, late: int) -> None:
    trials, search = 4000, ParallelSearch(np.random.Generator(np.random.PCG64(1)), workers, late)
    seen: Counter[Found] = Counter()
    for _ in range(trials):
        places, looked = search(np.array(ok), 0, enough)
        seen[tuple(places.tolist()), looked] += 1
    chances = exact(ok, enough, workers, late)
    assert sum(chances.values()) == 1
    assert seen.keys() <= chances.keys()
    for outcome, p in chances.items():
        told = Probability.from_counts(seen[outcome], trials)
        assert told.low - 0.01 <= float(p) <= told.high + 0.01, outcome


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.data())
def test_one_worker_finds_what_a_search_in_order_finds(ok: list[bool], data: st.DataObject) -> None:
    start, enough = data.draw(st.integers(0, len(ok) - 1)), data.draw(st.integers(1, len(ok)))
    search = ParallelSearch(np.random.Generator(np.random.PCG64(0)), 1)
    places, looked = search(np.array(ok), start, enough)
    in_order, also_looked = sample(np.array(ok), start, enough)
    assert (places.tolist(), looked) == (in_order.tolist(), also_looked)


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.integers(1, 16), st.data())
def test_as_many_are_found_as_are_enough_and_all_of_them_pass(
    ok: list[bool], workers: int, data: st.DataObject
) -> None:
    start, enough = data.draw(st.integers(0, len(ok) - 1)), data.draw(st.integers(1, len(ok)))
    places, looked = ParallelSearch(np.random.Generator(np.random.PCG64(0)), workers)(np.array(ok), start, enough)
    assert len(places) == min(enough, sum(ok))
    assert len(set(places.tolist())) == len(places)
    assert all(ok[place] for place in places)
    assert len(places) <= looked <= len(ok)
