"""What new nodes cost, in words: by the month, and by the hour where only Jobs need them."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.results.place import AddedNode


def words_of_cost(nodes: Sequence[AddedNode], more: str = "") -> str:
    """``277.40 more a month, 3.91 an hour while Jobs run``; empty where a price is unknown."""
    if not nodes or any(node.price is None for node in nodes):
        return ""
    staying = [node.cost or 0.0 for node in nodes if not node.only_jobs]
    leaving = [node.price or 0.0 for node in nodes if node.only_jobs]
    parts = [f"{sum(staying):,.2f}{more} a month"] if staying else []
    parts += [f"{sum(leaving):,.2f} an hour while Jobs run"] if leaving else []
    return ", ".join(parts)
