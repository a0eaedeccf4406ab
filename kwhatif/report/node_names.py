"""Names of nodes on a terminal, without the ending that all of them have, which is told once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kwhatif.report.blocks import Block, Lines, Table

_WORTH_IT = 8
"""Characters that a common ending has at least."""


def endings(blocks: Sequence[Block]) -> list[Block]:
    """The report with ``ip-10-0-1-2…`` for ``ip-10-0-1-2.eu-west-1.compute.internal``, where all names end so."""
    tables = [block for block in blocks if isinstance(block, Table)]
    names = {row[i] for table in tables for row in table.rows for i in table.nodes if "." in row[i]}
    domains = {name[name.index(".") :] for name in names}
    ending = domains.pop() if len(domains) == 1 else ""
    if len(names) == 1 or len(ending) < _WORTH_IT:
        return list(blocks)
    told = [
        replace(block, rows=tuple(_without(row, block.nodes, ending) for row in block.rows))
        if isinstance(block, Table)
        else block
        for block in blocks
    ]
    return [*told, Lines((f"Names of nodes that end in … end in {ending}.",))]


def _without(row: tuple[str, ...], nodes: Sequence[int], ending: str) -> tuple[str, ...]:
    return tuple(
        f"{cell.removesuffix(ending)}…" if i in nodes and cell.endswith(ending) else cell for i, cell in enumerate(row)
    )
