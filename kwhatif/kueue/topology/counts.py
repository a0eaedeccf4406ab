"""How many pods and slices fit into each domain: counted at the leaves, and added up to the roots.

Upstream: fillInCounts in pkg/cache/scheduler/tas_flavor_snapshot.go, and scheduling_simulator_default.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kwhatif.api.core import Toleration
from kwhatif.api.kueue import WorkloadPodSet
from kwhatif.api.selectors import RequiredNodeAffinity, find_untolerated_taints
from kwhatif.golang.formatting import go_quote
from kwhatif.kueue.amounts import Requests, clamp
from kwhatif.kueue.topology.columns import Int64Array, LeafColumns
from kwhatif.kueue.topology.tree import Domain, Family, TopologyTree

_MOST = 2**31 - 1
_EFFECTS = ("NoSchedule", "NoExecute")


@dataclass(slots=True)
class Exclusions:
    """Why nodes have no room for even one pod."""

    nodes: int = 0
    selector: int = 0
    affinity: int = 0
    taints: Counter[str] = field(default_factory=Counter)
    resources: Counter[str] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """The end of a message; nothing where no node is left out."""
        parts = [f"{name}: {n}" for name, n in (("nodeSelector", self.selector), ("affinity", self.affinity)) if n]
        parts += [f"taint {go_quote(taint)}: {n}" for taint, n in self.taints.items()]
        parts += [f"resource {go_quote(name)}: {n}" for name, n in self.resources.items()]
        return f". Total nodes: {self.nodes}; excluded: {', '.join(sorted(parts))}" if parts else ""


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of ``size`` pods in one domain of ``level``; ``inner`` has the sizes at lower levels."""

    size: int
    level: int
    inner: Mapping[int, int]


def match_leaves(
    tree: TopologyTree, pod_set: WorkloadPodSet, tolerations: Sequence[Toleration]
) -> tuple[npt.NDArray[np.intp], Exclusions]:
    """The rows of the leaves that the pods may go to; where leaves are no nodes, all of them."""
    exclusions = Exclusions(nodes=len(tree.leaves))
    leaves = list(tree.leaves.values())
    if not tree.ends_in_nodes:
        return np.arange(len(leaves)), exclusions
    spec = pod_set.template.spec
    tolerated = [*(spec.tolerations or ()), *tolerations]
    affinity = RequiredNodeAffinity.from_pod_spec(spec)
    fitting = []
    for leaf in leaves:
        node = leaf.node
        assert node is not None
        labels = node.metadata.labels or {}
        taints = node.spec.taints or ()
        if taints and (left := find_untolerated_taints(taints, tolerated, _EFFECTS, comparison_operators=True)):
            exclusions.taints[left[0].text] += 1
        elif not all(label.matches(labels.get(label.key)) for label in affinity.labels):
            exclusions.selector += 1
        elif affinity.terms is not None and not any(term.matches(labels, node.name) for term in affinity.terms):
            exclusions.affinity += 1
        else:
            fitting.append(leaf.index)
    return np.array(fitting, np.intp), exclusions


@dataclass(slots=True)
class LevelCounts:
    """What fits below each domain of a level, int64[domains of the level]; ``with_leader`` once a leader is there."""

    pods: Int64Array
    pods_with_leader: Int64Array
    slices: Int64Array
    slices_with_leader: Int64Array
    leaders: Int64Array

    def put(self, domains: Sequence[Domain]) -> None:
        """Write the counts into these domains of the level."""
        rows = [domain.index for domain in domains]
        pods, slices = self.pods[rows].tolist(), self.slices[rows].tolist()
        for domain, pod_count, slice_count in zip(domains, pods, slices, strict=True):
            domain.pods, domain.slices, domain.leaders = pod_count, slice_count, 0
            domain.pods_with_leader, domain.slices_with_leader = pod_count, slice_count
        if self.pods_with_leader is self.pods:
            return
        with_leader = self.pods_with_leader[rows].tolist(), self.slices_with_leader[rows].tolist()
        for domain, pod_count, slice_count, leaders in zip(
            domains, *with_leader, self.leaders[rows].tolist(), strict=True
        ):
            domain.pods_with_leader, domain.slices_with_leader, domain.leaders = pod_count, slice_count, leaders

    def order_with_leader(
        self, domains: npt.NDArray[np.intp], ranks: npt.NDArray[np.intp], *, unconstrained: bool
    ) -> npt.NDArray[np.intp]:
        """These domains, those with room for a leader first, then by what fits beside it; the least first if
        ``unconstrained``.
        """
        if len(domains) == 1:
            return domains
        sign = 1 if unconstrained else -1
        slices = sign * self.slices_with_leader[domains]
        return domains[np.lexsort((ranks[domains], self.pods_with_leader[domains], slices, -self.leaders[domains]))]


class KnownCounts:
    """How many pods with these ``requests`` fit into some leaves, of which only those that changed are counted again,
    and below all domains.
    """

    def __init__(self, tree: TopologyTree, rows: npt.NDArray[np.intp], requests: Requests) -> None:
        self._tree, self._rows, self._requests = tree, rows, requests
        self._places = np.full(len(tree.columns.free), -1, np.intp)
        self._places[rows] = np.arange(len(rows))
        self._version = tree.columns.version
        self._pods, self._limiting = _count_in(tree.columns, requests, tree.columns.left[rows])
        self._levels: dict[Hashable, list[LevelCounts]] = {}

    def levels(self, slices: Slices) -> list[LevelCounts]:
        """The counts of each level as things are now."""
        self._update()
        key = slices.size, slices.level, tuple(slices.inner.items())
        levels = self._levels.get(key)
        if levels is None:
            nothing = np.zeros(len(self._places), np.int64)
            pods = _of_all_leaves(self._pods, self._rows, nothing)
            leaves = LevelCounts(pods, pods, nothing, nothing, nothing)
            levels = self._levels[key] = add_up(self._tree, leaves, slices, has_leader=False)
        return levels

    @property
    def resources(self) -> Counter[str]:
        """The leaves without room for even one pod, by the resource that is the first to be missing."""
        return _limiting_resources(self._requests, self._pods, self._limiting)

    def _update(self) -> None:
        columns = self._tree.columns
        if self._version == columns.version:
            return
        places = self._places[columns.changed_since(self._version)]
        places = places[places >= 0]
        self._version = columns.version
        if len(places):
            rows, before = self._rows[places], self._pods[places]
            self._pods[places], self._limiting[places] = _count_in(columns, self._requests, columns.left[rows])
            self._add_to_levels(rows, self._pods[places] - before)

    def _add_to_levels(self, rows: npt.NDArray[np.intp], more: Int64Array) -> None:
        """Where each pod is a slice, only the sums above the leaves that changed are others."""
        lowest = len(self._tree.levels) - 1
        single = 1, lowest, ()
        self._levels = {single: self._levels[single]} if single in self._levels else {}
        for counts in self._levels.values():
            if counts[lowest].pods is not self._pods:
                counts[lowest].pods[rows] += more
            for level in reversed(range(lowest)):
                rows = self._tree.families[level].parents[rows]
                np.add.at(counts[level].pods, rows, more)


def _limiting_resources(requests: Requests, pods: Int64Array, limiting: Int64Array) -> Counter[str]:
    """The leaves without room for even one pod, by the resource that is the first to be missing."""
    names = sorted(requests)
    numbers = np.bincount(limiting[pods == 0], minlength=len(names)).tolist()
    return Counter({names[place]: number for place, number in enumerate(numbers) if number})


def count_leaves(
    columns: LeafColumns,
    rows: npt.NDArray[np.intp],
    requests: Requests,
    leader: Requests | None,
    assumed: Mapping[int, Requests],
    *,
    empty: bool,
) -> tuple[LevelCounts, Counter[str]]:
    """Count what fits into these leaves, nothing into others; ``empty`` as if no workload with a topology were there.

    ``assumed`` is what is used besides, by row. With it comes how many leaves have no room for want of a resource.
    """
    left = (columns.free if empty else columns.left)[rows]
    if assumed:
        _take(left, rows, columns, assumed)
    pods, limiting = _count_in(columns, requests, left)
    resources = _limiting_resources(requests, pods, limiting)
    nothing = np.zeros(len(columns.free), np.int64)
    if leader is None:
        pods = _of_all_leaves(pods, rows, nothing)
        return LevelCounts(pods, pods, nothing, nothing, nothing), resources
    leaders = (_count_in(columns, leader, left)[0] > 0).astype(np.int64)
    for name, amount in leader.items():
        if (column := columns.column_of(name)) is not None:
            # A leader that fits takes no more than is left.
            left[:, column] -= amount * leaders
    with_leader = np.where(leaders > 0, _count_in(columns, requests, left)[0], pods)
    pods, with_leader, leaders = (_of_all_leaves(pod, rows, nothing) for pod in (pods, with_leader, leaders))
    return LevelCounts(pods, with_leader, nothing, nothing, leaders), resources


def _of_all_leaves(counts: Int64Array, rows: npt.NDArray[np.intp], nothing: Int64Array) -> Int64Array:
    if len(rows) == len(nothing):
        return counts
    total = nothing.copy()
    total[rows] = counts
    return total


def _take(free: Int64Array, rows: npt.NDArray[np.intp], columns: LeafColumns, assumed: Mapping[int, Requests]) -> None:
    places = {int(row): place for place, row in enumerate(rows)}
    for row, requests in assumed.items():
        place = places.get(row)
        if place is None:
            continue
        for name, amount in requests.items():
            if (column := columns.column_of(name)) is not None:
                free[place, column] = clamp(int(free[place, column]) - amount)


def _count_in(columns: LeafColumns, requests: Requests, free: Int64Array) -> tuple[Int64Array, Int64Array]:
    """How many times requests fit into each leaf, and which of them, sorted by name, limits that: the first one."""
    amounts = [(place, columns.column_of(name), requests[name]) for place, name in enumerate(sorted(requests))]
    counts = np.empty((len(amounts), len(free)), np.int64)
    for place, column, amount in amounts:
        if not amount:
            counts[place] = _MOST
        elif column is None:
            counts[place] = 0
        else:
            counts[place] = free[:, column] if amount == 1 else free[:, column] // amount
    np.maximum(counts, 0, out=counts)
    return np.minimum(np.minimum.reduce(counts), _MOST), counts.argmin(axis=0)


def fits_times(columns: LeafColumns, row: int, requests: Requests) -> int:
    """How many times requests fit into a leaf as it is."""
    return min(
        (
            min(max(columns.left_in(row, name) // amount, 0), _MOST) if amount else _MOST
            for name, amount in requests.items()
        ),
        default=0,
    )


def add_up(tree: TopologyTree, leaves: LevelCounts, slices: Slices, *, has_leader: bool) -> list[LevelCounts]:
    """What fits below the domains of each level, from what fits into the leaves."""
    lowest = len(tree.levels) - 1
    if lowest == slices.level:
        leaves.slices = _slices_of(leaves.pods, slices)
        leaves.slices_with_leader = leaves.pods_with_leader // slices.size if has_leader else leaves.slices
    add_up_level = _add_up_level if has_leader else _add_up_workers
    level_counts = [leaves]
    for level in reversed(range(lowest)):
        level_counts.append(add_up_level(level_counts[-1], tree.families[level], level, slices))
    return level_counts[::-1]


def _slices_of(pods: Int64Array, slices: Slices) -> Int64Array:
    return pods if slices.size == 1 else pods // slices.size


def _add_up_workers(below: LevelCounts, family: Family, level: int, slices: Slices) -> LevelCounts:
    """As ``_add_up_level`` without a leader, who would cost something."""
    own = below.pods[family.ordered]
    inner = slices.inner.get(level + 1)
    pods = np.add.reduceat(own if inner is None else own // inner * inner, family.starts)
    if level == slices.level:
        slice_count = _slices_of(pods, slices)
    elif below.slices is below.pods:
        slice_count = pods
    else:
        slice_count = np.add.reduceat(below.slices[family.ordered], family.starts)
    return LevelCounts(pods, pods, slice_count, slice_count, np.zeros_like(pods))


def _add_up_level(below: LevelCounts, family: Family, level: int, slices: Slices) -> LevelCounts:
    order, starts = family.ordered, family.starts
    own, with_leader, leaders = below.pods[order], below.pods_with_leader[order], below.leaders[order]
    inner = slices.inner.get(level + 1)
    if inner is not None:
        own, with_leader = own // inner * inner, with_leader // inner * inner
    pods = np.add.reduceat(own, starts)
    slice_count = np.add.reduceat(below.slices[order], starts)
    # Of those below which a leader has room, the one that it costs least.
    contributing = leaders > 0
    contributes = np.logical_or.reduceat(contributing, starts)
    cost = np.minimum.reduceat(np.where(contributing, own - with_leader, _MOST), starts)
    slice_loss = below.slices[order] - below.slices_with_leader[order]
    slice_cost = np.minimum.reduceat(np.where(contributing, slice_loss, _MOST), starts)
    pods_with_leader = np.where(contributes, pods - np.minimum(cost, _MOST), 0)
    slices_with_leader = np.where(contributes, slice_count - np.minimum(slice_cost, _MOST), 0)
    if level == slices.level:
        slice_count, slices_with_leader = pods // slices.size, pods_with_leader // slices.size
    return LevelCounts(pods, pods_with_leader, slice_count, slices_with_leader, np.maximum.reduceat(leaders, starts))
