"""A large cluster on a terminal of 80 columns: the answer at once, at most 60 lines, nothing wider than it."""

from __future__ import annotations

import json
from unittest import mock

import pytest

from benchmarks.fleet import deployment, node_name, write
from kwhatif.report.screen import Screen
from kwhatif.report.tables import MOST_LINES
from tests.cli.running import run

COLUMNS = 80

QUESTIONS = {
    "place": (["place", "fits", "--snapshot", "cluster"], "60 of 60 pods"),
    "place, in vain": (["place", "large", "--snapshot", "cluster"], "0 of 60 pods"),
    "explain": (["explain", "fits", "--snapshot", "cluster"], "goes to"),
    "explain, in vain": (["explain", "large", "--snapshot", "cluster"], "finds no node"),
    "expand": (["expand", "fits", "--snapshot", "cluster"], "60"),
    "capacity": (["capacity", "fits", "--snapshot", "cluster"], "Fits 288 times"),
    "gate": (["gate", "large", "--snapshot", "cluster"], "FAIL"),
    "drain of one": (["drain", node_name(1), "--ignore-daemonsets", "--snapshot", "cluster"], "of 1 node drained"),
    "snapshot info": (["snapshot", "info", "cluster"], "90 Node"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    found = {name: tmp_path_factory.mktemp("large") / f"{name}.json" for name in ("cluster", "fits", "large")}
    write(found["cluster"], 90, 20)
    found["fits"].write_text(json.dumps(deployment(60)))
    found["large"].write_text(json.dumps(deployment(60, cpu="9")))
    return {name: str(path) for name, path in found.items()}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_on_the_first_lines_of_a_screenful(question: str, files: dict[str, str]) -> None:
    words, verdict = QUESTIONS[question]
    screen = Screen(COLUMNS)
    with (
        mock.patch("kwhatif.cli.output.screen", return_value=screen),
        mock.patch("kwhatif.cli.gate.screen", return_value=screen),
    ):
        ran = run(*(files.get(word, word) for word in words))
    assert ran.code in (0, 1), ran.err
    assert verdict in "\n".join(ran.lines[:10])
    assert len(ran.lines) <= MOST_LINES
    # Commands are copied, so no line of theirs is broken.
    told = [line for line in ran.lines if not line.lstrip().startswith("kwhatif ")]
    assert max(map(len, told)) <= COLUMNS
