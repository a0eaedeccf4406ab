"""The medium of a report: a terminal of some width that may show colours, or a file, where no line is broken."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

import msgspec

from kwhatif.render.blocks import NONE
from kwhatif.render.escape import clean

NARROWEST = 60
EMPTY_CELLS = ("", "-", NONE)
"""Cells that say nothing."""

_NARROWEST_CELL = 16
"""Columns that a sentence has at least, or it goes below its row."""

SAMPLED_ROWS = 60
"""Rows by which it is decided how a table is laid out."""

_WORD = re.compile(r"[^\s,]*,\s*|[^\s,]+\s*")
_Bands = list[list[tuple[int, int]]]

_STYLES = {
    "error": "bold red",
    "fail": "bold red",
    "unknown": "bold yellow",
    "warn": "bold yellow",
    "pass": "bold green",
    "heading": "bold",
}


class Screen(msgspec.Struct, frozen=True):
    """``width`` in characters, None where lines may be as long as they are.

    A table that is too wide for it is set in bands: columns that stand side by side, and below them the next ones.
    """

    width: int | None = None
    colour: bool = False

    @property
    def characters(self) -> int:
        return max(self.width or 0, NARROWEST)

    def paint(self, text: str, kind: str) -> str:
        """The text in the style of a kind, which is one of a verdict, a level, or ``heading``."""
        if not self.colour:
            return text
        from rich.style import Style

        return Style.parse(_STYLES[kind]).render(text)

    def wrap(self, text: str, indent: str = "", first: str = "") -> list[str]:
        """The text on as many lines as it takes, no word broken; ``indent`` is before all but the first."""
        if self.width is None:
            return [f"{first}{clean(text)}".rstrip()]
        lines = wrap(
            clean(text),
            self.characters,
            initial_indent=first,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return lines or [first.rstrip()]

    def align_names(self, names: Sequence[str]) -> list[str]:
        """Names two blanks apart, on a line of their own where they do not fit any more."""
        lines = [names[0]]
        for name in names[1:]:
            if self.width is None or len(lines[-1]) + 2 + len(name) <= self.characters:
                lines[-1] += f"  {name}"
            else:
                lines.append(f"  {name}")
        return [line.rstrip() for line in lines]

    def table(
        self, rows: Sequence[Sequence[str]], tones: Sequence[Sequence[str]] = (), heads: int = 1
    ) -> list[list[str]]:
        """The header's lines and those of each row, columns two blanks apart. Columns without room go on below, and
        sentences are wrapped.

        ``tones`` are the kinds in whose style cells are painted, by row; empty ones are plain. The first ``heads`` rows
        are one header.
        """
        cells = [[clean(cell) for cell in row] for row in rows]
        bands = self._bands(cells)
        plain = [""] * len(cells[0]) if cells else []
        painted = zip(cells, [*tones, *[plain] * (len(cells) - len(tones))], strict=True)
        drawn = [[self._band_of(row, kinds, band) for band in bands] for row, kinds in painted]
        # Lines of a header that stand over each other stay together.
        header = [line for of_band in zip(*drawn[:heads], strict=True) for lines in of_band for line in lines]
        return [header, *([line for lines in row for line in lines] or [""] for row in drawn[heads:])]

    def _band_of(self, row: Sequence[str], kinds: Sequence[str], band: Sequence[tuple[int, int]]) -> list[str]:
        """The lines of a band in one row; none if all its cells are empty."""
        margin = "  " if band[0][0] else ""
        if all(row[i] in (EMPTY_CELLS if margin else ("",)) for i, _ in band):
            return []
        columns = [
            [(self.paint(line, kinds[i]) if kinds[i] else line) + " " * (width - len(line)) for line in folded]
            for i, width, folded in ((i, width, _fold_cell(row[i], width)) for i, width in band)
        ]
        blanks = [" " * width for _, width in band]
        return [
            margin
            + "  ".join(
                column[n] if n < len(column) else blank for column, blank in zip(columns, blanks, strict=True)
            ).rstrip()
            for n in range(max(map(len, columns)))
        ]

    def _bands(self, rows: Sequence[Sequence[str]]) -> _Bands:
        """Column and width of what stands side by side; bands after the first are indented by two.

        Of all possible layouts the one with the fewest lines.
        """
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        if self.width is None:
            return [list(enumerate(widths))]
        some = [[*row[:1], *("" if cell in EMPTY_CELLS else cell for cell in row[1:])] for row in rows[:SAMPLED_ROWS]]
        words = [
            max((len(word.rstrip()) for row in some for word in _WORD.findall(row[i])), default=0)
            for i in range(len(widths))
        ]
        lines = functools.cache(lambda i, width: [len(_fold_cell(row[i], width)) for row in some])

        def height(bands: _Bands) -> int:
            return sum(
                sum(map(max, zip(*(lines(i, width) for i, width in band), strict=True))) for band in bands if band
            )

        return min(self._layouts(widths, words), key=lambda bands: (height(bands), len(bands)))

    def _layouts(self, widths: Sequence[int], words: Sequence[int]) -> Iterator[_Bands]:
        """All ways to set columns: one without room is wrapped if its words have some, or begins a band.

        A column may also be narrowed to make room for those after it.
        """

        def extend_layout(i: int, bands: _Bands, used: int) -> Iterator[_Bands]:
            if i == len(widths):
                yield bands
                return
            room, width_of_rest = self.characters - used, sum(width + 2 for width in widths[i + 1 :])
            if widths[i] <= room:
                yield from extend_layout(i + 1, _beside(bands, i, widths[i]), used + widths[i] + 2)
            least = max(_NARROWEST_CELL, words[i])
            for width in (room, room - width_of_rest) if width_of_rest else (room,):
                if least <= width < widths[i]:
                    yield from extend_layout(i + 1, _beside(bands, i, width), used + width + 2)
            if widths[i] > room:
                width = min(widths[i], self.characters - 2)
                below = [*bands, [(i, width)]] if bands[-1] else [[(i, width)]]
                yield from extend_layout(i + 1, below, width + 4)

        return extend_layout(0, [[]], 0)


def _beside(bands: _Bands, column: int, width: int) -> _Bands:
    return [*bands[:-1], [*bands[-1], (column, width)]]


def _fold_cell(text: str, width: int) -> list[str]:
    """A cell on as many lines as it takes, none if it is empty; words are broken behind commas only."""
    if len(text) <= width:
        return [text] if text else []
    lines = []
    for line in wrap(text, width, break_on_hyphens=False, break_long_words=False):
        lines.append("")
        for word in _WORD.findall(line) if len(line) > width else (line,):
            if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
                lines.append("")
            lines[-1] += word
    return [line.rstrip() for line in lines]
