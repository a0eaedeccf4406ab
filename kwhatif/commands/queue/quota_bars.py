"""Quotas as bars on a page: of each cohort, flavor and resource what its ClusterQueues use, borrow and leave."""

from __future__ import annotations

from typing import Any

from kwhatif.api.quantity import Quantity
from kwhatif.commands.queue.result import FlavorUse, QueueResult

_MOST_CHARTS, _MOST_BARS = 12, 40


def quota_bars(result: QueueResult) -> list[dict[str, Any]] | None:
    """The charts, the fullest quota first; None where no quota has an amount. No bar is drawn of what is unlimited."""
    quotas: dict[tuple[str, str, str], list[tuple[str, FlavorUse]]] = {}
    for queue in result.cluster_queues:
        tree = f"cohort {queue.cohort}" if queue.cohort else f"ClusterQueue {queue.cluster_queue}"
        for use in queue.flavors:
            if not use.nominal.startswith("<"):
                quotas.setdefault((tree, use.flavor, use.resource), []).append((queue.cluster_queue, use))
    charts = [_chart(*key, uses) for key, uses in quotas.items()]
    charts = [chart for chart in charts if any(any(line["values"]) for line in chart["lines"])]
    charts.sort(key=_fullness, reverse=True)
    return charts[:_MOST_CHARTS] or None


def _chart(tree: str, flavor: str, resource: str, uses: list[tuple[str, FlavorUse]]) -> dict[str, Any]:
    own, borrowed, unused = [], [], []
    # As Kueue writes amounts: of memory and the like in powers of two. An axis has no room for a whole name.
    in_bytes = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    unit, size = ("Gi", 2**30) if in_bytes else (resource.rpartition("/")[2], 1)
    for _, use in uses[:_MOST_BARS]:
        quota, used, lent = (_number(text) / size for text in (use.nominal, use.used, use.borrowed))
        own.append(used - lent)
        borrowed.append(lent)
        unused.append(max(quota - used, 0.0))
    more = f" (the first {_MOST_BARS} of {len(uses)} ClusterQueues)" if len(uses) > _MOST_BARS else ""
    return {
        "title": f"{tree}: {resource} in {flavor}{more}",
        "unit": unit,
        "stacked": True,
        "moments": [name for name, _ in uses[:_MOST_BARS]],
        "lines": [
            {"name": "used of its own", "values": own},
            {"name": "borrowed", "values": borrowed},
            {"name": "not used", "values": unused},
        ],
    }


def _fullness(chart: dict[str, Any]) -> float:
    own, borrowed, unused = (sum(line["values"]) for line in chart["lines"])
    return float((own + borrowed) / (own + borrowed + unused))


def _number(text: str) -> float:
    return Quantity.parse(text).nano() / 10**9
