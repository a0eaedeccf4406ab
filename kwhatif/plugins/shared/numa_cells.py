"""The NUMA cells of nodes as columns, and their kubelets' topology manager policies.

Upstream: pkg/noderesourcetopology (numaresources.go, pluginhelpers.go, nodeconfig/topologymanager.go) of
scheduler-plugins.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

import msgspec
import numpy as np

from kwhatif.api.scheduler_plugins import NodeResourceTopology, TopologyZone
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray

SINGLE = "single-numa-node"
POD, CONTAINER = "pod", "container"
_POLICIES = ("none", "best-effort", "restricted", SINGLE)
_BY_NAME = {
    "SingleNUMANodePodLevel": (SINGLE, POD),
    "SingleNUMANodeContainerLevel": (SINGLE, CONTAINER),
    "BestEffortPodLevel": ("best-effort", POD),
    "BestEffortContainerLevel": ("best-effort", CONTAINER),
    "RestrictedPodLevel": ("restricted", POD),
    "RestrictedContainerLevel": ("restricted", CONTAINER),
}
_MOST_CELLS, _USUAL_CELLS = 1024, 8
_HIGHEST_ID = 63
NO_COST = 255
_CELL = re.compile(r"node-\+?([0-9]+)", re.ASCII)


class TopologyManager(msgspec.Struct, frozen=True):
    """The topology manager's policy and scope on a node."""

    policy: str = "none"
    scope: str = CONTAINER
    most_cells: int = _USUAL_CELLS


class Cell(msgspec.Struct, frozen=True):
    """One cell: its number, available amounts in thousandths, and the costs to other cells."""

    number: int
    available: dict[str, int]
    costs: dict[int, int]


class Cells(msgspec.Struct, frozen=True, eq=False):
    """The cells of all nodes; Z is the most that a node has, in the order of their zones.

    known        bool[N]        nodes with a NodeResourceTopology
    single       bool[N]        those that align to a single cell
    by_pod       bool[N]        those that align pods as a whole
    number       intp[N, Z]     numbers of cells; ``highest`` + 1 beyond the last
    available    int64[N, Z, R] thousandths of the R resources of ``names``
    listed       bool[N, Z, R]  which of them a cell lists
    managers     of each node
    lists        of each node, its cells
    layouts      intp[N]        equal for nodes that differ in nothing but in what is available
    highest      the highest number that a cell may have
    """

    names: dict[str, int]
    known: BoolArray
    single: BoolArray
    by_pod: BoolArray
    number: IntpArray
    available: Int64Array
    listed: BoolArray
    managers: Sequence[TopologyManager]
    lists: Sequence[Sequence[Cell]]
    layouts: IntpArray
    highest: int = _HIGHEST_ID


@cached_per_cluster
def cells_of(cluster: Cluster) -> Cells:
    """What the NodeResourceTopologies of a cluster say of its nodes, in the order of its rows."""
    by_name = {topology.name: topology for topology in cluster.objects.list_all(NodeResourceTopology)}
    topologies = [by_name.get(name) for name in cluster.columns.names]
    lists = [[] if topology is None else _cells(topology) for topology in topologies]
    managers = [TopologyManager() if topology is None else _manager(topology) for topology in topologies]
    names: dict[str, int] = {}
    layouts: dict[Hashable, int] = {}
    for cells in lists:
        for cell in cells:
            for name in cell.available:
                names.setdefault(name, len(names))
    nodes, most = len(topologies), max(map(len, lists), default=0)
    number = np.full((nodes, most), _HIGHEST_ID + 1, np.intp)
    available = np.zeros((nodes, most, len(names)), np.int64)
    listed = np.zeros((nodes, most, len(names)), np.bool_)
    for row, cells in enumerate(lists):
        for place, cell in enumerate(cells):
            number[row, place] = cell.number
            for name, amount in cell.available.items():
                available[row, place, names[name]] = amount
                listed[row, place, names[name]] = True
    return Cells(
        names,
        np.array([topology is not None for topology in topologies], np.bool_),
        np.array([manager.policy == SINGLE for manager in managers], np.bool_),
        np.array([manager.scope == POD for manager in managers], np.bool_),
        number,
        available,
        listed,
        managers,
        lists,
        np.array([_layout_of(*pair, layouts) for pair in zip(managers, lists, strict=True)], np.intp),
    )


def _layout_of(manager: TopologyManager, cells: Sequence[Cell], numbers: dict[Hashable, int]) -> int:
    """The number of a layout, the next one if it is new."""
    shapes = tuple((cell.number, frozenset(cell.available), frozenset(cell.costs.items())) for cell in cells)
    return numbers.setdefault((manager, shapes), len(numbers))


def _manager(topology: NodeResourceTopology) -> TopologyManager:
    """The first policy, and the attributes over it; unknown ones are passed over."""
    names = topology.topology_policies or [""]
    policy, scope = _BY_NAME.get(names[0], ("none", CONTAINER))
    most = _USUAL_CELLS
    for attribute in topology.attributes or ():
        if attribute.name == "topologyManagerScope" and attribute.value in (POD, CONTAINER):
            scope = attribute.value
        elif attribute.name == "topologyManagerPolicy" and attribute.value in _POLICIES:
            policy = attribute.value
        elif attribute.name == "topologyManagerMaxNUMANodes" and re.fullmatch(r"[+-]?[0-9]{1,18}", attribute.value):
            number = int(attribute.value)
            most = min(number, _MOST_CELLS) if number > 1 else most
    return TopologyManager(policy, scope, most)


def _number(name: str) -> int | None:
    """3 of ``node-3``; None of a name that is no cell's, or one beyond those there are."""
    match = _CELL.fullmatch(name)
    number = int(match[1]) if match else None
    return number if number is not None and number <= _HIGHEST_ID else None


def _cells(topology: NodeResourceTopology) -> list[Cell]:
    zones: list[tuple[int, TopologyZone]] = []
    for zone in topology.zones or ():
        number = _number(zone.name) if zone.type == "Node" else None
        if number is not None:
            zones.append((number, zone))
    # Of two zones of one number, the costs of the later count for both.
    last = dict(zones)
    return [
        Cell(
            number,
            {resource.name: resource.available_thousandths for resource in zone.resources or ()},
            {other: cost.value for cost in last[number].costs or () if (other := _number(cost.name)) is not None},
        )
        for number, zone in zones
    ]
