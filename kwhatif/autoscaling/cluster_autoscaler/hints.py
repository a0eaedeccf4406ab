"""Where pods fitted last time, which is tried first.

Upstream: cluster-autoscaler/simulator/scheduling (hints.go, hinting_simulator.go).
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.simulated_cluster import SimulatedCluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray


class Hints:
    """Pod -> node, of this loop and the one before."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self._before: dict[str, str] = {}

    def place(self, simulated: SimulatedCluster, pod: PodInfo, acceptable: BoolArray | None) -> int | None:
        """Put a pod on the node that it is hinted to, if it fits there; its row."""
        name = self._now.get(pod.uid, self._before.get(pod.uid, ""))
        row = simulated.row(name)
        if row is None or (acceptable is not None and not acceptable[row]):
            return None
        if not simulated.fits(pod, row):
            return None
        simulated.place(pod, row)
        self._now[pod.uid] = name
        return row

    def search(self, simulated: SimulatedCluster, pod: PodInfo, acceptable: BoolArray | None) -> int | None:
        """Put a pod on the first node that it fits, and remember that. A fresh node has another name the next time."""
        row = simulated.search(pod, acceptable)
        if row is not None:
            simulated.place(pod, row)
            if simulated.is_real(row):
                self._now[pod.uid] = simulated.name(row)
        return row

    def drop_old(self) -> None:
        """What was not remembered again since the last time is forgotten."""
        self._before, self._now = self._now, {}
