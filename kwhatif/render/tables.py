"""Blocks as text: columns as kubectl prints them, without borders, fitted to the terminal if there is one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec.structs import replace

from kwhatif.render.blocks import (
    Block,
    Commands,
    Facts,
    Gaps,
    Heading,
    Lines,
    Part,
    Patch,
    Table,
    Verdict,
    flatten_blocks,
    inline_gaps,
    put_verdict_first,
)
from kwhatif.render.escape import clean, in_text
from kwhatif.render.grouping import MOST_GROUPS, MOST_ROWS, drop_details, shorten_node_names, shorten_tables
from kwhatif.render.screen import EMPTY_CELLS, SAMPLED_ROWS, Screen

_CELL_PREFIX = 48
"""Characters of a cell for which its column needs room; the rest of longer ones goes on the next line."""

SCREEN_LINES = 24
"""Lines of a screen: on a terminal the verdict of a longer report is repeated at its end."""

MOST_LINES = 60
"""How long a report may get that has tables in groups, as far as fewer groups make it shorter."""

_SHORTER: tuple[tuple[int, int, int | None], ...] = (
    (MOST_ROWS, MOST_GROUPS, None),
    *((MOST_ROWS, MOST_GROUPS, items) for items in (8, 4, 2)),
    *((2 * groups, groups, 2) for groups in (8, 6, 5, 4, 3, 2)),
    *((2, 1, 1), (1, 1, 1)),
)
"""Most rows and most groups of a table, and most items of a list, tried one after the other until the report is short
enough.
"""

PLAIN = Screen()


def text_of(blocks: Iterable[Block], screen: Screen = PLAIN, *, everything: bool = True, wide: bool = False) -> str:
    """The report, ending in a newline; ``everything`` leaves no row out.

    A terminal without room shortens the common parts of node names, and drops some columns, unless ``wide``.
    """
    terminal, parts = screen.width is not None, put_verdict_first(inline_gaps(blocks))
    if terminal and not everything:
        parts = _parts_that_fit(parts, screen)
    whole = flatten_blocks(parts)
    if terminal and wide:
        whole = [_keep_all_columns(block) if isinstance(block, Table) else block for block in whole]
    elif terminal:
        whole = shorten_node_names(whole)
    if everything:
        return in_text("\n".join([*_lines(_with_note_on_dropped_columns(whole, whole, screen), screen), ""]))
    whole = drop_details(whole)
    # Where no table is so long that it is grouped, wrapped lines may still make a report too long for a terminal.
    ways = _SHORTER if terminal or shorten_tables(whole) != whole else _SHORTER[:1]
    for rows, groups, items in ways:
        shown = shorten_tables(whole, rows, groups, items if terminal else None)
        lines = _lines(_with_note_on_dropped_columns(whole, shown, screen), screen)
        if len(lines) <= MOST_LINES:
            break
    return in_text("\n".join([*lines, ""]))


def _parts_that_fit(blocks: Sequence[Block], screen: Screen) -> list[Block]:
    """The report with as many of its parts as a screenful holds, one at least, in their order."""
    parts = {i: block for i, block in enumerate(blocks) if isinstance(block, Part)}
    heights = {i: len(_lines(shorten_tables(part.blocks), screen)) + 1 for i, part in parts.items()}
    if len(heights) < 2:
        return list(blocks)
    others = _lines(drop_details([block for block in blocks if not isinstance(block, Part)]), screen)
    repeated = [] if len(others) > SCREEN_LINES else _repeat_verdict(blocks, screen)
    room = MOST_LINES - len(others) - len(repeated) - 2
    kept: set[int] = set()
    for i in sorted(heights, key=lambda i: not parts[i].urgent):
        if kept and heights[i] > room:
            break
        kept.add(i)
        room -= heights[i]
    if len(kept) == len(heights):
        return list(blocks)
    last = max(heights)
    left = len(heights) - len(kept)
    more = Lines((f"{left} more {'is' if left == 1 else 'are'} explained with --all.",))
    shown = [block for i, block in enumerate(blocks[: last + 1]) if i not in heights or i in kept]
    return [*shown, more, *blocks[last + 1 :]]


def _lines(blocks: Sequence[Block], screen: Screen) -> list[str]:
    """Blocks are set apart by empty lines, but not from their headings."""
    lines: list[str] = []
    under_heading = True
    for block in blocks:
        if not under_heading:
            lines.append("")
        lines += _render_block(block, screen)
        under_heading = isinstance(block, Heading)
    if screen.width is not None and len(lines) > SCREEN_LINES:
        lines += _repeat_verdict(blocks, screen)
    return lines


def _repeat_verdict(blocks: Sequence[Block], screen: Screen) -> list[str]:
    """The end of a report that is longer than a screen."""
    return [line for block in blocks if isinstance(block, Verdict) for line in ("", *_render_block(block, screen))]


def _render_block(block: Block, screen: Screen) -> list[str]:
    match block:
        case Verdict(text, good):
            return [screen.paint(line, "pass" if good else "fail") for line in screen.wrap(text)]
        case Heading(text=text):
            return [screen.paint(line, "heading") for line in screen.wrap(text)]
        case Facts(pairs):
            cleaned = [(clean(label), value) for label, value in pairs]
            width = max(len(label) for label, _ in cleaned) + 2
            return [
                line
                for label, value in cleaned
                for line in screen.wrap(value, " " * (width + 1), f"{label and label + ':':<{width}} ")
            ]
        case Lines(texts):
            return [line for text in texts for line in screen.wrap(text, "  ")]
        case Commands(texts) | Patch(texts):
            return [clean(text) for text in texts]
        case Table():
            return _table(block, screen)
        case Part(blocks) | Gaps(blocks):
            return _lines(blocks, screen)


def _table(table: Table, screen: Screen) -> list[str]:
    """Headers in capitals, but for those that are names."""
    table = table if screen.width is None else _fitting(table, screen)
    head, rows = _lay_out(table, screen)
    return [
        *(screen.paint(line, "heading") for line in head),
        *rows,
        *(screen.wrap(table.more) if table.more else ()),
    ]


def _lay_out(table: Table, screen: Screen) -> tuple[list[str], list[str]]:
    """The lines of the header, and those of the rows."""
    heads = [column.header if column.name else column.header.upper() for column in table.columns]
    folded = (
        _fold_headers(heads)
        if screen.width is not None and _width([heads, *table.rows]) > screen.characters
        else [heads]
    )
    plain = [""] * len(table.columns)
    tones = [[column.tone_of(cell) for column, cell in zip(table.columns, row, strict=True)] for row in table.rows]
    head, *rows = screen.table([*folded, *table.rows], [*[plain] * len(folded), *tones], len(folded))
    return head, list(chain.from_iterable(rows))


def _with_note_on_dropped_columns(whole: Sequence[Block], shown: Sequence[Block], screen: Screen) -> list[Block]:
    """What is shown of the blocks, and in a sentence the columns that tell something and are not among it."""
    if screen.width is None:
        return list(shown)
    left: dict[str, None] = {}
    for table, brief in zip(whole, shown, strict=True):
        if isinstance(table, Table) and isinstance(brief, Table):
            headers = _fitting(brief, screen).headers
            headers_with_content = (
                column.header for i, column in enumerate(table.columns) if not i or _has_content(table, i)
            )
            left |= dict.fromkeys(header for header in headers_with_content if header not in headers)
    if not left:
        return list(shown)
    text = f"Columns without room: {', '.join(left)}; --all -o wide shows them."
    *others, last = shown
    if isinstance(last, Lines):  # with what nearly every report ends in
        return [*others, replace(last, texts=(*last.texts, text))]
    return [*shown, Lines((text,))]


def _fitting(table: Table, screen: Screen) -> Table:
    """The table without empty columns, and without as many that may be dropped as leaves the others room: for folded
    headers, and for the first ``_CELL_PREFIX`` characters of each cell. So a wider terminal never shows less.
    """
    table = _select_columns(table, [i for i in range(len(table.columns)) if not i or _has_content(table, i)])
    for gone in sorted((column for column in table.columns if column.drop_order), key=lambda column: column.drop_order):
        rows = [
            [cell[:_CELL_PREFIX] for cell in row] for row in (*_fold_headers(table.headers), *table.rows[:SAMPLED_ROWS])
        ]
        if _width(rows) <= screen.characters:
            break
        table = _select_columns(table, [i for i, column in enumerate(table.columns) if column is not gone])
    return table


def _has_content(table: Table, column: int) -> bool:
    """Whether any cell is not empty."""
    return any(row[column] not in EMPTY_CELLS for row in table.rows)


def _select_columns(table: Table, columns: Sequence[int]) -> Table:
    """These columns of a table."""
    return replace(
        table,
        columns=tuple(table.columns[i] for i in columns),
        rows=tuple(tuple(row[i] for i in columns) for row in table.rows),
    )


def _keep_all_columns(table: Table) -> Table:
    return replace(table, columns=tuple(replace(column, drop_order=0) for column in table.columns))


def _width(rows: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True)) - 2


def _fold_headers(heads: Sequence[str]) -> list[list[str]]:
    """Names of plugins, which are made of several words, on as many lines, the last on that of all other headers."""
    parts = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", head).split() if head.isalpha() else [head] for head in heads]
    deepest = max(map(len, parts))
    padded = [[*[""] * (deepest - len(part)), *part] for part in parts]
    return [list(line) for line in zip(*padded, strict=True)]
