"""The domains of a topology as a tree, made of the labels of the nodes that belong to a flavor.

Upstream: pkg/cache/scheduler/tas_topology_tree.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kwhatif.api.core import Node
from kwhatif.kueue.amounts import Requests, clamp, requests_of
from kwhatif.kueue.topology.columns import LeafColumns

HOSTNAME = "kubernetes.io/hostname"


class Domain:
    """A domain, the one at ``index`` of its level. What follows ``children`` is worked out anew for every placement.

    First it is what fits below the domain, later what goes there. ``with_leader`` is what fits once a leader is there.
    """

    __slots__ = (
        "children",
        "index",
        "leaders",
        "parent",
        "pods",
        "pods_with_leader",
        "slices",
        "slices_with_leader",
        "values",
    )

    def __init__(self, values: tuple[str, ...]) -> None:
        self.values = values
        self.parent: Domain | None = None
        self.children: list[Domain] = []
        self.index = 0
        self.pods = self.slices = self.leaders = 0
        self.pods_with_leader = self.slices_with_leader = 0


class Leaf(Domain):
    """A domain of the lowest level, and its node, where that is one. ``index`` is its row among the columns."""

    __slots__ = ("node",)

    def __init__(self, values: tuple[str, ...], node: Node | None) -> None:
        super().__init__(values)
        self.node = node


class TopologyTree:
    """The tree. A leaf is known by its path of values, and by its node alone where the lowest level is the node.

    ``columns`` have a row a leaf, in their order. ``domains`` are those of each level, ``ranks`` their places in the
    order of their values, and ``families`` say whose children they are, but for the first level.
    """

    def __init__(self, levels: Sequence[str], nodes: Iterable[Node]) -> None:
        self.levels = tuple(levels)
        self.ends_in_nodes = bool(levels) and levels[-1] == HOSTNAME
        self.leaves: dict[tuple[str, ...], Leaf] = {}
        self.leaf_of_node: dict[str, Leaf] = {}
        rooms: dict[tuple[str, ...], Requests] = {}
        for node in nodes:
            self.leaf_of_node[node.name] = self._add(node, rooms)
        self.columns = LeafColumns(rooms.values())
        self.by_level: list[dict[tuple[str, ...], Domain]] = [{} for _ in levels]
        self.roots: list[Domain] = []
        for leaf in self.leaves.values():
            self._connect(leaf)
        self.domains = [list(level.values()) for level in self.by_level]
        for level in self.domains:
            for index, domain in enumerate(level):
                domain.index = index
        self.ranks = [_ranks_of([domain.values for domain in level]) for level in self.domains]
        self.families = [_family_of(level) for level in self.domains[1:]]

    def _add(self, node: Node, rooms: dict[tuple[str, ...], Requests]) -> Leaf:
        labels = node.metadata.labels or {}
        values = tuple(labels.get(level, "") for level in self.levels)
        key = values[-1:] if self.ends_in_nodes else values
        leaf = self.leaves.get(key)
        if leaf is None:
            leaf = self.leaves[key] = Leaf(values, node if self.ends_in_nodes else None)
        room = rooms.setdefault(key, {})
        for name, amount in requests_of(node.status.allocatable or {}).items():
            room[name] = clamp(room.get(name, 0) + amount)
        return leaf

    def _connect(self, leaf: Leaf) -> None:
        child: Domain = leaf
        self.by_level[-1][leaf.values] = leaf
        for level in reversed(range(len(self.levels) - 1)):
            values = leaf.values[: level + 1]
            parent = self.by_level[level].get(values)
            known = parent is not None
            if parent is None:
                parent = self.by_level[level][values] = Domain(values)
            child.parent = parent
            parent.children.append(child)
            if known:
                return
            child = parent
        self.roots.append(child)

    def level_of(self, key: str) -> int | None:
        """The index of a level; None for a label that is no level."""
        return self.levels.index(key) if key in self.levels else None


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """Of a level's domains the ``parents``, their order by these (``ordered``), and where each parent's begin."""

    parents: npt.NDArray[np.intp]
    ordered: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]


def _ranks_of(values: Sequence[tuple[str, ...]]) -> npt.NDArray[np.intp]:
    """The place of each in their order."""
    ranks = np.empty(len(values), np.intp)
    ranks[sorted(range(len(values)), key=values.__getitem__)] = np.arange(len(values))
    return ranks


def _family_of(level: Sequence[Domain]) -> Family:
    parents = np.array([domain.parent.index for domain in level if domain.parent is not None], np.intp)
    ordered = np.argsort(parents, kind="stable")
    starts = np.flatnonzero(np.diff(parents[ordered], prepend=-1))
    return Family(parents, ordered, starts)


def belongs(node: Node, node_labels: dict[str, str], levels: Sequence[str]) -> bool:
    """Whether a node is one of a flavor's: ready, open, with the flavor's labels and one for each level."""
    labels = node.metadata.labels or {}
    for key, value in node_labels.items():
        if labels.get(key, "") != value:
            return False
    for level in levels:
        if level not in labels:
            return False
    return not node.spec.unschedulable and any(
        condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions or ()
    )
