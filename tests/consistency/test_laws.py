"""The laws, held against a few worlds; ``python -m tests.consistency.laws`` takes as many as one has time for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.consistency.laws import LAWS, Answers, what_is_left
from tests.consistency.worlds import build_world

SEEDS = (5,)


@pytest.fixture(scope="module", params=SEEDS)
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return Answers(build_world(request.param), tmp_path_factory.mktemp("world"), brief=True)


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_no_two_answers_contradict_each_other(answers: Answers, name: str) -> None:
    assert list(LAWS[name](answers)) == []


def test_the_same_seed_makes_the_same_world(tmp_path: Path) -> None:
    texts = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        build_world(3).write(folder)
        texts.append([path.read_bytes() for path in sorted(folder.rglob("*.json"))])
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("law", "seed"),
    [
        pytest.param("who_is_asked_again_does_not_move", 100, id="an update evicts a pod later on"),
        pytest.param("who_is_asked_again_does_not_move", 102, id="an update deletes what was made for a victim"),
        pytest.param("a_lost_zone_is_its_nodes_removed_and_a_no_where_pods_wait", 215, id="the lost evict others"),
        pytest.param("a_side_of_a_diff_is_what_place_leaves", 433, id="replicas that an autoscaler brings down"),
        pytest.param("a_copy_costs_what_place_says", 313, id="a quota lets in half a copy"),
    ],
)
def test_a_world_that_broke_a_law_keeps_it(law: str, seed: int, tmp_path: Path) -> None:
    assert list(LAWS[law](Answers(build_world(seed), tmp_path))) == []


def test_an_update_that_meets_evictions_ends_as_over_time(tmp_path: Path) -> None:
    answers = Answers(build_world(215), tmp_path)
    ends = [what_is_left(answers.ask("place", answers.change, *more)["outcome"]) for more in ((), ("--timeline",))]
    assert ends[0] == ends[1]


def test_a_node_that_comes_while_old_pods_leave_is_in_every_answer(tmp_path: Path) -> None:
    answers = Answers(build_world(433), tmp_path)
    place = answers.ask("place", answers.change, *answers.grown)["outcome"]
    bought = answers.ask("autoscale", answers.change, "--groups", answers.grown[1])["outcome"]
    assert place["addedNodes"]
    assert what_is_left(place) == what_is_left(bought)
