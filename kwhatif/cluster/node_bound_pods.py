"""Pods that no eviction takes off a node for good: those of daemon sets, and static pods."""

from __future__ import annotations

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.types import Int64Array

BOUND_TO_NODES = ("DaemonSet", "Node")
"""Controllers whose pods run on one node and want no other."""


def room_if_empty(cluster: Cluster, row: int) -> Int64Array:
    """int64[R]: what a node offers beside such pods, if all others were gone."""
    shapes = cluster.shapes
    bound = [
        shapes.requests[info.shape.index]
        for info in cluster.pods_on[row]
        if info.shape.controller is not None and info.shape.controller.kind in BOUND_TO_NODES
    ]
    room: Int64Array = cluster.columns.allocatable[row] - np.sum(bound, axis=0, dtype=np.int64)
    return room
