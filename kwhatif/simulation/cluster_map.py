"""A map of the cluster for drawings: pods by node, at one moment or at two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.api.pod_groups import PodGroup
from kwhatif.cluster.cluster import Cluster
from kwhatif.results.base import ClusterMap, MappedNode, MappedPod
from kwhatif.simulation.node_pools import is_ready, pool_of, resource_order_of, zone_of
from kwhatif.snapshot.format.model import Snapshot

Amounts = Mapping[str, int]
PODS = "pods"
_NOTHING: Amounts = {}
_ABSENT = ("", _NOTHING)


class ClusterObservation(msgspec.Struct, frozen=True):
    """One moment: the nodes with their allocatable amounts, and the pods with their nodes, if any, and requests.

    Amounts that are the same object are compared once.
    """

    nodes: Sequence[tuple[Node, Amounts]]
    pods: Mapping[str, tuple[str, Amounts]]


def observe_cluster(cluster: Cluster, snapshot: Snapshot) -> ClusterObservation:
    """A cluster as it is now, without inactive nodes, and with the snapshot's waiting pods."""
    columns, shapes = cluster.columns, cluster.shapes
    resources = shapes.resources.names
    rows = columns.allocatable.tolist()
    nodes = [
        (node, {**dict(zip(resources, row, strict=False)), PODS: most})
        for node, row, most, there in zip(
            columns.nodes, rows, columns.allowed_pods.tolist(), cluster.active.tolist(), strict=True
        )
        if there
    ]
    asks: dict[int, Amounts] = {}
    found: dict[str, tuple[str, Amounts]] = {
        pod.key: ("", _NOTHING)
        for pod in snapshot.objects.list_all(Pod)
        if not pod.spec.node_name and not pod.is_finished
    }
    for info, row in cluster.pods():
        index = info.shape.index
        if index not in asks:
            asks[index] = {**dict(zip(resources, shapes.requests[index].tolist(), strict=False)), PODS: 1}
        found[info.key] = (columns.names[row], asks[index])
    return ClusterObservation(nodes, found)


def topology_key_of_groups(snapshot: Snapshot) -> str:
    """The label whose values are the domains of the snapshot's pod groups, that of most groups; empty without one."""
    keys = Counter(key for group in snapshot.objects.list_all(PodGroup) if (key := group.topology_key))
    return min(keys, key=lambda key: (-keys[key], key), default="")


def build_map(looks: Mapping[str, ClusterObservation], by: str = "") -> ClusterMap:
    """The moments side by side; where nothing differs between them, there is one state. ``by`` as in ``pool_of``."""
    states = dict(looks)
    *others, last = states.values()
    if all(_is_same(last, other) for other in others):
        states = {"now": last}
    nodes = {node.name: (node, room) for each in states.values() for node, room in each.nodes}
    ordered = sorted((zone_of(node), pool_of(node, by), name) for name, (node, _) in nodes.items())
    resources = _resources(states.values(), [room for _, room in nodes.values()])
    places = {name: place for place, (_, _, name) in enumerate(ordered)}
    existing = [{node.name for node, _ in each.nodes} for each in states.values()]
    asks: dict[tuple[int, ...], int] = {}
    rows: dict[int, int] = {}

    def row_of(amounts: Amounts) -> int:
        if id(amounts) not in rows:
            rows[id(amounts)] = asks.setdefault(_by_resource(amounts, resources), len(asks))
        return rows[id(amounts)]

    pods = []
    moments = [each.pods for each in states.values()]
    for name in sorted(set().union(*moments)):
        at, requested = [], _NOTHING
        for there in moments:
            node, amounts = there.get(name, _ABSENT)
            at.append(places.get(node, -1))
            requested = amounts or requested
        pods.append(MappedPod(pod=name, asks=row_of(requested), at=tuple(at)))
    return ClusterMap(
        states=tuple(states),
        resources=resources,
        nodes=tuple(
            _map_node(*nodes[name], resources, pool, zone, tuple(name in names for names in existing))
            for zone, pool, name in ordered
        ),
        asks=tuple(asks),
        pods=tuple(pods),
    )


def _is_same(one: ClusterObservation, other: ClusterObservation) -> bool:
    """Whether the same nodes are there, and each pod is where it is in the other."""
    if {node.name for node, _ in one.nodes} != {node.name for node, _ in other.nodes}:
        return False
    there = other.pods
    return len(one.pods) == len(there) and all(
        name in there and there[name][0] == node for name, (node, _) in one.pods.items()
    )


def _map_node(
    node: Node, room: Amounts, resources: Sequence[str], pool: str, zone: str, there: tuple[bool, ...]
) -> MappedNode:
    closed = "cordoned" if node.spec.unschedulable else "" if is_ready(node) else "not ready"
    return MappedNode(
        node=node.name,
        pool=pool,
        zone=zone,
        room=_by_resource(room, resources),
        closed=closed,
        taints=tuple(taint.text for taint in node.spec.taints or ()),
        there=there,
    )


def _resources(looks: Iterable[ClusterObservation], rooms: Sequence[Amounts]) -> tuple[str, ...]:
    """Those that some node has or some pod asks for."""
    distinct = {id(amounts): amounts for each in looks for _, amounts in each.pods.values()}
    names = {name for amounts in (*rooms, *distinct.values()) for name, amount in amounts.items() if amount}
    return tuple(sorted(names, key=resource_order_of))


def _by_resource(amounts: Amounts, resources: Sequence[str]) -> tuple[int, ...]:
    return tuple(amounts.get(name, 0) for name in resources)
