"""What an unknown name is taken to be meant for."""

from __future__ import annotations

import pytest

from kwhatif.api.spelling_hints import suggest_spelling

CASES = {
    "one letter is missing": ("workr-1", ["worker-1", "web"], "worker-1"),
    "two letters of a short name changed places": ("wbe", ["web", "api"], "web"),
    "the case differs": ("Web", ["web"], "web"),
    "a node's short name": (
        "ip-10-0-0-18",
        ["ip-10-0-0-18.ec2.internal", "ip-10-0-0-19.ec2.internal"],
        "ip-10-0-0-18.ec2.internal",
    ),
    "nothing is like it": ("cache", ["web"], ""),
    "never the word itself": ("pod", ["pod"], ""),
}


@pytest.mark.parametrize(("word", "known", "meant"), CASES.values(), ids=CASES)
def test_the_name_that_was_meant_is_suggested(word: str, known: list[str], meant: str) -> None:
    assert suggest_spelling(word, known) == (f"; did you mean {meant}?" if meant else "")
