"""Blocks as Markdown, for a pull request or a wiki. No name can break out of its cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kwhatif.report.blocks import Block, Commands, Facts, Heading, Lines, Part, Table, Verdict
from kwhatif.report.escape import clean, in_markup, is_command

_SPECIAL = re.compile(r"([\\`*_\[\]|~#!$])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# What the places where Markdown is read turn into links by themselves, so that people are called (@name) and issues
# are mentioned (#1, GH-1): no escape keeps them from that, but a space without width between does.
_LINKS = re.compile(r"@|#|:(?=//)|www(?=\.)|\bGH(?=-\d)|:(?=(?:(?![a-z_+])[\w+-])*+[a-z_+][\w+-]*+:)", re.IGNORECASE)
_APART = "&#8203;"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line, and that links to nothing and calls nobody."""
    return _LINKS.sub(rf"\g<0>{_APART}", _SPECIAL.sub(r"\\\1", clean(text).translate(_ENTITIES)))


def code(text: str) -> str:
    """A name in code, where nothing in it means anything; one that code cannot hold in a table, as escaped text."""
    shown = clean(text)
    plain = shown.strip() and not set(shown) & set("`|\\<") and not is_command(shown)
    return f"`{shown}`" if plain else escaped(shown)


def markdown_of(blocks: Iterable[Block]) -> str:
    """The report as GitHub-flavoured Markdown, ending in a newline."""
    return in_markup("\n\n".join(map(_drawn, blocks))) + "\n"


def _drawn(block: Block) -> str:
    match block:
        case Verdict(text):
            return escaped(text)
        case Heading(text):
            return f"### {escaped(text)}"
        case Facts(pairs):
            return "\n".join(f"- **{label}:** {escaped(value)}" for label, value in pairs)
        case Lines(texts, listed):
            if listed:
                return "\n".join(f"- {escaped(text.strip())}" for text in texts)
            return "  \n".join(map(escaped, texts))
        case Commands(texts):
            return "\n".join(f"- {code(text)}" for text in texts)
        case Table(headers, rows, names_from, more=more):
            capitals = len(headers) if names_from is None else names_from
            heads = [head if place >= capitals else head[:1].upper() + head[1:] for place, head in enumerate(headers)]
            drawn = drawn_table([*map(escaped, heads)], [[*map(escaped, row)] for row in rows])
            return f"{drawn}\n\n{escaped(more)}" if more else drawn
        case Part(blocks):
            return "\n\n".join(map(_drawn, blocks))


def drawn_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown, without blanks to line them up: some hold whole sentences."""
    from tabulate import DataRow, TableFormat, tabulate

    row = DataRow("| ", " | ", " |")
    tight = TableFormat(None, lambda widths, _: f"|{' --- |' * len(widths)}", None, None, row, row, 0, None)
    return tabulate(rows, headers, tablefmt=tight, disable_numparse=True, stralign=None)
