"""Prices of nodes: from a file, the node groups, or Karpenter's catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.api.core import Node
from kwhatif.commands.rightsize.consequence import Price
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler
from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler
from kwhatif.simulation.autoscalers.node_prices import Prices, catalogue_prices
from kwhatif.simulation.autoscalers.scaler import Scaler


def price_by(named: Prices | None, scaler: Scaler | None) -> Price:
    """The price of a node by the hour: that of a file counts first, then what autoscalers know of their own nodes."""
    groups: dict[str, float | None] = {}
    offered: list[Prices] = []
    for each in scaler.autoscalers if scaler is not None else ():
        if isinstance(each, GroupAutoscaler):
            groups |= {group.name: group.price for group in each.known.groups}
        elif isinstance(each, PoolAutoscaler):
            offered.append(catalogue_prices(each.known))
    first: Sequence[Prices] = [] if named is None else [named]

    def price(node: Node, of: Mapping[str, str]) -> float | None:
        known = (prices(node) for prices in first)
        found = next((each for each in known if each is not None), None)
        if found is None and node.name in of:
            found = groups.get(of[node.name])
        if found is None:
            found = next((each for prices in offered if (each := prices(node)) is not None), None)
        return found

    return price
