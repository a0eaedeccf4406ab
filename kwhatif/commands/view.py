"""How a result is shown as text: a value in the ``text.py`` of a command, which its result names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from kwhatif.commands.registry import load
from kwhatif.render.blocks import Block
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.screen import Screen
from kwhatif.results.base import Result


class Look(msgspec.Struct, frozen=True):
    """How somebody looks at an answer: the format ``output``, all rows and all gaps or those that there is room for, on
    a ``screen``, or None in a report.
    """

    output: str = "table"
    everything: bool = True
    gaps: bool = False
    screen: Screen | None = None

    @property
    def wide(self) -> bool:
        return self.output == "wide"


class View(msgspec.Struct, frozen=True):
    """How a result becomes blocks and, if it does, a ``page``. ``formats`` are those that are drawn otherwise, as a
    text or as other blocks; ``notes`` is what is said beside the answer. A wide answer may have all rows.
    """

    blocks: Callable[[Any, Look], list[Block]]
    formats: Mapping[str, Callable[[Any, Look], str | list[Block]]] = {}
    notes: Callable[[Any, Look], Iterable[str]] = lambda result, look: result.notes
    wide_is_whole: bool = False
    page: PageSpec | None = None


def view_of(result: Result) -> View:
    """The view that the type of a result names."""
    view: View = load(type(result).view)
    return view
