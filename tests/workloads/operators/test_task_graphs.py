"""How many tasks of a graph run at once: as many as the heaviest set has of which none waits for another."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.workloads.operators.task_graphs import most_at_once, names_at_peak

Graph = tuple[dict[str, int], dict[str, set[str]]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Up to six tasks, each with some pods, that wait for some of those before them."""
    names = draw(st.permutations("abcdef"[: draw(st.integers(0, 6))]))
    before = {name: set(draw(st.sets(st.sampled_from(names[:n])))) if n else set() for n, name in enumerate(names)}
    return {name: draw(st.integers(0, 4)) for name in sorted(names)}, before


def _waits(name: str, other: str, before: dict[str, set[str]]) -> bool:
    return other in before[name] or any(_waits(each, other, before) for each in before[name])


@given(graph=graphs())
def test_the_peak_is_the_heaviest_set_of_tasks_of_which_none_waits_for_another(graph: Graph) -> None:
    pods, before = graph

    def together(names: tuple[str, ...]) -> bool:
        return not any(_waits(name, other, before) for name in names for other in names)

    peak = names_at_peak(pods, before)
    assert together(tuple(peak))
    sets = (names for size in range(len(pods) + 1) for names in combinations(pods, size) if together(names))
    assert sum(pods[name] for name in peak) == max(sum(pods[name] for name in names) for names in sets)


def test_two_small_tasks_before_a_large_one_are_not_at_its_peak() -> None:
    tasks = {"data": ["d"], "model": ["m"], "train": ["t1", "t2", "t3"]}
    assert most_at_once(tasks, {"train": {"data", "model"}}) == ["t1", "t2", "t3"]
