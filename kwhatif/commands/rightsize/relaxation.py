"""Finds the resource that keeps the nodes of a pool, by simulating the pool with an unlimited amount of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.api.quantity import Quantity
from kwhatif.api.workloads_and_storage import CSINode, CSINodeDriver
from kwhatif.commands.rightsize.consequence import VOLUMES, Consequence, SizingTrial, shortest_first
from kwhatif.commands.rightsize.horizontal import Scaling
from kwhatif.commands.rightsize.steady_state import LARGE
from kwhatif.progress import report_progress
from kwhatif.simulation.edits.new_resources import NewResources
from kwhatif.simulation.node_pools import pool_of
from kwhatif.snapshot.format.model import Snapshot

MOST_POOLS = 8
"""In a cluster of more pools none is simulated: each takes some runs of the scheduler and the autoscalers."""
MOST_RESOURCES = 3
"""How many of the scarcest resources of a pool are tried."""

_UNLIMITED = {"cpu": Quantity.from_units(10**6), "memory": Quantity.from_units(2**50, binary=True)}
_MANY = Quantity.from_units(10**6)


@dataclass(frozen=True)
class Bound:
    """The resource that keeps the nodes of a ``pool``: with an unlimited amount ``nodes_freed`` more nodes would be
    removed. If there is none, it is the one that is shortest, and ``nodes_freed`` is 0; None if that was not simulated.
    """

    pool: str
    resource: str
    nodes_freed: int | None


def find_bounds(
    trial: SizingTrial, new: NewResources, scalings: Sequence[Scaling], after: Consequence
) -> Iterator[Bound]:
    """The binding resource of each pool of the cluster under these requests.

    Without autoscalers no node is ever removed, so nothing is simulated; nor is it in a large cluster.
    """
    pools = {pool: shortest_first(shares) for pool, shares in after.shares.items() if shares}
    asking = after.side.nodes_removable is not None and after.nodes_today <= LARGE and len(pools) <= MOST_POOLS
    for pool, resources in pools.items():
        if not asking:
            yield Bound(pool, resources[0], None)
            continue
        report_progress("Looking for what binds", "pools", 0)
        freed = {}
        for name in resources[:MOST_RESOURCES]:
            relaxed = trial.try_resources(new, scalings, partial(without_bound, pool=pool, resource=name))
            freed[name] = after.side.nodes - relaxed.side.nodes
        name = max(freed, key=lambda name: (freed[name] > 0, -resources.index(name)))
        yield Bound(pool, name, max(freed[name], 0))


def without_bound(snapshot: Snapshot, pool: str, resource: str) -> Snapshot:
    """The snapshot where the nodes of a pool have an unlimited amount of a resource."""
    relaxed = snapshot.copy()
    nodes = snapshot.objects.list_all(Node)
    mine = {node.name for node in nodes if pool_of(node) == pool}
    if resource == VOLUMES:
        csi_nodes = snapshot.objects.list_all(CSINode)
        relaxed.objects.put(CSINode, [_any_volumes(each) if each.name in mine else each for each in csi_nodes])
    else:
        room = {resource: _UNLIMITED.get(resource, _MANY)}
        relaxed.objects.put(Node, [_with_room(node, room) if node.name in mine else node for node in nodes])
    return relaxed


def _with_room(node: Node, room: Mapping[str, Quantity]) -> Node:
    allocatable = {**node.status.for_pods, **room}
    return replace(node, status=replace(node.status, allocatable=allocatable))


def _any_volumes(csi: CSINode) -> CSINode:
    drivers: list[CSINodeDriver] = [replace(each, allocatable=None) for each in csi.spec.drivers or ()]
    return replace(csi, spec=replace(csi.spec, drivers=drivers))
