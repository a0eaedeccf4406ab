"""Laws of outcomes: at once and over time come to the same end, and who is asked again there does not move."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.api.core import Pod
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.placement.runs import place_pods
from tests.builders import node, pod
from tests.commands.answers import place, simulate
from tests.simulation.sessions import asking, session_of

pytestmark = pytest.mark.long

SIZES, PRIORITIES = st.sampled_from(["500m", "1", "2", "3"]), st.integers(0, 3)
WANTED = st.lists(st.tuples(SIZES, PRIORITIES), min_size=1, max_size=6)
RUNNING = st.lists(st.tuples(st.integers(0, 2), SIZES, PRIORITIES), max_size=6)
NODES = [node(f"n{number}", cpu="4") for number in range(3)]


def new(wanted: list[tuple[str, int]]) -> list[Pod]:
    return [pod(f"new-{number}", cpu=cpu, priority=level) for number, (cpu, level) in enumerate(wanted)]


def there(running: list[tuple[int, str, int]]) -> list[Pod]:
    return [
        pod(f"old-{number}", on=f"n{on}", cpu=cpu, priority=level, owner=("apps/v1", "ReplicaSet", f"old-{number}"))
        for number, (on, cpu, level) in enumerate(running)
    ]


def left(outcome: Outcome) -> tuple[bool, list[str], int]:
    return outcome.good, sorted(each.pod for each in outcome.pending), outcome.evicted


@settings(max_examples=40, deadline=None)
@given(WANTED, RUNNING)
def test_the_story_ends_as_the_answer_says(wanted: list[tuple[str, int]], running: list[tuple[int, str, int]]) -> None:
    at_once = place(session_of(NODES, there(running)), asking(*new(wanted)))
    over_time = simulate(session_of(NODES, there(running)), asking(*new(wanted)))
    assert left(at_once.outcome) == left(over_time.outcome)
    assert (at_once.exit_code == 0) is at_once.outcome.good


@settings(max_examples=40, deadline=None)
@given(WANTED, RUNNING)
def test_who_is_asked_again_in_the_end_does_not_move(
    wanted: list[tuple[str, int]], running: list[tuple[int, str, int]]
) -> None:
    session = session_of(NODES, there(running))
    first = place_pods(session, asking(*new(wanted)))
    waiting = {each.pod for each in first.pending}
    again = place(first.end, asking(*(each for each in first.left if each.key in waiting)))
    assert again.outcome.evicted == 0
    assert {each.pod for each in again.outcome.pending} == waiting
