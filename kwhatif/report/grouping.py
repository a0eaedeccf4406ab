"""Long tables, told in groups: how many rows are alike, what they have in common, and how far the rest ranges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kwhatif.report.blocks import Block, Grouping, Lines, Table
from kwhatif.results.amounts import counted, some

MOST_ROWS = 19
"""A table with more rows than these is told in groups; one whose rows stand for themselves is cut at twice as many."""

MOST_GROUPS = 12

_WORTH_IT = 3
"""Rows that are left out at least: to say so takes two lines."""

# What controllers put behind a name: an ordinal, or five random characters, before them the hash of a template. They
# draw from an alphabet without vowels, so that they make no words.
_GENERATED = re.compile(r"(-[bcdfghjklmnpqrstvwxz2456789]{8,10})?(-copy)?-(r?\d+|[bcdfghjklmnpqrstvwxz2456789]{5})$")
_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?)(m|[KMGTPE]i|)(/\d+)?")
_AMOUNT_IN_TEXT = re.compile(r"(?<![\w.=/:-])\d+(?:\.\d+)?(?:m|[KMGTPE]i)?(?![\w=/:-]|\.\d)")


def brief(blocks: Sequence[Block]) -> list[Block]:
    """The report without what only those want to know who ask for everything."""
    return [
        replace(block, texts=block.brief, brief=()) if isinstance(block, Lines) and block.brief else block
        for block in blocks
    ]


def shortened(
    blocks: Sequence[Block], most_rows: int = MOST_ROWS, most_groups: int = MOST_GROUPS, most_items: int | None = None
) -> list[Block]:
    """The report with its long tables in groups, of each no more than the largest ``most_groups``.

    ``most_items`` is how much of a list is told, if not all of it.
    """
    told: list[Block] = []
    for block in brief(blocks):
        if isinstance(block, Lines) and block.listed and most_items and len(block.texts) > most_items + 1:
            more = f"  and {len(block.texts) - most_items} more"
            told.append(replace(block, texts=(*block.texts[:most_items], more)))
        elif not isinstance(block, Table) or block.grouping is None:
            told.append(block)
        elif block.grouping.alike is None and len(block.rows) >= 2 * most_rows + _WORTH_IT:
            told.append(_cut(block, block.grouping, 2 * most_rows))
        elif block.grouping.alike is not None and len(block.rows) > most_rows:
            told.append(_in_groups(block, block.grouping, block.grouping.alike, most_groups))
        else:
            told.append(block)
    return told


def _cut(table: Table, grouping: Grouping, most: int) -> Table:
    more = counted(len(table.rows) - most, f"more {grouping.one}")
    return replace(table, rows=table.rows[:most], more=f"{more}; {grouping.shown_by} shows every row")


def _in_groups(table: Table, grouping: Grouping, alike: Sequence[int], most: int) -> Table:
    by_key: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in table.rows:
        by_key.setdefault(tuple(_key(row[i], i in grouping.pods) for i in alike), []).append(row)
    first = grouping.first
    if len(by_key) < most + _WORTH_IT:
        most = len(by_key)
    groups = sorted(by_key.values(), key=lambda rows: (first is not None and not rows[0][first], -len(rows)))
    if len(groups) == len(table.rows):
        alone = replace(table, rows=tuple(row for (row,) in groups))
        return _cut(alone, grouping, most) if most < len(groups) else alone
    rows = tuple(
        (str(len(group)), *(_common(group, i, i in grouping.pods) for i in range(len(table.headers))))
        for group in groups[:most]
    )
    left = groups[most:]
    more = counted(sum(map(len, left)), f"more {grouping.one}")
    said = f"{more} in {counted(len(left), 'group')}; " if left else ""
    return Table(
        (f"{grouping.one}s", *table.headers),
        rows,
        nodes=tuple(i + 1 for i in table.nodes),
        spare=tuple(i + 1 for i in table.spare),
        more=f"{said}{grouping.shown_by} shows every row",
    )


def _key(cell: str, pod: bool) -> str:
    return _GENERATED.sub("", cell) if pod else cell


def _common(rows: Sequence[Sequence[str]], column: int, pod: bool) -> str:
    """One cell for all: what they agree on, from the least to the most, or the first and how many others there are."""
    cells = list(dict.fromkeys(row[column] for row in rows))
    if len(cells) == 1:
        return cells[0]
    if pod:
        keys = ((_key(cell, True), cell) for cell in cells)
        return some(list(dict.fromkeys(cell if key == cell else f"{key}-*" for key, cell in keys)), 1)
    return _span([cell for cell in cells if cell != "-"]) or some(cells, 1)


def _span(amounts: Sequence[str]) -> str:
    """``100m to 2``, or nothing if some are no amounts."""
    found = [match for match in map(_AMOUNT.fullmatch, amounts) if match]
    if not found or len(found) < len(amounts):
        return ""
    sized = sorted((_size(match[1], match[2]), match[0]) for match in found)
    least, most = sized[0][1], sized[-1][1]
    return least if least == most else f"{least} to {most}"


def skeleton(text: str) -> str:
    """What a sentence says, whatever its amounts."""
    return _AMOUNT_IN_TEXT.sub("0", text)


def ranged(texts: Sequence[str]) -> str:
    """What sentences say that differ in amounts alone, these from the least to the most; else nothing."""
    first, *rest = dict.fromkeys(texts)
    if any(skeleton(other) != skeleton(first) for other in rest):
        return ""
    columns = zip(*map(_AMOUNT_IN_TEXT.findall, (first, *rest)), strict=True)
    spans = iter([_span(column) for column in columns])
    return _AMOUNT_IN_TEXT.sub(lambda _: next(spans), first)


def _size(number: str, unit: str) -> float:
    return float(number) / 1000 if unit == "m" else float(number) * float(1024 ** _UNITS.index(unit))
