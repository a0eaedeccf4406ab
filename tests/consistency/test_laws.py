"""The laws, held against a few worlds; ``python -m tests.consistency.laws`` takes as many as one has time for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.consistency.laws import LAWS, Answers
from tests.consistency.worlds import build_world

SEEDS = (5,)


@pytest.fixture(scope="module", params=SEEDS)
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return Answers(build_world(request.param), tmp_path_factory.mktemp("world"), brief=True)


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


def test_a_pod_that_an_update_evicts_later_on_is_not_left_in_the_cluster(tmp_path: Path) -> None:
    assert list(LAWS["who_is_asked_again_does_not_move"](Answers(build_world(100), tmp_path))) == []
