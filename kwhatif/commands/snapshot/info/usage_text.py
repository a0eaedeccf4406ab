"""Measured usage beside requests as blocks, if it is known: by pool, and the largest unused reservations."""

from __future__ import annotations

from kwhatif.commands.snapshot.info.result import InfoResult
from kwhatif.render.blocks import NONE, Block, build_table
from kwhatif.results.amounts import format_column


def usage_blocks(result: InfoResult) -> list[Block]:
    """Two tables; none where what pods use is unknown."""
    blocks: list[Block] = []
    rows: list[tuple[str, ...]]
    if isinstance(result.usage, tuple):
        rows = []
        for each in result.usage:
            requested, used = format_column(each.resource, (each.requested, each.used or 0))
            share = f"{each.used / each.requested:.0%}" if each.used is not None and each.requested else NONE
            rows.append((each.pool or NONE, each.resource, requested, NONE if each.used is None else used, share))
        blocks += build_table("REQUESTED AND USED", ("pool", "resource", "requested", "used", "share"), rows)
    if isinstance(result.reserved, tuple):
        rows = []
        for one in result.reserved:
            amounts = format_column(one.resource, (one.requested, one.used, one.requested - one.used))
            rows.append((one.workload, one.resource, str(one.pods), *amounts))
        headers = ("workload", "resource", "pods", "requested", "used", "for nothing")
        blocks += build_table("WHO RESERVES MOST FOR NOTHING", headers, rows)
    return blocks
