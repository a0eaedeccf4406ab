"""How evenly the pods of a workload lie over zones, or over whatever label tells places apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodShape


def pods_by_place(cluster: Cluster, topology_key: str, shape: PodShape, rows: Iterable[int]) -> Counter[str]:
    """How many pods are in each place, given the rows of their nodes.

    Places are those of the nodes that a pod's node selector and node affinity admit and that are not cordoned, and
    those where a pod is.
    """
    columns = cluster.columns
    places = columns.label(topology_key)
    open_ = columns.matching(shape.node_affinity) & ~columns.unschedulable & places.present
    counts: Counter[str] = Counter({places.values[code]: 0 for code in np.unique(places.codes[open_]).tolist()})
    counts.update(places.values[code] for row in rows if (code := int(places.codes[row])) >= 0)
    return counts


def skew_of(counts: Counter[str]) -> int:
    """By how many pods the fullest place exceeds the emptiest."""
    return max(counts.values()) - min(counts.values()) if counts else 0
