"""What a report is drawn on: a terminal of some width that may show colours, or a file, where no line is broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from kwhatif.report.escape import clean

NARROWEST = 60
_SENTENCE = 36
"""Columns that a sentence takes at least before it goes below its row."""

_STYLES = {"error": "bold red", "fail": "bold red", "warn": "bold yellow", "pass": "bold green", "heading": "bold"}


@dataclass(frozen=True)
class Screen:
    """``width`` in columns, None where lines may be as long as they are."""

    width: int | None = None
    colour: bool = False

    @property
    def columns(self) -> int:
        return max(self.width or 0, NARROWEST)

    def painted(self, text: str, kind: str) -> str:
        """The text in the style of a kind, which is one of a verdict, a level, or ``heading``."""
        if not self.colour:
            return text
        from rich.style import Style

        return Style.parse(_STYLES[kind]).render(text)

    def wrapped(self, text: str, indent: str = "", first: str = "") -> list[str]:
        """The text on as many lines as it takes, no word broken; ``indent`` is before all but the first."""
        if self.width is None:
            return [f"{first}{clean(text)}".rstrip()]
        lines = wrap(
            clean(text),
            self.columns,
            initial_indent=first,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return lines or [first.rstrip()]

    def lined(self, names: Sequence[str]) -> list[str]:
        """Names two blanks apart, on a line of their own where they do not fit any more."""
        lines = [names[0]]
        for name in names[1:]:
            if self.width is None or len(lines[-1]) + 2 + len(name) <= self.columns:
                lines[-1] += f"  {name}"
            else:
                lines.append(f"  {name}")
        return [line.rstrip() for line in lines]

    def table(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """Each row's lines, columns two blanks apart. Columns without room go on below, and sentences are wrapped."""
        cells = [[clean(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        bands = self._bands(widths, cells)
        return [[line for band in bands for line in _band_of(row, band)] for row in cells]

    def _bands(self, widths: Sequence[int], rows: Sequence[Sequence[str]]) -> list[list[tuple[int, int]]]:
        """Column and width of what stands side by side; further bands are set in by two."""
        bands: list[list[tuple[int, int]]] = [[]]
        used = 0
        for i, width in enumerate(widths):
            if self.width is None or used + width <= self.columns:
                bands[-1].append((i, width))
                used += width + 2
                continue
            room = self.columns - used
            longest = max((len(word) for row in rows for word in row[i].split()), default=0)
            if room < max(_SENTENCE, longest):
                bands.append([])
                used, room = 2, self.columns - 2
            bands[-1].append((i, min(width, room)))
            used += min(width, room) + 2
        return bands


def _band_of(row: Sequence[str], band: Sequence[tuple[int, int]]) -> list[str]:
    """The lines of a band in one row; none if it is empty, and is not the first."""
    columns = []
    for i, width in band:
        lines = [row[i]]
        if len(row[i]) > width:
            lines = wrap(row[i], width, break_on_hyphens=False, break_long_words=False)
        columns.append([f"{line:<{width}}" for line in lines])
    margin = "  " if band and band[0][0] else ""
    blanks = [" " * width for _, width in band]
    drawn = [
        margin
        + "  ".join(column[n] if n < len(column) else blank for column, blank in zip(columns, blanks, strict=True))
        for n in range(max(map(len, columns), default=0))
    ]
    return [line.rstrip() for line in drawn if line.strip() or not margin]
