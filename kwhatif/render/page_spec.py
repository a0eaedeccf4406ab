"""The HTML page of a result, as a value in the view of its command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.render.blocks import Block
from kwhatif.results.base import Result
from kwhatif.results.place import Placement

PageVerdict = tuple[str, str]
"""A tone, which a colour and a sign stand for, and a few words."""


def answer_in_words(yes: str, no: str, tone: str = "bad") -> Callable[[Result], PageVerdict]:
    """The verdict of a page by the exit code of its result."""
    return lambda result: (tone, no) if result.exit_code else ("good", yes)


def answer_by_outcome(good: str = "good", bad: str = "bad") -> Callable[[Any], PageVerdict]:
    """The verdict of a page: that of the outcome, word for word, in one of two tones."""
    return lambda result: (good if result.outcome.good else bad, result.outcome.verdict)


_BY_OUTCOME = answer_by_outcome()


class PodOutcomes(msgspec.Struct, frozen=True):
    """Outcomes of pods: all that were tried, replacements (``again``), and pods that stay (``kept``) with the
    reason.
    """

    placements: Sequence[Placement] = ()
    again: Mapping[str, str] = {}
    kept: Sequence[tuple[str, str]] = ()


def follow_replacements(replacements: Mapping[str, str]) -> dict[str, str]:
    """Pod -> the last one of its chain of replacements.

    Pods that come back by their own name are left out: those have moved.
    """
    last: dict[str, str] = {}
    for pod in reversed(list(replacements)):
        made = replacements[pod]
        if made != pod:
            last[pod] = last.get(made, made)
    return last


class PageSpec(msgspec.Struct, frozen=True):
    """How a result is shown: the name of the question, a title for the first block, the answer at a glance, and the
    blocks, unless they are those of the view; a ``verdict`` where no block is one. ``pods`` is what became of them, as
    far as a map cannot tell it; ``data`` are parts of the page that this question alone has.
    """

    name: str
    title: str
    answer: Callable[[Any], PageVerdict] = _BY_OUTCOME
    blocks: Callable[[Any], list[Block]] | None = None
    verdict: Callable[[Any], str] = lambda result: ""
    pods: Callable[[Any], PodOutcomes] = lambda result: PodOutcomes()
    data: Callable[[Any], dict[str, Any]] = lambda result: {}
