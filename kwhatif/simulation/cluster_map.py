"""A map of the cluster for drawings: pods by node, at one moment or at two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.pod_groups import PodGroup
from kwhatif.cluster.changes import Changes
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.base import ClusterMap, MappedNode, MappedPod
from kwhatif.simulation.node_pools import RequestSums, pool_of, resource_order_of, zone_of
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import Features

Amounts = Mapping[str, int]
PODS = "pods"
_NOTHING: Amounts = {}
_ABSENT = ("", _NOTHING)
GONE: tuple[str, Amounts] = ("/", _NOTHING)
"""No node is called so."""


class ClusterObservation(msgspec.Struct, frozen=True):
    """One moment: the nodes with their allocatable amounts, and the pods with their nodes, if any, and requests.

    Amounts that are the same object are compared once. ``GONE`` stands for a pod of a base that is not there.
    """

    nodes: Sequence[tuple[Node, Amounts]]
    pods: Mapping[str, tuple[str, Amounts]]


class MapBase(msgspec.Struct, frozen=True):
    """The map of a cluster as it is, and what it was made of: that of an answer need only say what differs from it."""

    cluster_map: ClusterMap
    observation: ClusterObservation
    pods: Sequence[Pod]
    pods_on: Mapping[str, list[PodInfo]]

    @classmethod
    def of(cls, snapshot: Snapshot, features: Features) -> MapBase:
        cluster = Cluster.load(snapshot.objects, features)
        seen = observe_cluster(cluster, snapshot)
        on = dict(zip(cluster.columns.names, cluster.pods_on, strict=True))
        cluster_map = build_map({"now": seen}, topology_key_of_groups(snapshot))
        return cls(cluster_map, seen, list(snapshot.objects.list_all(Pod)), on)

    @property
    def without_changes(self) -> ClusterMap:
        """The map of a cluster that is as this one."""
        return replace(self.cluster_map, pods=(), base=self.cluster_map)

    def observe(self, cluster: Cluster, snapshot: Snapshot) -> ClusterObservation:
        """Like ``observe_cluster``, with only those pods that are not as here."""
        pods = snapshot.objects.list_all(Pod)
        # Lists of the same pods are compared without a look at any.
        changes = Changes.between((), self.pods, (), self.pods if pods == self.pods else pods)
        names, before = cluster.columns.names, self.pods_on
        rows = [row for row, name in enumerate(names) if cluster.pods_on[row] != before.get(name)]
        left = [before.get(names[row], []) for row in rows] + [before[name] for name in before.keys() - set(names)]
        waiting = dict.fromkeys(_waiting(cluster, changes.gone), GONE)
        waiting.update((info.key, GONE) for infos in left for info in infos)
        waiting.update(_waiting(cluster, changes.came))
        waiting.update(_places_of(cluster, ((info, row) for row in rows for info in cluster.pods_on[row])))
        known = self.observation.pods
        return ClusterObservation(
            _rooms(cluster), {name: entry for name, entry in waiting.items() if entry != known.get(name)}
        )

    def build(self, looks: Mapping[str, ClusterObservation], by: str = "") -> ClusterMap:
        """Like ``build_map``, of what was observed here; the whole map where it has other resources."""
        known = self.observation.pods

        def resolve(names: Iterable[str]) -> dict[str, ClusterObservation]:
            """The moments with all of some pods that are there in them."""
            return {
                state: ClusterObservation(
                    look.nodes,
                    {name: entry for name in names if (entry := look.pods.get(name) or known.get(name, GONE)) != GONE},
                )
                for state, look in looks.items()
            }

        names: set[str] = set().union(*(look.pods for look in looks.values()))
        states = resolve(names)
        cluster_map = build_map(states, by, self.cluster_map)
        if cluster_map.resources != self.cluster_map.resources:
            return build_map(resolve(names | known.keys()), by)
        return replace(cluster_map, gone=tuple(sorted(names.difference(*(look.pods for look in states.values())))))


def observe_cluster(cluster: Cluster, snapshot: Snapshot) -> ClusterObservation:
    """A cluster as it is now, without inactive nodes, and with the snapshot's waiting pods."""
    waiting = _waiting(cluster, snapshot.objects.list_all(Pod))
    waiting.update(_places_of(cluster, cluster.pods()))
    return ClusterObservation(_rooms(cluster), waiting)


def _rooms(cluster: Cluster) -> list[tuple[Node, Amounts]]:
    columns, resources = cluster.columns, cluster.shapes.resources.names
    amounts, most, active = columns.allocatable.tolist(), columns.allowed_pods.tolist(), cluster.active.tolist()
    return [
        (node, {**dict(zip(resources, row, strict=False)), PODS: pods})
        for node, row, pods, there in zip(columns.nodes, amounts, most, active, strict=True)
        if there
    ]


def _waiting(cluster: Cluster, pods: Iterable[Pod]) -> dict[str, tuple[str, Amounts]]:
    sums = RequestSums(cluster.shapes.features)
    waiting = (pod for pod in pods if not pod.spec.node_name and not pod.is_finished)
    return {pod.key: ("", {**sums.requests_of(pod), PODS: 1}) for pod in waiting}


def _places_of(cluster: Cluster, pods: Iterable[tuple[PodInfo, int]]) -> Iterator[tuple[str, tuple[str, Amounts]]]:
    names, shapes = cluster.columns.names, cluster.shapes
    asks: dict[int, Amounts] = {}
    for info, row in pods:
        index = info.shape.index
        if index not in asks:
            requests = shapes.requests[index].tolist()
            asks[index] = {**dict(zip(shapes.resources.names, requests, strict=False)), PODS: 1}
        yield info.key, (names[row], asks[index])


def topology_key_of_groups(snapshot: Snapshot) -> str:
    """The label whose values are the domains of the snapshot's pod groups, that of most groups; empty without one."""
    keys = Counter(key for group in snapshot.objects.list_all(PodGroup) if (key := group.topology_key))
    return min(keys, key=lambda key: (-keys[key], key), default="")


def build_map(looks: Mapping[str, ClusterObservation], by: str = "", base: ClusterMap | None = None) -> ClusterMap:
    """The moments side by side; where nothing differs between them, there is one state. ``by`` as in ``pool_of``.

    Those of a ``base`` have only pods that are not as there.
    """
    states = dict(looks)
    *others, last = states.values()
    if all(_is_same(last, other) for other in others):
        states = {"now": last}
    nodes = {node.name: (node, room) for state in states.values() for node, room in state.nodes}
    ordered = sorted((zone_of(node), pool_of(node, by), name) for name, (node, _) in nodes.items())
    resources = _resources(states.values(), [room for _, room in nodes.values()], base.resources if base else ())
    places = {name: place for place, (_, _, name) in enumerate(ordered)}
    existing = [{node.name for node, _ in state.nodes} for state in states.values()]
    asks: dict[tuple[int, ...], int] = {} if base is None else {row: place for place, row in enumerate(base.asks)}
    rows: dict[int, int] = {}

    def row_of(amounts: Amounts) -> int:
        if id(amounts) not in rows:
            rows[id(amounts)] = asks.setdefault(_by_resource(amounts, resources), len(asks))
        return rows[id(amounts)]

    pods = []
    moments = [state.pods for state in states.values()]
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
        base=base,
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
    closed = "cordoned" if node.spec.unschedulable else "" if node.is_ready else "not ready"
    return MappedNode(
        node=node.name,
        pool=pool,
        zone=zone,
        room=_by_resource(room, resources),
        closed=closed,
        taints=tuple(taint.text for taint in node.spec.taints or ()),
        there=there,
    )


def _resources(
    looks: Iterable[ClusterObservation], rooms: Sequence[Amounts], resources: Sequence[str]
) -> tuple[str, ...]:
    """Those that some node has or some pod asks for, and those that are known to be there."""
    distinct = {id(amounts): amounts for look in looks for _, amounts in look.pods.values()}
    names = {name for amounts in (*rooms, *distinct.values()) for name, amount in amounts.items() if amount}
    return tuple(sorted(names.union(resources), key=resource_order_of))


def _by_resource(amounts: Amounts, resources: Sequence[str]) -> tuple[int, ...]:
    return tuple(amounts.get(name, 0) for name in resources)
