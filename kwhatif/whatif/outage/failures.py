"""Which nodes are gone together: each node, zone and pool, pairs of nodes, and what a label names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from random import Random

import msgspec

from kwhatif.api.alike import did_you_mean
from kwhatif.api.core import Node
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.snapshot.chosen import chosen_nodes
from kwhatif.whatif.info.pools import pool_of, zone_of

MOST_PAIRS = 1000
"""So many pairs of nodes are asked about; of more a sample."""

NODE, ZONE, POOL, PAIR = "node", "zone", "pool", "pair"
EACH = ("nodes", "zones", "pools")


class Gone(msgspec.Struct, frozen=True):
    """Nodes that are gone together."""

    kind: str
    name: str
    nodes: tuple[str, ...]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Failures somebody asks about: ``each`` node, zone or pool; nodes (names or selectors, a failure each), zones and
    pools by name; what has each value of a label ``by`` its key; and ``pairs`` of nodes, a sample if there are more
    than ``most_pairs``, drawn by ``seed``.
    """

    each: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    pairs: bool = False
    most_pairs: int = MOST_PAIRS
    seed: int = 0

    @property
    def nothing(self) -> bool:
        return not (self.each or self.nodes or self.zones or self.pools or self.by or self.pairs)


def gone_by(wanted: Wanted, nodes: Sequence[Node]) -> tuple[list[Gone], dict[str, int]]:
    """The failures, each once, and of each kind how many there are. Raises InputError for names of nothing."""
    groups = {ZONE: _grouped(nodes, zone_of), POOL: _grouped(nodes, pool_of)}
    found: dict[tuple[str, ...], Gone] = {}
    there: dict[str, int] = {}

    def add(kind: str, each: Iterator[Gone], count: int) -> None:
        there[kind] = count
        for gone in each:
            found.setdefault((gone.kind, gone.name), gone)

    if wanted.nodes or "nodes" in wanted.each:
        add(NODE, _nodes(wanted, nodes), len(nodes))
    for kind, names, word in ((ZONE, wanted.zones, "zones"), (POOL, wanted.pools, "pools")):
        if names or word in wanted.each:
            chosen = dict(groups[kind]) if word in wanted.each else {}
            chosen |= {name: _known(kind, name, groups[kind]) for name in names}
            add(kind, (Gone(kind, name, chosen[name]) for name in sorted(chosen)), len(groups[kind]))
    for key in wanted.by:
        values = _grouped(nodes, lambda node, key=key: (node.metadata.labels or {}).get(key, ""))  # type: ignore[misc]
        if not values:
            keys = {each for node in nodes for each in node.metadata.labels or ()}
            raise InputError(f"--by {key}: no node has a label {key}{did_you_mean(key, keys)}")
        add(key, (Gone(key, name, values[name]) for name in sorted(values)), len(values))
    if wanted.pairs:
        every = sorted(node.name for node in nodes)
        add(PAIR, _pairs(every, wanted), len(every) * (len(every) - 1) // 2)
    return list(found.values()), there


def _nodes(wanted: Wanted, nodes: Sequence[Node]) -> Iterator[Gone]:
    if "nodes" in wanted.each:
        names = sorted(node.name for node in nodes)
    else:
        names = [node.name for text in wanted.nodes for node in chosen_nodes(text, nodes)]
    return (Gone(NODE, name, (name,)) for name in names)


def _grouped(nodes: Sequence[Node], value: Callable[[Node], str]) -> dict[str, tuple[str, ...]]:
    """The nodes of each value; those without one are in no group."""
    groups: dict[str, list[str]] = {}
    for node in nodes:
        if name := value(node):
            groups.setdefault(name, []).append(node.name)
    return {name: tuple(sorted(names)) for name, names in groups.items()}


def _known(kind: str, name: str, groups: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if name not in groups:
        raise InputError(f"there is no {kind} {described(name)}{did_you_mean(name, groups)}")
    return groups[name]


def _pairs(names: Sequence[str], wanted: Wanted) -> Iterator[Gone]:
    """Every pair, or a sample without repetition."""
    count = len(names) * (len(names) - 1) // 2
    if count <= wanted.most_pairs:
        pairs: list[tuple[str, str]] = list(combinations(names, 2))
    else:
        random, drawn = Random(wanted.seed), set[tuple[int, int]]()
        while len(drawn) < wanted.most_pairs:
            first, second = sorted(random.sample(range(len(names)), 2))
            drawn.add((first, second))
        pairs = [(names[first], names[second]) for first, second in sorted(drawn)]
    return (Gone(PAIR, " + ".join(pair), pair) for pair in pairs)
