"""Blocks as plain text: columns as kubectl prints them, without borders, whatever the width of the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.report.blocks import Block, Facts, Heading, Lines, Table
from kwhatif.report.escape import clean, in_text


def columns(headers: Sequence[str], rows: Sequence[Sequence[str]], names_from: int | None = None) -> str:
    """A table: headers in capitals (those from ``names_from`` on are names and stay as they are), two spaces apart."""
    from tabulate import tabulate

    capitals = len(headers) if names_from is None else names_from
    heads = [clean(head if place >= capitals else head.upper()) for place, head in enumerate(headers)]
    cells = [heads, *([clean(cell) for cell in row] for row in rows)]
    # Headers go in as a row: as headers they would be set further apart.
    drawn = tabulate(cells, tablefmt="plain", disable_numparse=True, stralign="left", numalign="left")
    return "\n".join(line.rstrip() for line in drawn.split("\n"))


def text_of(blocks: Iterable[Block]) -> str:
    """The report, ending in a newline. Blocks are set apart by empty lines, but not from their headings."""
    parts: list[str] = []
    under_heading = True
    for block in blocks:
        if not under_heading:
            parts.append("")
        parts.append(_drawn(block))
        under_heading = isinstance(block, Heading)
    return in_text("\n".join([*parts, ""]))


def _drawn(block: Block) -> str:
    match block:
        case Heading(text):
            return clean(text)
        case Facts(pairs):
            width = max(len(label) for label, _ in pairs) + 2
            return "\n".join(f"{label + ':':<{width}} {clean(value)}".rstrip() for label, value in pairs)
        case Lines(texts):
            return "\n".join(map(clean, texts))
        case Table(headers, rows, names_from):
            return columns(headers, rows, names_from)
