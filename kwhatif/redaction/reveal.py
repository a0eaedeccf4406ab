"""Replaces pseudonyms in any text by the names they stand for.

A pseudonym looks like nothing else in an answer (``w4711``, ``node-2501``), so any text will do. The columns of tables
are aligned again, as names are longer or shorter than their pseudonyms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any

from kwhatif.redaction.pseudonyms import NOT_VALID, address_of, uid_of
from kwhatif.redaction.translation import Translation

# In JSON, what stands before a name may be the end of an escape such as \n.
_START = r"(?:(?<![^\W_])|(?<=\\[nrt]))"
_PSEUDONYM = re.compile(
    _START
    + r"(?:(?P<node>node-[0-9]{4,})|(?P<pool>pool-[0-9]{4,})"
    + r"|(?P<uid>[0-9]{8}-0000-8000-8000-[0-9]{12})|(?P<address>198\.[0-9.]+[0-9])"
    + rf"|(?P<number>[0-9]{{0,3}})(?P<word>[a-z]{{1,2}}[0-9]{{3,}})){NOT_VALID}?(?![^\W_])"
)
_MOST_TITLES = 3


def reveal(text: str, translation: Translation, *, shown: Callable[[str], str] = str) -> str:
    """The text with names in place of pseudonyms; ``shown`` is how a name is written. JSON stays JSON."""
    if text.lstrip().startswith(("{", "[")):
        return _revealer(translation, lambda name: json.dumps(name)[1:-1])(text)
    put_back = _revealer(translation, shown)
    blocks = (list(lines) for _, lines in groupby(text.splitlines(True), key=str.isspace))
    return "".join(_block(lines, put_back) for lines in blocks)


def _revealer(translation: Translation, shown: Callable[[str], str] = str) -> Callable[[str], str]:
    """Replaces pseudonyms and leaves all else, spaces too, as it is."""
    words = _invert(translation.words.codes) | _invert(translation.resources.codes)
    nodes, pools = _invert(translation.nodes.codes), _invert(translation.pools.codes)
    uids = {uid_of(number): uid for uid, number in translation.uids.numbers.items()}
    addresses = {address_of(number): address for address, number in translation.addresses.numbers.items()}

    def name(match: re.Match[str]) -> str:
        match match.lastgroup:
            case "node":
                real = nodes.get(match["node"])
            case "pool":
                real = pools.get(match["pool"])
            case "uid":
                real = uids.get(match["uid"])
            case "address":
                real = addresses.get(match["address"])
            case _:
                word = words.get(match["word"])
                real = None if word is None else match["number"] + word
        return match[0] if real is None else shown(real)

    return lambda text: _PSEUDONYM.sub(name, text)


def _invert(codes: dict[str, str]) -> dict[str, str]:
    return {code: word for word, code in codes.items()}


def reveal_value(value: Any, translation: Translation) -> Any:
    """The same for a value: names in its texts and in the keys of its maps."""
    return _reveal_strings(value, _revealer(translation))


def _reveal_strings(value: Any, put_back: Callable[[str], str]) -> Any:
    match value:
        case str():
            return put_back(value)
        case dict():
            return {put_back(key): _reveal_strings(one, put_back) for key, one in value.items()}
        case list() | tuple():
            return [_reveal_strings(one, put_back) for one in value]
    return value


# --- tables


def _block(lines: list[str], put_back: Callable[[str], str]) -> str:
    """Lines between two empty ones, whose columns stay aligned."""
    # Lines over a table, such as what it is called, are in no column.
    above = max(range(min(len(lines), _MOST_TITLES + 1)), key=lambda number: len(_columns(lines[number:])))
    title, lines = "".join(map(put_back, lines[:above])), lines[above:]
    starts = _columns(lines)
    cells = [[line[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)] for line in lines]
    rows = [[put_back(cell) for cell in row] for row in cells]
    for column, (start, end) in enumerate(pairwise(starts)):
        gap = end - start - _width(cells, column)
        width = _width(rows, column) + gap
        for row in rows:
            if any(cell.strip() for cell in row[column + 1 :]):
                row[column] = row[column].rstrip(" ").ljust(width)
    return title + "".join("".join(row) for row in rows)


def _columns(lines: list[str]) -> list[int]:
    """Where columns begin: two spaces in every line, and then something in the first."""
    first = lines[0].rstrip()
    return [0] + [
        place
        for place in range(3, len(first))
        if first[place] != " " and not any(line[place - 2 : place].strip(" \n") for line in lines)
    ]


def _width(rows: list[list[str]], column: int) -> int:
    return max(len(row[column].rstrip()) for row in rows)
