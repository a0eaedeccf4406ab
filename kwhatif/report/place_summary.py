"""``-o summary``: how many pods find a node, why others do not, and what is allocated afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.report.blocks import NONE, Block, Grouping, Verdict, titled
from kwhatif.report.expand_text import refusal_blocks
from kwhatif.report.fidelity_text import fidelity_blocks
from kwhatif.report.place_text import summary
from kwhatif.report.snapshot_info_text import bar
from kwhatif.results.amounts import spell_column
from kwhatif.results.place import PlaceResult, Pool


def summary_blocks(result: PlaceResult) -> list[Block]:
    """The report."""
    blocks: list[Block] = [Verdict(summary(result), not result.exit_code)]
    causes = [(each.pods, each.reason) for each in result.totals.causes]
    blocks += titled("WITHOUT A NODE", ("pods", "reason"), causes, None, Grouping("reason"))
    headers = ("resource", "pool", "nodes", "requested", "allocatable", "in use")
    blocks += titled("ALLOCATED AFTERWARDS", headers, _allocated(result.totals.pools))
    return [*blocks, *refusal_blocks(result.refusals, result.failed), *fidelity_blocks(result.fidelity)]


def _allocated(pools: tuple[Pool, ...]) -> Iterator[tuple[object, ...]]:
    """A row a resource and pool that has it; before those of several pools one of all."""
    names = dict.fromkeys(each.resource for pool in pools for each in pool.resources)
    for name in names:
        found = [(pool, each) for pool in pools for each in pool.resources if each.resource == name]
        rows = [(pool.pool or NONE, pool.nodes, each.requested, each.allocatable) for pool, each in found]
        if len(rows) > 1:
            _, *columns = zip(*rows, strict=True)
            nodes, asks, has = map(sum, columns)
            rows.insert(0, ("(all)", nodes, asks, has))
        spelt = iter(spell_column(name, [amount for *_, asks, has in rows for amount in (asks, has)]))
        for pool, nodes, asks, has in rows:
            yield (name, pool, nodes, next(spelt), next(spelt), bar(asks, has))
