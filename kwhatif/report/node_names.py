"""Names of nodes on a terminal, without the beginning and the ending that all of them have, which are told once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from kwhatif.report.blocks import Block, Lines, Table
from kwhatif.results.amounts import counted, some

_WORTH_IT = 8
"""Characters that a common ending has at least."""

_LONG_BEGINNING = 12
"""The same of a common beginning, without which names are harder to tell."""

_NO_NAMES = ("", "-", "nowhere")
"""What stands in a cell where there is no node."""

_SEVERAL = re.compile(r"(\d+ nodes: )?(.*?)( and \d+ more)?")


def several(names: Sequence[str]) -> str:
    """``worker-1``, or ``5 nodes: worker-1, worker-2, worker-3 and 2 more``."""
    return names[0] if len(names) == 1 else f"{counted(len(names), 'node')}: {some(names)}"


def endings(blocks: Sequence[Block]) -> list[Block]:
    """The report with ``ip-10-0-1-2…`` for ``ip-10-0-1-2.eu-west-1.compute.internal``, where all names end so."""
    names = {
        name
        for block in blocks
        if isinstance(block, Table)
        for row in block.rows
        for i in block.nodes
        for name in _names(row[i])[1]
    }
    beginning, ending = _beginning(names), _ending(names)
    if not beginning and not ending:
        return list(blocks)

    def short(name: str) -> str:
        if name not in names:
            return name
        tail = "…" if ending else ""
        return f"{'…' if beginning else ''}{name.removeprefix(beginning).removesuffix(ending)}{tail}"

    told = [
        replace(block, rows=tuple(_without(row, block.nodes, short) for row in block.rows))
        if isinstance(block, Table)
        else block
        for block in blocks
    ]
    said = [f"begin with … begin with {beginning}"] if beginning else []
    said += [f"end in … end in {ending}"] if ending else []
    return [*told, Lines((f"Names of nodes that {', those that '.join(said)}.",))]


def _names(cell: str) -> tuple[str, list[str], str]:
    """What stands before names of nodes, these, and what stands behind them."""
    before, names, behind = _SEVERAL.fullmatch(cell.replace("\n", " ")).groups("")  # type: ignore[union-attr]
    told = [name for name in names.split(", ") if name not in _NO_NAMES and not re.search(r"[\s<>*]", name)]
    return before, told, behind


def _ending(names: set[str]) -> str:
    domains = {name[name.index(".") :] if "." in name else "" for name in names}
    ending = domains.pop() if len(domains) == 1 and len(names) > 1 else ""
    return ending if len(ending) >= _WORTH_IT else ""


def _beginning(names: set[str]) -> str:
    """Whole parts of a name, of which something is left of each."""
    common = ""
    if len(names) > 1:
        alike = takewhile(lambda letters: letters[0] == letters[1], zip(min(names), max(names), strict=False))
        common = "".join(letter for letter, _ in alike)
    beginning = common[: common.rfind("-") + 1]
    return beginning if len(beginning) >= _LONG_BEGINNING and "." not in beginning else ""


def _without(row: tuple[str, ...], nodes: Sequence[int], short: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(_shortened(cell, short) if i in nodes else cell for i, cell in enumerate(row))


def _shortened(cell: str, short: Callable[[str], str]) -> str:
    before, names, behind = _names(cell)
    return f"{before}{', '.join(map(short, names))}{behind}" if names else cell
