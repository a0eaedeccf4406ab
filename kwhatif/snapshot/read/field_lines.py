"""The lines on which the fields of YAML and JSON documents stand, whatever the style they are written in.

Only places are read here, and no values made: an alias stays one, so a small file makes no large answer, and what
cannot be parsed ends what is known of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import yaml

Path = tuple[str | int, ...]

_LONGEST = 2**22
"""Characters of a text that is looked into; of longer ones nothing is known."""


class Content(NamedTuple):
    """What a scalar says, and the line on which that begins."""

    text: str
    line: int


class FieldLines(msgspec.Struct):
    """One document: the line of each key and item by its path, scalars, and the paths that aliases stand for."""

    lines: dict[Path, int] = {}
    contents: dict[Path, Content] = {}
    aliases: dict[Path, Path] = {}

    def text_at(self, *path: str | int) -> str:
        """The scalar at a path, or nothing."""
        content = self.contents.get(path)
        return "" if content is None else content.text

    def nearest(self, path: Path, begin: Path = ()) -> tuple[int, int]:
        """How many steps of a path are there, counted from ``begin``, and the line of the last of them; 0 if none is.

        Behind an alias the line is that of what it stands for.
        """
        here, line = begin, 0
        for depth, step in enumerate(path):
            here = self.aliases.get(here, here)
            merged = self.aliases.get((*here, "<<"), here)
            below = next((place for place in ((*here, step), (*merged, step)) if place in self.lines), None)
            if below is None:
                return depth, line
            here, line = below, self.lines[below]
        return len(path), line


class _Level(msgspec.Struct):
    """A mapping or a sequence that is being read: ``step`` is the key or the number of what comes next."""

    path: Path
    step: str | int | None


def read_field_lines(text: str, first: int = 1) -> Iterator[FieldLines]:
    """The documents of a text that begins with the line ``first``."""
    if len(text) > _LONGEST:
        return
    document, levels, anchors = FieldLines(), list[_Level](), dict[str, Path]()
    try:
        for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            line = first + (event.start_mark.line if event.start_mark is not None else 0)
            if isinstance(event, yaml.DocumentStartEvent):
                document, levels, anchors = FieldLines(), [], {}
            elif isinstance(event, yaml.DocumentEndEvent):
                yield document
                document = FieldLines()
            elif isinstance(event, yaml.CollectionEndEvent):
                levels.pop()
            elif isinstance(event, yaml.NodeEvent):
                _add_node(document, levels, anchors, event, line)
    except yaml.YAMLError:
        if document.lines:
            yield document


def _add_node(
    document: FieldLines, levels: list[_Level], anchors: dict[str, Path], event: yaml.NodeEvent, line: int
) -> None:
    """Count a scalar, an alias, or what begins a mapping or a sequence; a key that is neither a scalar is empty."""
    path: Path = ()
    if levels:
        above = levels[-1]
        is_key = above.step is None
        if above.step is None:
            above.step = event.value if isinstance(event, yaml.ScalarEvent) else ""
        path = (*above.path, above.step)
        document.lines.setdefault(path, line)
        if is_key and not isinstance(event, yaml.CollectionStartEvent):
            return
        if not is_key:
            above.step = above.step + 1 if isinstance(above.step, int) else None
    if isinstance(event, yaml.AliasEvent):
        if event.anchor in anchors:
            document.aliases[path] = anchors[event.anchor]
        return
    if event.anchor:
        anchors[event.anchor] = path
    if isinstance(event, yaml.ScalarEvent):
        document.contents[path] = Content(event.value, line + (event.style in ("|", ">")))
    else:
        levels.append(_Level(path, 0 if isinstance(event, yaml.SequenceStartEvent) else None))
