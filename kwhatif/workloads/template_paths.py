"""Paths into an object: ``$.spec.replicatedJobs[*].template``; ``[0]`` is one item of a list, ``[*]`` each of them.

``[*]`` matches the items of a list, or the values of a map in the order of their keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

EACH = "*"
"""The step that takes every item."""

_PATH = re.compile(r"\$?(?:\.[^.\[\]{},=]+|\[(?:\d+|\*)\])*")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\*)\]")


class FieldPath(msgspec.Struct, frozen=True):
    """``steps`` are names of fields, places in a list, and ``*``. A ``rooted`` path begins at the object itself."""

    steps: tuple[str | int, ...]
    rooted: bool = True

    @classmethod
    def parse(cls, text: str) -> FieldPath | None:
        """The path that a text means: ``$.spec`` from the object, ``.spec`` from an item of it; None if it is none."""
        if not text or not _PATH.fullmatch(text):
            return None
        steps = (int(place) if place.isdecimal() else EACH if place else name for name, place in _STEP.findall(text))
        return cls(tuple(steps), text.startswith("$"))

    def __str__(self) -> str:
        steps = (f".{step}" if isinstance(step, str) and step != EACH else f"[{step}]" for step in self.steps)
        return ("$" if self.rooted else "") + "".join(steps)

    @property
    def branches(self) -> bool:
        """Whether it may lead to several values."""
        return EACH in self.steps

    def split(self) -> tuple[FieldPath, FieldPath]:
        """The part up to its last ``[*]``, and the rest, from there."""
        if not self.branches:
            return FieldPath((), self.rooted), FieldPath(self.steps, False)
        last = len(self.steps) - self.steps[::-1].index(EACH)
        return FieldPath(self.steps[:last], self.rooted), FieldPath(self.steps[last:], False)

    def value_in(self, here: Any) -> Any:
        """The one value that it leads to; None if there is none."""
        return next((value for _, value in self.values_in(here)), None)

    def values_in(self, here: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        """All values that it leads to, each with the keys or places that ``[*]`` took on the way."""
        yield from _values(here, self.steps, ())


def _values(here: Any, steps: Sequence[str | int], keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not steps:
        yield keys, here
        return
    step, *rest = steps
    if step == EACH:
        items = sorted(here.items()) if isinstance(here, Mapping) else enumerate(here) if isinstance(here, list) else ()
        for key, item in items:
            yield from _values(item, rest, (*keys, str(key)))
    elif isinstance(step, str) and isinstance(here, Mapping):
        if step in here:
            yield from _values(here[step], rest, keys)
    elif isinstance(step, int) and isinstance(here, list) and step < len(here):
        yield from _values(here[step], rest, keys)
