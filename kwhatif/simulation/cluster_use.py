"""Utilisation of a cluster, and the skew of workloads over zones, to compare two clusters by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.results.diff import ClusterUse, Skew, Use
from kwhatif.simulation.node_pools import zone_of


def nodes_in_use(cluster: Cluster) -> list[str]:
    """The nodes with a pod that no daemon set made."""
    owned = ((info.shape.controller, row) for info, row in cluster.pods())
    rows = {row for owner, row in owned if owner is None or owner.kind != "DaemonSet"}
    return [cluster.columns.names[row] for row in sorted(rows)]


def use_of(cluster: Cluster) -> ClusterUse:
    """Utilisation by resource, of those that some node has, and how many nodes are in use."""
    used = set(nodes_in_use(cluster))
    allocatable, requested = cluster.columns.allocatable, cluster.requested
    resources = []
    for column, name in enumerate(cluster.shapes.resources.names):
        has = allocatable[:, column] > 0
        if not has.any():
            continue
        room, requests = allocatable[has, column], requested[has, column]
        # Not in integers, whose hundredfold may be too large for their type.
        share = 100.0 * requests / room
        resources.append(
            Use(
                resource=name,
                mean=round(float(share.mean()), 1),
                deviation=round(float(share.std()), 1),
                maximum=round(float(share.max()), 1),
                largest_free=int((room - requests).clip(min=0).max()),
            )
        )
    return ClusterUse(
        nodes=len(cluster),
        used=len(used),
        empty=len(cluster) - len(used),
        empty_nodes=tuple(sorted(set(cluster.columns.names) - used)),
        pods=int(cluster.pod_count.sum()),
        resources=tuple(resources),
    )


def skews(a: Cluster, b: Cluster) -> Iterator[Skew]:
    """The workloads whose skew over zones differs, by name. Empty in a cluster without zones."""
    of_a, of_b = skews_of(a), skews_of(b)
    for workload in sorted(of_a.keys() | of_b.keys()):
        ours, theirs = of_a.get(workload, 0), of_b.get(workload, 0)
        if ours != theirs:
            yield Skew(workload=workload, a=ours, b=theirs)


def skews_of(cluster: Cluster) -> dict[str, int]:
    """Workload -> the pods in its fullest zone minus those in its emptiest. Empty in a cluster without zones."""
    zones = [zone_of(node) for node in cluster.columns.nodes]
    known = sorted({*zones} - {""})
    counts: dict[str, Counter[str]] = {}
    for info, row in cluster.pods():
        owner = _workload(info)
        if owner and zones[row]:
            counts.setdefault(owner, Counter())[zones[row]] += 1
    return {owner: max(zones.values()) - min(zones[zone] for zone in known) for owner, zones in counts.items()}


def _workload(info: PodInfo) -> str:
    controller = info.shape.controller
    if controller is None or controller.kind == "DaemonSet":
        return ""
    return f"{controller.kind} {info.shape.namespace}/{controller.name}"


def nodes_of_replica_sets(cluster: Cluster) -> dict[str, Counter[str]]:
    """``ReplicaSet shop/web-5d4c7`` -> how many of its pods are on each node; ReplicationControllers, too."""
    nodes: dict[str, Counter[str]] = {}
    for info, row in cluster.pods():
        if name := replica_set_of(info):
            nodes.setdefault(name, Counter())[cluster.columns.names[row]] += 1
    return nodes


def replica_set_of(info: PodInfo) -> str:
    """What made a pod like its other pods, whose places it can take; empty where there is no such controller."""
    name = _workload(info)
    return name if name.startswith(("ReplicaSet ", "ReplicationController ")) else ""


def pods_by_place(cluster: Cluster, topology_key: str, shape: PodShape, rows: Iterable[int]) -> Counter[str]:
    """How many pods are in each place, given the rows of their nodes.

    Places are those of the nodes that a pod's node selector and node affinity admit and that are not cordoned, and
    those where a pod is.
    """
    columns = cluster.columns
    places = columns.label(topology_key)
    open_ = columns.matching(shape.node_affinity) & ~columns.unschedulable & places.present
    counts: Counter[str] = Counter({places.values[code]: 0 for code in sorted(set(places.codes[open_].tolist()))})
    counts.update(places.values[code] for row in rows if (code := int(places.codes[row])) >= 0)
    return counts


def skew_of(counts: Counter[str]) -> int:
    """By how many pods the fullest place exceeds the emptiest."""
    return max(counts.values()) - min(counts.values()) if counts else 0
