"""The cost of an upgrade: machines are paid for from their request until their deletion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from kwhatif.api.core import Node
from kwhatif.commands.upgrade.result import UpgradeCost
from kwhatif.simulation.autoscalers.node_prices import Prices, prices_of


def cost_of(
    nodes: Iterable[Node], made: Mapping[str, float], deleted: Mapping[str, float], end: float, prices: Prices
) -> UpgradeCost:
    """The cost of a pool's old and new ``nodes`` until the ``end``; times are in seconds.

    New nodes are those that were ``made``; what would come later is never there. Without all prices there are no sums.
    """
    there = list(nodes)
    known, unknown = prices_of(there, prices)
    if unknown:
        return UpgradeCost(unknown=unknown)
    old = [node.name for node in there if node.name not in made]
    usual = sum(known[name] for name in old)
    changes = sorted(_changes(known, made, deleted))
    running = list(accumulate((change for _, change in changes), initial=usual))
    more = sum(known[name] * (end - time) for name, time in made.items() if name in known)
    less = sum(known[name] * (end - time) for name, time in deleted.items() if name in known)
    return UpgradeCost(usual=round(usual, 4), peak=round(max(running), 4), more=round((more - less) / 3600, 4))


def _changes(
    known: Mapping[str, float], made: Mapping[str, float], deleted: Mapping[str, float]
) -> Iterator[tuple[float, float]]:
    """Times and by how much an hour costs more from then on; at one time what is less comes first."""
    for name, time in made.items():
        yield time, known[name]
    for name, time in deleted.items():
        yield time, -known[name]
