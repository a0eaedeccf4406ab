"""What a run comes to in numbers, and which of them are to be small or large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kwhatif.autoscaling.cluster_autoscaler.gpus import GPU_RESOURCES
from kwhatif.cluster.cluster import Cluster
from kwhatif.results.place import Placement
from kwhatif.results.sweep import Measures, PriorityCount
from kwhatif.whatif.diff.cluster_use import in_use, skews_of, use_of

MIN, MAX = "min", "max"


@dataclass(frozen=True)
class Measure:
    """A number of ``Measures`` under its name: whether it is good to have it small or large, and what it is."""

    name: str
    goal: str
    of: Callable[[Measures], float | None]
    words: str


def _use(resource: str, field: str) -> Callable[[Measures], float | None]:
    return lambda found: next((getattr(use, field) for use in found.resources if use.resource == resource), None)


MEASURES = (
    Measure("pending", MIN, lambda found: found.pending, "pods without a node"),
    Measure("evictions", MIN, lambda found: found.evictions, "pods evicted for others"),
    Measure("cost", MIN, lambda found: found.cost, "of the nodes in use, by the hour"),
    Measure("nodesInUse", MIN, lambda found: found.nodes_in_use, "nodes with pods that no daemon set made"),
    Measure("nodesEmpty", MAX, lambda found: found.nodes_empty, "the other nodes"),
    Measure("moved", MIN, lambda found: found.moved, "pods on another node than by today's policy"),
    Measure("zoneSkew", MIN, lambda found: found.zone_skew, "most minus fewest pods of a zone, of all workloads"),
    Measure("gpuAllocation", MAX, lambda found: found.gpu_allocation, "percent of the GPUs that are asked for"),
    Measure("probeRoom", MAX, lambda found: found.probe_room, "probe pods that would fit afterwards"),
    *(
        Measure(resource + name, goal, _use(resource, field), words)
        for resource in ("cpu", "memory")
        for name, field, goal, words in (
            ("Mean", "mean", MAX, f"mean utilisation of {resource} in percent"),
            ("Deviation", "deviation", MIN, f"its deviation between nodes: {resource}"),
            ("LargestFree", "largest_free", MAX, f"the most {resource} that is free on one node"),
        )
    ),
)
"""The measures that a front can be made of and policies be ranked by."""

BY_NAME = {measure.name: measure for measure in MEASURES}


def scalars(found: Sequence[Measures]) -> dict[str, float]:
    """Measure -> its mean over several clusters; those that some of them have not are left out."""
    means = {}
    for measure in MEASURES:
        values = [measure.of(each) for each in found]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            means[measure.name] = round(sum(known) / len(known), 4)
    return means


def measured(
    cluster: Cluster,
    placements: Sequence[Placement],
    evictions: int,
    today: Mapping[str, str],
    prices: Mapping[str, float],
) -> Measures:
    """The measures of a cluster after a run. ``today`` has the nodes by today's policy, ``prices`` those of nodes.

    A node without a price, where others have one, costs nothing.
    """
    pending = Counter(placement.priority for placement in placements if not placement.good)
    use = use_of(cluster)
    names, working = cluster.columns.names, in_use(cluster)
    return Measures(
        pending=sum(pending.values()),
        pending_by_priority=tuple(
            PriorityCount(priority=priority, pods=pods) for priority, pods in sorted(pending.items(), reverse=True)
        ),
        evictions=evictions,
        nodes_in_use=use.used,
        nodes_empty=use.empty,
        resources=use.resources,
        zone_skew=sum(skews_of(cluster).values()),
        moved=sum(bool(placement.node) and today.get(placement.pod, "") != placement.node for placement in placements),
        gpu_allocation=_gpu_allocation(cluster),
        cost=round(sum(prices.get(names[row], 0.0) for row in np.flatnonzero(working)), 6) if prices else None,
    )


def _gpu_allocation(cluster: Cluster) -> float | None:
    columns = [column for column, name in enumerate(cluster.shapes.resources.names) if name in GPU_RESOURCES]
    there = int(cluster.columns.allocatable[:, columns].sum())
    return round(100.0 * int(cluster.requested[:, columns].sum()) / there, 1) if there else None
