"""Nodes that a pod might run on if they were not cordoned."""

from __future__ import annotations

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.verdicts import Verdicts


def cordoned(cluster: Cluster, verdicts: Verdicts) -> list[int]:
    """Rows of cordoned nodes that nothing else (but the cordon's own taint) keeps the pod off."""
    cordoned = np.zeros(len(cluster), np.bool_)
    others = np.zeros(len(cluster), np.bool_)
    for blocker in verdicts.blockers:
        if blocker.plugin == "NodeUnschedulable":
            cordoned |= blocker.where
        elif blocker.plugin != "TaintToleration":
            others |= blocker.where
    rows = np.flatnonzero(cordoned & ~others)
    return sorted(rows.tolist(), key=cluster.columns.names.__getitem__)
