"""The words of documents, help and answers: one for one thing, and none that readers stumble over."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.console import examples

ROOT = Path(__file__).parents[1]
KINDS = ("how-to", "tutorials", "reference", "explanation")
PAGES = [ROOT / "README.md", *(path for kind in KINDS for path in sorted((ROOT / "docs" / kind).glob("*.md")))]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
BANNED = {
    "hangs on": "depends on, is blocked by",
    "homeless": "pending",
    "made again": "recreated",
    "on their account": "as a result",
    "go down by": "-10%",
    "for ever": "forever",
    "driven out": "preempted",
    "nobody would move": "at rest",
    "with no end of it": "if unlimited",
    "gone for good": "lost",
    "nobody knows": "unknown",
    "stands on": "is based on",
    "comes for it": "is added for it",
    "who runs there": "its pods",
}
"""Words that are not used -> what is used instead. Parts of words, and names in JSON, may have them."""

MOST_WORDS = 600
"""Of a how-to page, without its examples: it is one task."""

MOST_WORDS_IN_ALL = 25_000
"""Of all pages for users, without examples and tables made of the program: who adds a page shortens another."""


def _banned(text: str) -> list[str]:
    plain = " ".join(text.split()).lower()
    return [f"{word}: say {instead}" for word, instead in BANNED.items() if re.search(rf"\b{word}\b", plain)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_has_no_banned_words(page: Path) -> None:
    assert _banned(page.read_text("utf-8")) == []


@pytest.mark.long
def test_help_has_no_banned_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / ".ci/site"), *sys.path])
    pages = importlib.import_module("reference").pages()
    prose = {name: re.sub(r"`+[^`\n]*`+", "", text) for name, text in pages.items()}
    assert {name: found for name, text in prose.items() if (found := _banned(text))} == {}


@pytest.mark.long
def test_answers_have_no_banned_words() -> None:
    answers = [path for path in (ROOT / "tests/golden").glob("**/*.txt") if "json" not in path.stem]
    assert {path.name: found for path in answers if (found := _banned(path.read_text("utf-8")))} == {}


def test_the_pages_for_users_are_short_enough_to_be_read() -> None:
    # What a heading means is looked up, a row at a time.
    looked_up = ROOT / "docs/reference/columns.md"
    pages = [*(page for page in PAGES if page != looked_up), ROOT / "docs/index.md", ROOT / "docs/glossary.md"]
    assert sum(len(_by_hand(page.read_text("utf-8")).split()) for page in pages) <= MOST_WORDS_IN_ALL


def _by_hand(text: str) -> str:
    """Without examples, and without tables that are made of the program."""
    made = re.compile(r"^<!-- ([\w ]+): begin -->\n.*?^<!-- \1: end -->$", re.MULTILINE | re.DOTALL)
    return _without_examples(made.sub("", text))


def _without_examples(text: str) -> str:
    return re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", sorted((ROOT / "docs/how-to").glob("*.md")), ids=lambda path: path.stem)
def test_a_how_to_is_short(page: Path) -> None:
    assert len(_without_examples(page.read_text("utf-8")).split()) <= MOST_WORDS


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_the_picture_of_a_tutorial_is_of_its_first_command_as_it_answers_now(tutorial: Path) -> None:
    text = tutorial.read_text("utf-8")
    picture = tutorial.parent / "pictures" / f"{tutorial.stem}.svg"
    assert f"](pictures/{picture.name})" in text
    drawn = picture.read_text("utf-8")
    assert len(drawn) < 100_000
    verdict = run(*examples(text)[0].arguments, folder=ROOT).lines[0]
    words = re.sub(r"<[^>]*>", " ", drawn).replace("&#160;", " ")
    assert " ".join(verdict.split()[:4]) in " ".join(words.split()), "python .ci/site/pictures.py draws it anew"
