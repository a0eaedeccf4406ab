"""Patterns with ``*``: they are those of fnmatch, and none takes longer than the text is long."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.cel.globs import matches_glob, matches_path
from kwhatif.errors import InputError

LETTERS = "ab*?[]!-/.\n\\^é"


@given(st.text(LETTERS, max_size=12), st.lists(st.text(LETTERS, max_size=10), max_size=8))
def test_a_name_is_of_a_pattern_where_fnmatch_says_so(pattern: str, texts: list[str]) -> None:
    for text in [*texts, pattern, pattern.replace("*", "ab"), pattern.replace("?", "a")]:
        assert matches_glob(text, pattern) == fnmatchcase(text, pattern), (text, pattern)


@pytest.mark.parametrize(
    ("pattern", "matches", "others"),
    [
        ("tests", ["tests", "a/tests", "a/tests/b.yaml"], ["test", "a/testsb", "mytests/a"]),
        ("*-ci.yaml", ["a-ci.yaml", "b/a-ci.yaml"], ["a-ci.yamlx", "a-ci/b.yaml"]),
        ("charts/**/crds", ["charts/crds", "charts/a/crds", "x/charts/a/b/crds/c.yaml"], ["charts/acrds", "crds"]),
        ("a/*/c", ["a/b/c", "x/a/b/c/d"], ["a/b/d/c", "a/c"]),
        ("a?c", ["abc", "x/abc"], ["a/c", "ac"]),
        ("a**", ["a", "abc", "a/b/c"], ["ba"]),
        ("[a]", ["[a]"], ["a"]),
    ],
)
def test_a_path_is_of_a_pattern_by_its_end_or_a_directory_that_it_is_in(
    pattern: str, matches: list[str], others: list[str]
) -> None:
    assert [path for path in matches + others if matches_path(path, pattern)] == matches


@pytest.mark.long
@pytest.mark.parametrize(
    "pattern",
    [
        "**/" * 1_000 + "x",
        "*a" * 2_000 + "b",
        "*" * 5_000 + "b",
        "?*" * 2_000 + "b",
        "a*" * 3_000,
        "[!b]*" * 1_500 + "b",
    ],
)
def test_no_pattern_is_tried_again_and_again(pattern: str) -> None:
    began = time.process_time()
    for text in ("a" * 4_000, "a/" * 2_000, "\n" * 4_000):
        matches_glob(text, pattern)
        matches_path(text, pattern)
    assert time.process_time() - began < 60


def test_a_name_that_is_no_text_has_a_pattern_and_a_huge_pattern_is_refused() -> None:
    assert matches_path("a/\udcff.yaml", "*.yaml")
    assert matches_glob("é\udc80", "é?")
    with pytest.raises(InputError, match="has more than 10,000 characters"):
        matches_glob("a", "*a" * 10_000)
