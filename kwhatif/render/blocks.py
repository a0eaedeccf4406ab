"""The elements of a report, independent of its format."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from kwhatif.results.amounts import format_count

NONE = "<none>"
"""What kubectl prints where there is nothing."""


class Heading(msgspec.Struct, frozen=True):
    """Opens a part of a report; stands directly over the block that follows.

    On a page, headings that follow each other and have one ``section`` stand below that in one part.
    """

    text: str
    section: str = ""


class Facts(msgspec.Struct, frozen=True):
    """Labels and values, as ``kubectl describe`` has them; a value without a label is one more of those above."""

    pairs: tuple[tuple[str, str], ...]


class Lines(msgspec.Struct, frozen=True):
    """Sentences, one a line. ``listed``: they are items of a list.

    ``brief`` are those that stand for them without ``--all``.
    """

    texts: tuple[str, ...]
    listed: bool = False
    brief: tuple[str, ...] = ()


class Verdict(msgspec.Struct, frozen=True):
    """The answer in a sentence. It comes first, and is repeated where it has scrolled off the terminal."""

    text: str
    good: bool


_MARKS = {"name", "node", "pod", "same", "first", "drop", "fails", "warns"}


class Column(msgspec.Struct, frozen=True):
    """One column of a table, and all that is known of it.

    header  over it; a ``name`` keeps its case
    node    cells hold names of nodes
    pod     cells hold names that are alike but for what controllers put behind them
    same    where a long table is condensed, only rows with equal cells here may share a row
    first   groups with something in it come before all others
    drop_order  when a terminal without room drops it: 1 goes first, 0 never
    fails   how cells begin that say a failure, as a regular expression; a terminal has them in that colour
    warns   the same of warnings
    """

    header: str
    name: bool = False
    node: bool = False
    pod: bool = False
    same: bool = False
    first: bool = False
    drop_order: int = 0
    fails: str = ""
    warns: str = ""

    def tone_of(self, cell: str) -> str:
        """``fail``, ``warn`` or nothing."""
        tones = (("fail", self.fails), ("warn", self.warns))
        return next((tone for tone, pattern in tones if pattern and re.match(pattern, cell)), "")

    @classmethod
    def read(cls, text: str) -> Column:
        """A column as reports spell it: the header, and in brackets its fields, ``on [node, drop 1]``. Brackets with
        anything else in them are part of the header.
        """
        header, opened, marks = text.removesuffix("]").rpartition(" [")
        given = dict(mark.partition(" ")[::2] for mark in marks.split(", "))
        if not opened or not given.keys() <= _MARKS:
            return cls(text)
        order, fails, warns = int(given.pop("drop", 0)), given.pop("fails", ""), given.pop("warns", "")
        return cls(header, drop_order=order, fails=fails, warns=warns, **dict.fromkeys(given, True))


class Grouping(msgspec.Struct, frozen=True):
    """How a table is condensed that is too long to be read: ``one`` is what a row is about.

    Rows that are alike in the columns that say so share one, the ``whole`` table if none does; else each row stands for
    itself. With ``always`` a short table is condensed, too, as soon as rows are alike. Without ``totals`` no column in
    which rows are alike is ever left out: they are what the table is read for.
    """

    one: str
    always: bool = False
    totals: bool = True
    whole: bool = False


class Table(msgspec.Struct, frozen=True):
    """Columns, and rows with a cell for each. ``more`` says what was left out."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    grouping: Grouping | None = None
    more: str = ""

    @property
    def headers(self) -> tuple[str, ...]:
        return tuple(column.header for column in self.columns)


class Commands(msgspec.Struct, frozen=True):
    """Commands to go on with, one a line. Their lines are never wrapped, so that they can be copied."""

    texts: tuple[str, ...]


class Part(msgspec.Struct, frozen=True):
    """One of several answers of the same kind, which may be left out on a terminal without room; ``urgent``
    ones last.
    """

    blocks: tuple[Block, ...]
    urgent: bool


class Gaps(msgspec.Struct, frozen=True):
    """The fidelity of an answer: ``blocks`` with all gaps, ``brief`` by default."""

    blocks: tuple[Block, ...]
    brief: tuple[Block, ...]


class Patch(msgspec.Struct, frozen=True):
    """Lines of a file, as a unified diff has them. They are never wrapped, so that they can be pasted."""

    texts: tuple[str, ...]


Block = Verdict | Heading | Facts | Lines | Table | Commands | Patch | Part | Gaps


def flatten_blocks(blocks: Iterable[Block]) -> list[Block]:
    """The blocks with those of parts in their places, and with brief gaps."""
    return [
        flatten_block
        for block in inline_gaps(blocks)
        for flatten_block in (flatten_blocks(block.blocks) if isinstance(block, Part) else (block,))
    ]


def inline_gaps(blocks: Iterable[Block], *, whole: bool = False) -> list[Block]:
    """The blocks with the gaps in their places, in full if ``whole``."""
    return [
        shown
        for block in blocks
        for shown in ((block.blocks if whole else block.brief) if isinstance(block, Gaps) else (block,))
    ]


Columns = Iterable[Column | str]


def table(columns: Columns, rows: Iterable[Iterable[object]], grouping: Grouping | None = None) -> Table:
    """A table of these columns, texts as ``Column.read`` has them; rows have a cell for each.

    A header that comes from elsewhere, as a node's name does, is no such text.
    """
    read = tuple(Column.read(column) if isinstance(column, str) else column for column in columns)
    return Table(read, tuple(tuple(map(str, row)) for row in rows), grouping)


def build_table(
    heading: str, columns: Columns, rows: Iterable[Iterable[object]], grouping: Grouping | None = None
) -> list[Block]:
    """A table under its heading, or nothing if it would have no rows."""
    made = table(columns, rows, grouping)
    return [Heading(heading), made] if made.rows else []


def format_part(part: int, whole: int, one: str) -> str:
    """``3 of 4 pods``."""
    return f"{part} of {format_count(whole, one)}"


def join_texts(texts: Iterable[str]) -> str:
    """Comma-separated, or ``<none>``."""
    return ", ".join(texts) or NONE


def put_verdict_first(blocks: Iterable[Block]) -> list[Block]:
    """The verdict first, then the others in their order."""
    return sorted(blocks, key=lambda block: not isinstance(block, Verdict))
