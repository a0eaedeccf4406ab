"""Would the pods of a node find another one? A removal that works is done, one that does not is undone.

Upstream: RemovalSimulator in cluster-autoscaler/simulator/cluster.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.autoscaling.cluster_autoscaler.hints import Hints
from kwhatif.autoscaling.cluster_autoscaler.simulated_cluster import SimulatedCluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray


@dataclass(slots=True)
class Removal:
    """A node that may go: where each of its pods would run, pods that it waits for, and whether it is ``risky``,
    since its pods need more of a disruption budget than that allows at once.
    """

    node: str
    moves: dict[str, str]
    pods: Sequence[PodInfo]
    finishing: Sequence[PodInfo]
    risky: bool = False


def move_pods(
    simulated: SimulatedCluster, node: str, pods: Sequence[PodInfo], destinations: BoolArray, hints: Hints
) -> dict[str, str] | None:
    """Take a node away and put these of its pods elsewhere: pod -> node.

    None, and nothing is done, if one of them fits nowhere. ``destinations`` bool[N]. While its pods are looked after,
    the node is there without any, so that topology spread still counts it.
    """
    row = simulated.row(node)
    assert row is not None
    destinations = destinations.copy()
    destinations[row] = False
    moves: dict[str, str] = {}
    with simulated.undoable(row) as attempt:
        for pod in pods:
            home = hints.place(simulated, pod, destinations)
            if home is None:
                home = hints.search(simulated, pod, destinations)
            if home is None:
                return None
            moves[pod.key] = simulated.name(home)
        attempt.keep()
    simulated.depart(row)
    return moves
