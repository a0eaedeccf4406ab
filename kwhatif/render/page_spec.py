"""How a result is shown on a page: a value that stands beside the text of its command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kwhatif.render.blocks import Block
from kwhatif.results.base import Result

PageVerdict = tuple[str, str]
"""A tone, which a colour and a sign stand for, and a few words."""


def answer_in_words(yes: str, no: str, tone: str = "bad") -> Callable[[Result], PageVerdict]:
    """The verdict of a page by the exit code of its result."""
    return lambda result: (tone, no) if result.exit_code else ("good", yes)


def answer_by_outcome(good: str = "good", bad: str = "bad") -> Callable[[Any], PageVerdict]:
    """The verdict of a page: that of the outcome, word for word, in one of two tones."""
    return lambda result: (good if result.outcome.good else bad, result.outcome.verdict)


@dataclass(frozen=True)
class PageSpec:
    """How a result is shown: the name of the question, the answer at a glance, the blocks, and a title for the first of
    them; a ``verdict`` where no block is one. ``data`` are parts of the page that this question alone has.
    """

    name: str
    answer: Callable[[Any], PageVerdict]
    blocks: Callable[[Any], list[Block]]
    title: str
    verdict: Callable[[Any], str] = lambda result: ""
    data: Callable[[Any], dict[str, Any]] = lambda result: {}
