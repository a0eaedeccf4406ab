"""Long tables, condensed to groups of similar rows with their common values and ranges; and node names with common
prefixes and suffixes shortened.

Where hardly any rows are equal in all compared columns, fewer columns are compared, so that the shown groups cover most
rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile

from msgspec.structs import replace

from kwhatif.render.blocks import Block, Column, Grouping, Lines, Table
from kwhatif.results.amounts import format_count, format_some

MOST_ROWS = 19
"""A table with more rows than these is condensed; one whose rows stand for themselves is cut at twice as many."""

MOST_GROUPS = 12

_MIN_OMITTED_ROWS = 3
"""Rows that are left out at least: to say so takes two lines."""

Row = tuple[str, ...]

# What controllers put behind a name: an ordinal, or five random characters, before them the hash of a template. They
# draw from an alphabet without vowels, so that they make no words.
_GENERATED = re.compile(r"(-[bcdfghjklmnpqrstvwxz2456789]{8,10})?(-copy)?-(r?\d+|[bcdfghjklmnpqrstvwxz2456789]{5})$")
_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?)(m|[KMGTPE]i|)(/\d+)?")
_AMOUNT_IN_TEXT = re.compile(r"(?<![\w.=/:-])\d+(?:\.\d+)?(?:m|[KMGTPE]i)?(?![\w=/:-]|\.\d)")


def drop_details(blocks: Sequence[Block]) -> list[Block]:
    """The report without what only ``--all`` shows."""
    return [
        replace(block, texts=block.brief, brief=()) if isinstance(block, Lines) and block.brief else block
        for block in blocks
    ]


def shorten_tables(
    blocks: Sequence[Block], most_rows: int = MOST_ROWS, most_groups: int = MOST_GROUPS, most_items: int | None = None
) -> list[Block]:
    """The report with its long tables in groups, of each no more than the largest ``most_groups``.

    ``most_items`` is how much of a list is shown, if not all of it.
    """
    parts: list[Block] = []
    for block in drop_details(blocks):
        if isinstance(block, Lines) and block.listed and most_items and len(block.texts) > most_items + 1:
            more = f"  and {len(block.texts) - most_items} more"
            parts.append(replace(block, texts=(*block.texts[:most_items], more)))
        elif not isinstance(block, Table) or block.grouping is None:
            parts.append(block)
        elif not block.grouping.whole and not any(column.same for column in block.columns):
            few = len(block.rows) < 2 * most_rows + _MIN_OMITTED_ROWS
            parts.append(block if few else _cut(block, block.grouping, 2 * most_rows))
        elif len(block.rows) > most_rows or block.grouping.always:
            parts.append(_in_groups(block, block.grouping, most_groups))
        else:
            parts.append(block)
    return parts


def _cut(table: Table, grouping: Grouping, most: int) -> Table:
    more = format_count(len(table.rows) - most, f"more {grouping.one}")
    return replace(table, rows=table.rows[:most], more=f"{more}; --all shows every row")


def _in_groups(table: Table, grouping: Grouping, most: int) -> Table:
    groups = _choose_groups(table, grouping, most)
    if len(groups) < most + _MIN_OMITTED_ROWS:
        most = len(groups)
    if len(groups) == len(table.rows):
        alone = replace(table, rows=tuple(row for (row,) in groups))
        return _cut(alone, grouping, most) if most < len(groups) else alone
    rows = tuple(
        (str(len(group)), *(_common(group, i, column.pod) for i, column in enumerate(table.columns)))
        for group in groups[:most]
    )
    left = groups[most:]
    more = format_count(sum(map(len, left)), f"more {grouping.one}")
    said = f"{more} in {format_count(len(left), 'group')}; " if left else ""
    columns = (replace(column, name=False) for column in table.columns)
    return Table((Column(f"{grouping.one}s"), *columns), rows, more=f"{said}--all shows every row")


def _choose_groups(table: Table, grouping: Grouping, most: int) -> list[list[Row]]:
    """Rows that are equal in all the columns that make them alike, or in fewer where the groups shown would cover
    little otherwise.

    The column with the most distinct values is dropped first. A single group of all rows is never chosen, and where
    there is room for one row alone, it is that of the rows most alike: a total's cells are longer.
    """
    alike = [i for i, column in enumerate(table.columns) if column.same]
    columns = sorted(alike, key=lambda column: len(_group_rows(table, [column])))
    groups = finest = _group_rows(table, alike)
    while most > 1 and grouping.totals and len(columns) > 1 and _tell_little(groups, most):
        columns.pop()
        groups = _group_rows(table, columns)
    return finest if len(groups) == 1 or _tell_little(groups, most) else groups


def _group_rows(table: Table, columns: Sequence[int]) -> list[list[Row]]:
    """Rows that are alike in these columns, those groups first that come first, then the largest."""
    by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in table.rows:
        by_key.setdefault(tuple(_key(row[i], table.columns[i].pod) for i in columns), []).append(row)
    first = next((i for i, column in enumerate(table.columns) if column.first), None)
    return sorted(by_key.values(), key=lambda rows: (first is not None and not rows[0][first], -len(rows)))


def _tell_little(groups: Sequence[Sequence[Row]], most: int) -> bool:
    """Whether some groups are not shown, and those that are hold one row each or less than a third of all rows."""
    shown = sum(map(len, groups[:most]))
    hidden = sum(map(len, groups[most:]))
    return len(groups) >= most + _MIN_OMITTED_ROWS and (shown == most or 2 * shown < hidden)


def _key(cell: str, pod: bool) -> str:
    return _GENERATED.sub("", cell) if pod else cell


def _common(rows: Sequence[Sequence[str]], column: int, pod: bool) -> str:
    """One cell for all rows: the common value, the range, or the first value and how many others there are."""
    cells = list(dict.fromkeys(row[column] for row in rows))
    if len(cells) == 1:
        return cells[0]
    if pod:
        keys = ((_key(cell, True), cell) for cell in cells)
        return format_some(list(dict.fromkeys(cell if key == cell else f"{key}-*" for key, cell in keys)), 1)
    return _span([cell for cell in cells if cell != "-"]) or format_some(cells, 1)


def _span(amounts: Sequence[str]) -> str:
    """``100m to 2``, or nothing if some are no amounts."""
    matches = [match for match in map(_AMOUNT.fullmatch, amounts) if match]
    if not matches or len(matches) < len(amounts):
        return ""
    sized = sorted((_size(match[1], match[2]), match[0]) for match in matches)
    least, most = sized[0][1], sized[-1][1]
    return least if least == most else f"{least} to {most}"


def skeleton(text: str) -> str:
    """A sentence without its amounts, for comparison."""
    return _AMOUNT_IN_TEXT.sub("0", text)


def format_range(texts: Sequence[str]) -> str:
    """Sentences that differ in amounts alone as one, with ranges; otherwise an empty text."""
    first, *rest = dict.fromkeys(texts)
    if any(skeleton(other) != skeleton(first) for other in rest):
        return ""
    columns = zip(*map(_AMOUNT_IN_TEXT.findall, (first, *rest)), strict=True)
    spans = iter([_span(column) for column in columns])
    return _AMOUNT_IN_TEXT.sub(lambda _: next(spans), first)


def _size(number: str, unit: str) -> float:
    return float(number) / 1000 if unit == "m" else float(number) * float(1024 ** _UNITS.index(unit))


_MIN_COMMON_CHARS = 8
"""Characters that a common ending has at least."""

_LONG_BEGINNING = 12
"""The same of a common beginning, without which names are harder to tell."""

_NO_NAMES = ("", "-", "nowhere")
"""The content of a cell without a node."""

_SEVERAL = re.compile(r"(→ |\d+ nodes: )?(.*?)( and \d+ more)?")


def format_names(names: Sequence[str]) -> str:
    """``worker-1``, or ``5 nodes: worker-1, worker-2, worker-3 and 2 more``."""
    return names[0] if len(names) == 1 else f"{format_count(len(names), 'node')}: {format_some(names)}"


def shorten_node_names(blocks: Sequence[Block]) -> list[Block]:
    """The report with ``ip-10-0-1-2…`` for ``ip-10-0-1-2.eu-west-1.compute.internal``, where all names end so."""
    names = {
        name
        for block in blocks
        if isinstance(block, Table)
        for row in block.rows
        for cell, column in zip(row, block.columns, strict=True)
        if column.node
        for name in _names(cell)[1]
    }
    beginning, ending = common_parts(names)
    if not beginning and not ending:
        return list(blocks)

    def short(name: str) -> str:
        if name not in names:
            return name
        tail = "…" if ending else ""
        return f"{'…' if beginning else ''}{name.removeprefix(beginning).removesuffix(ending)}{tail}"

    shortened = [
        replace(block, rows=tuple(_without(row, block.columns, short) for row in block.rows))
        if isinstance(block, Table)
        else block
        for block in blocks
    ]
    said = [f"begin with … begin with {beginning}"] if beginning else []
    said += [f"end in … end in {ending}"] if ending else []
    return [*shortened, Lines((f"Names of nodes that {', those that '.join(said)}.",))]


def common_parts(names: set[str], least: int = _LONG_BEGINNING) -> tuple[str, str]:
    """What all names of nodes begin with and what they end in, each empty where that is too little to leave out:
    less than ``least`` characters of a beginning.
    """
    return _beginning(names, least), _ending(names)


def _names(cell: str) -> tuple[str, list[str], str]:
    """The common prefix of node names, the names, and the common suffix."""
    before, names, behind = _SEVERAL.fullmatch(cell.replace("\n", " ")).groups("")  # type: ignore[union-attr]
    own = [name for name in names.split(", ") if name not in _NO_NAMES and not re.search(r"[\s<>*]", name)]
    return before, own, behind


def _ending(names: set[str]) -> str:
    domains = {name[name.index(".") :] if "." in name else "" for name in names}
    ending = domains.pop() if len(domains) == 1 and len(names) > 1 else ""
    return ending if len(ending) >= _MIN_COMMON_CHARS else ""


def _beginning(names: set[str], least: int) -> str:
    """The common prefix in whole parts of a name, which leaves something of each."""
    common = ""
    if len(names) > 1:
        alike = takewhile(lambda letters: letters[0] == letters[1], zip(min(names), max(names), strict=False))
        common = "".join(letter for letter, _ in alike)
    beginning = common[: common.rfind("-") + 1]
    return beginning if len(beginning) >= least and "." not in beginning else ""


def _without(row: Row, columns: Sequence[Column], short: Callable[[str], str]) -> Row:
    cells = zip(row, columns, strict=True)
    return tuple(_shorten_cell(cell, short) if column.node else cell for cell, column in cells)


def _shorten_cell(cell: str, short: Callable[[str], str]) -> str:
    before, names, behind = _names(cell)
    return f"{before}{', '.join(map(short, names))}{behind}" if names else cell
