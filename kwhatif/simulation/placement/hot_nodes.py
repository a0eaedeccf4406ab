"""Notes about nodes that take pods although their measured usage is high, since kube-scheduler does not consider it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kwhatif.api.core import Pod
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.cluster.cluster import Cluster
from kwhatif.results.amounts import format_count
from kwhatif.results.place import Placement
from kwhatif.snapshot.format.model import Snapshot

HOT = 0.8
"""Percent of a node's allocatable amount."""

_METRICS = "PodMetrics"


def hot_nodes(snapshot: Snapshot, cluster: Cluster, placements: Sequence[Placement]) -> Iterator[str]:
    """The notes, by the usage in a snapshot; empty without any."""
    metrics = snapshot.whole.get(_METRICS)
    if not metrics:
        return
    took = Counter(placement.node for placement in placements if placement.good and placement.node)
    used = _sum_usage(snapshot)
    for name, pods in sorted(took.items()):
        row = cluster.columns.row(name)
        for resource in ("cpu", "memory") if row is not None else ():
            room = int(cluster.shapes.resources.amounts(cluster.columns.allocatable, resource)[row])
            share = used.get((name, resource), 0) / room if room else 0.0
            if share >= HOT:
                takes = f"node {name} takes {format_count(pods, 'pod')}"
                of = f"{share:.0%} of its {resource}"
                yield f"{takes}, and {of} is used already, at which kube-scheduler does not look"


def _sum_usage(snapshot: Snapshot) -> dict[tuple[str, str], int]:
    """What the pods of each node use, by node and resource: millicores and bytes."""
    homes = {pod.key: pod.spec.node_name for pod in snapshot.objects.list_all(Pod) if pod.spec.node_name}
    usage: Counter[tuple[str, str]] = Counter()
    for manifest in snapshot.whole[_METRICS]:
        metadata = part_of(manifest, "metadata")
        home = homes.get(f"{metadata.get('namespace') or 'default'}/{part_of(metadata, 'name')}")
        for container in (manifest.get("containers") or ()) if home else ():
            for resource, amount in section(container, "usage").items():
                try:
                    quantity = Quantity.from_json(amount)
                except QuantityError:
                    continue
                usage[home or "", resource] += quantity.amount_of(resource)
    return usage
