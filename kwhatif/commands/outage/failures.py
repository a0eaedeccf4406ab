"""Failures: which nodes fail together, and a cluster whose nodes fail and come back.

A failed node keeps its row and is deactivated; afterwards everything is undone. So a failure costs what it changes, and
plugins keep their caches. Where parts of the scheduler cannot be undone, every failure gets a cluster of its own, with
the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from random import Random

import msgspec

from kwhatif.api.core import Node
from kwhatif.api.decode import describe_value
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.outage.options import FailureOptions
from kwhatif.errors import InputError
from kwhatif.results.amounts import format_some
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.edits.selection import chosen_nodes, pool_nodes
from kwhatif.simulation.node_pools import pool_of, zone_of

NODE, ZONE, POOL, PAIR = "node", "zone", "pool", "pair"
EACH = ("nodes", "zones", "pools")


class NodeFailure(msgspec.Struct, frozen=True):
    """Nodes that fail together."""

    kind: str
    name: str
    nodes: tuple[str, ...]


def find_failures(options: FailureOptions, nodes: Sequence[Node]) -> tuple[list[NodeFailure], dict[str, int]]:
    """The failures, each once, and how many there are of each kind. Raises InputError for unknown names."""
    groups = {ZONE: _group_nodes(nodes, zone_of), POOL: _group_nodes(nodes, pool_of)}
    failures: dict[tuple[str, ...], NodeFailure] = {}
    there: dict[str, int] = {}

    def add(kind: str, iterator: Iterator[NodeFailure], count: int) -> None:
        there[kind] = count
        for gone in iterator:
            failures.setdefault((gone.kind, gone.name), gone)

    if options.nodes or "nodes" in options.failures:
        add(NODE, _nodes(options, nodes), len(nodes))
    for kind, names, word in ((ZONE, options.zones, "zones"), (POOL, options.pools, "pools")):
        if names or word in options.failures:
            chosen = dict(groups[kind]) if word in options.failures else {}
            chosen |= {name: _find_group(kind, name, groups[kind], nodes) for name in names}
            add(kind, (NodeFailure(kind, name, chosen[name]) for name in sorted(chosen)), len(groups[kind]))
    for key in options.by:
        values = _group_nodes(nodes, lambda node, key=key: (node.metadata.labels or {}).get(key, ""))  # type: ignore[misc]
        if not values:
            keys = {label for node in nodes for label in node.metadata.labels or ()}
            raise InputError(f"--by {key}: no node has a label {key}{suggest_spelling(key, keys)}")
        add(key, (NodeFailure(key, name, values[name]) for name in sorted(values)), len(values))
    if options.pairs:
        every = sorted(node.name for node in nodes)
        add(PAIR, _pairs(every, options), len(every) * (len(every) - 1) // 2)
    return list(failures.values()), there


def _nodes(options: FailureOptions, nodes: Sequence[Node]) -> Iterator[NodeFailure]:
    if "nodes" in options.failures:
        names = sorted(node.name for node in nodes)
    else:
        names = [node.name for text in options.nodes for node in chosen_nodes(text, nodes)]
    return (NodeFailure(NODE, name, (name,)) for name in names)


def _group_nodes(nodes: Sequence[Node], value: Callable[[Node], str]) -> dict[str, tuple[str, ...]]:
    """The nodes of each value; those without one are in no group."""
    groups: dict[str, list[str]] = {}
    for node in nodes:
        if name := value(node):
            groups.setdefault(name, []).append(node.name)
    return {name: tuple(sorted(names)) for name, names in groups.items()}


def _find_group(kind: str, name: str, groups: dict[str, tuple[str, ...]], nodes: Sequence[Node]) -> tuple[str, ...]:
    if kind == POOL:
        return tuple(sorted(node.name for node in pool_nodes(name, nodes)))
    if name not in groups:
        near = suggest_spelling(name, groups) or f"; there are: {format_some(sorted(groups)) or 'none'}"
        raise InputError(f"there is no {kind} {describe_value(name)}{near}")
    return groups[name]


def _pairs(names: Sequence[str], options: FailureOptions) -> Iterator[NodeFailure]:
    """Every pair, or a sample without repetition."""
    count = len(names) * (len(names) - 1) // 2
    if count <= options.most_pairs:
        pairs: list[tuple[str, str]] = list(combinations(names, 2))
    else:
        random, drawn = Random(options.seed), set[tuple[int, int]]()
        while len(drawn) < options.most_pairs:
            first, second = sorted(random.sample(range(len(names)), 2))
            drawn.add((first, second))
        pairs = [(names[first], names[second]) for first, second in sorted(drawn)]
    return (NodeFailure(PAIR, " + ".join(pair), pair) for pair in pairs)


class FailingCluster:
    """A cluster whose nodes may fail. It is changed meanwhile, and is as it was in the end.

    ``isolated``: every failure gets a cluster of its own.
    """

    def __init__(self, cluster: Cluster, setup: Setup, *, isolated: bool | None = None) -> None:
        self.cluster, self._setup = cluster, setup
        self._driver = Driver(cluster, setup, imagined=True)
        self._driver.set_up_all()
        self._isolated = not self._driver.undoable if isolated is None else isolated

    def rows(self, nodes: Collection[str]) -> list[int]:
        """The rows of these nodes, in their order, as far as there are such nodes."""
        return sorted(row for name in nodes if (row := self.cluster.columns.row(name)) is not None)

    def pods_on(self, nodes: Collection[str]) -> list[PodInfo]:
        """The pods that run on these nodes."""
        return [info for row in self.rows(nodes) for info in self.cluster.pods_on[row]]

    @contextmanager
    def without(self, nodes: Collection[str]) -> Iterator[Driver]:
        """The scheduler process without these nodes and their pods; its next search begins with the first node."""
        if self._isolated:
            yield Driver(self.cluster.without_nodes(nodes), self._setup, imagined=True)
            return
        before = self.cluster.checkpoint()
        try:
            self._take_away(self.rows(nodes))
            self._driver.begin_anew()
            yield self._driver
        finally:
            self.cluster.go_back(before)

    def _take_away(self, rows: Sequence[int]) -> None:
        for row in rows:
            self.cluster.remove_node(row)
