"""The elements of a report, independent of its format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kwhatif.results.amounts import format_count

NONE = "<none>"
"""What kubectl prints where there is nothing."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Opens a part of a report; stands directly over the block that follows.

    On a page, headings that follow each other and have one ``section`` stand below that in one part.
    """

    text: str
    section: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels and values, as ``kubectl describe`` has them."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences, one a line. ``listed``: they are items of a list.

    ``brief`` are those that stand for them without ``--all``.
    """

    texts: tuple[str, ...]
    listed: bool = False
    brief: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in a sentence. It comes first, and is repeated where it has scrolled off the terminal."""

    text: str
    good: bool


@dataclass(frozen=True, slots=True)
class Grouping:
    """How a table is condensed that is too long to be read: ``one`` is what a row is about.

    Rows that are alike in the columns ``alike`` share one, or each stands for itself where that is None; the columns
    ``pods`` hold names, alike but for what controllers put behind them. Groups with something in the column ``first``
    come before all others. With ``always`` a short
    table is condensed, too, as soon as rows are alike. Without ``totals`` no column of ``alike`` is ever left out:
    they are what the table is read for.
    """

    one: str
    alike: tuple[int, ...] | None = None
    pods: tuple[int, ...] = ()
    first: int | None = None
    always: bool = False
    totals: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Columns with a header each; rows are as long as the headers. Names among the headers keep their case.

    ``nodes`` are the columns with names of nodes, ``spare`` those that a terminal without room does without, one after
    the other. ``more`` says what was left out.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names_from: int | None = None
    grouping: Grouping | None = None
    nodes: tuple[int, ...] = ()
    spare: tuple[int, ...] = ()
    more: str = ""


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands to go on with, one a line. Their lines are never wrapped, so that they can be copied."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One of several answers of the same kind, which may be left out on a terminal without room; ``urgent``
    ones last.
    """

    blocks: tuple[Block, ...]
    urgent: bool


@dataclass(frozen=True, slots=True)
class Gaps:
    """The fidelity of an answer: ``blocks`` with all gaps, ``brief`` by default."""

    blocks: tuple[Block, ...]
    brief: tuple[Block, ...]


Block = Verdict | Heading | Facts | Lines | Table | Commands | Part | Gaps


def flatten_blocks(blocks: Iterable[Block]) -> list[Block]:
    """The blocks with those of parts in their places, and with brief gaps."""
    return [
        each
        for block in inline_gaps(blocks)
        for each in (flatten_blocks(block.blocks) if isinstance(block, Part) else (block,))
    ]


def inline_gaps(blocks: Iterable[Block], *, whole: bool = False) -> list[Block]:
    """The blocks with the gaps in their places, in full if ``whole``."""
    return [
        each
        for block in blocks
        for each in ((block.blocks if whole else block.brief) if isinstance(block, Gaps) else (block,))
    ]


def build_table(
    heading: str,
    headers: Sequence[str],
    rows: Iterable[Iterable[object]],
    names_from: int | None = None,
    grouping: Grouping | None = None,
    nodes: tuple[int, ...] = (),
    spare: tuple[int, ...] = (),
) -> list[Block]:
    """A table under its heading, or nothing if it would have no rows."""
    cells = tuple(tuple(map(str, row)) for row in rows)
    return [Heading(heading), Table(tuple(headers), cells, names_from, grouping, nodes, spare)] if cells else []


def format_part(part: int, whole: int, one: str) -> str:
    """``3 of 4 pods``."""
    return f"{part} of {format_count(whole, one)}"


def join_texts(texts: Iterable[str]) -> str:
    """Comma-separated, or ``<none>``."""
    return ", ".join(texts) or NONE


def put_verdict_first(blocks: Iterable[Block]) -> list[Block]:
    """The verdict first, then the others in their order."""
    return sorted(blocks, key=lambda block: not isinstance(block, Verdict))
