"""The topology of a flavor: its nodes, what is used there, and where pod sets would go.

Upstream: TASFlavorSnapshot in pkg/cache/scheduler/tas_flavor_snapshot.go, tas_flavor.go and tas_non_tas_pod_cache.go.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kwhatif.api import kueue as api
from kwhatif.api.core import Node
from kwhatif.api.kueue_topology import TopologyAssignment
from kwhatif.kueue.amounts import Requests, clamp
from kwhatif.kueue.topology.counts import (
    Exclusions,
    KnownCounts,
    LevelCounts,
    add_up,
    count_leaves,
    fits_times,
    match_leaves,
)
from kwhatif.kueue.topology.placement import Levels, Placement, levels_of
from kwhatif.kueue.topology.pod_set_request import PodSetTopologyRequest
from kwhatif.kueue.topology.tree import TopologyTree, belongs
from kwhatif.kueue.workload import DomainUse

PlacementResults = dict[str, TopologyAssignment | str]
"""By pod set: where it goes, or why it goes nowhere. Pod sets after one that failed are missing."""

KnownPlaces = dict[Hashable, list[TopologyAssignment] | str]
"""What came of requests, by all that decides it."""

_MOST_COUNTS = 100
"""Of so many sorts of pods it is known how many fit into each leaf."""

_MOST_CONTENTS = 8
"""Of so many states of the columns it is known where requests would go."""

Assumed = dict[tuple[str, ...], Requests]
"""What pod sets before use, by leaf."""


class FlavorTopology:
    """One flavor's. Usage counts leaf by leaf; a leaf whose nodes are gone is not counted."""

    def __init__(self, flavor: api.ResourceFlavor, topology: api.Topology, nodes: Iterable[Node]) -> None:
        self.flavor, self.name = flavor, topology.name
        levels = [level.node_label for level in topology.spec.levels or ()]
        labels = flavor.spec.node_labels or {}
        self.tree = TopologyTree(levels, (node for node in nodes if belongs(node, labels, levels)))
        self._matches: dict[bytes, tuple[npt.NDArray[np.intp], Exclusions]] = {}
        self._counts: dict[tuple[bytes, tuple[tuple[str, int], ...]], KnownCounts] = {}
        self._places: dict[int, KnownPlaces] = {}
        self._when_empty: KnownPlaces = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> FlavorTopology:
        """Domains are shared, since each placement counts anew what fits into them."""
        made, made.tree = copy.copy(self), copy.copy(self.tree)
        made._counts, made._places = {}, dict(self._places)
        made.tree.columns = copy.deepcopy(self.tree.columns, memo)
        return made

    def take(self, node: str, requests: Requests) -> None:
        """Take room for a pod that Kueue does not place."""
        leaf = self.tree.leaf_of_node.get(node)
        if leaf is not None:
            self._when_empty.clear()
            self.tree.columns.take(leaf.index, _with_one_pod(requests))

    def count(self, uses: Sequence[DomainUse], sign: int) -> None:
        """Count what pods of workloads use, or no longer use with a sign of -1."""
        for use in uses:
            leaf = self.tree.leaves.get(use.values)
            if leaf is not None:
                self.tree.columns.use(leaf.index, _with_one_pod(use.requests), sign * use.count)

    def fits(self, uses: Sequence[DomainUse]) -> bool:
        """Whether every domain has room for its part, resources alone."""
        for use in uses:
            leaf = self.tree.leaves.get(use.values)
            if leaf is None or fits_times(self.tree.columns, leaf.index, use.requests) < use.count:
                return False
        return True

    def place(
        self, requests: Sequence[PodSetTopologyRequest], assumed: Assumed | None, *, empty: bool
    ) -> PlacementResults:
        """Place the pod sets one after the other, groups together (upstream: FindTopologyAssignmentsForFlavor).

        ``assumed`` is what those before use, to be added to; None if there is but one.
        """
        groups: dict[str, list[PodSetTopologyRequest]] = {}
        for index, request in enumerate(requests):
            groups.setdefault(str(index) if request.group is None else request.group, []).append(request)
        placements: PlacementResults = {}
        for group in groups.values():
            workers, leader = group[0], None
            if len(group) > 1:
                leader = group[1]
                if leader.count > workers.count:
                    workers, leader = leader, workers
            if assumed:
                placed = self._place_group(workers, leader, assumed, empty=empty)
            else:
                placed = self._place_first(workers, leader, empty=empty)
            if isinstance(placed, str):
                return placements | {request.pod_set.name: placed for request in group}
            placements |= placed
            if assumed is None:
                continue
            for request in group:
                assignment = placed.get(request.pod_set.name)
                if assignment is not None:
                    _assume(assumed, assignment, request.requests)
        return placements

    def _place_first(
        self, workers: PodSetTopologyRequest, leader: PodSetTopologyRequest | None, *, empty: bool
    ) -> dict[str, TopologyAssignment] | str:
        """As ``_place_group`` with nothing assumed, which is found out once for all requests that are alike."""
        roles = [workers] if leader is None else [workers, leader]
        key = tuple([(role.counted.topology_shape, role.count, role.implied) for role in roles])
        known = self._when_empty if empty else self._known_places()
        assignments = known.get(key)
        if assignments is None:
            placed = self._place_group(workers, leader, {}, empty=empty)
            assignments = placed if isinstance(placed, str) else [placed[role.pod_set.name] for role in roles]
            known[key] = assignments
        if isinstance(assignments, str):
            return assignments
        return {request.pod_set.name: place for request, place in zip(roles, assignments, strict=True)}

    def _known_places(self) -> KnownPlaces:
        """Those of the columns as they are; the ones asked for last are kept, since most changes are taken back."""
        content = self.tree.columns.content
        known = self._places.pop(content, None)
        if known is None:
            known = {}
            if len(self._places) >= _MOST_CONTENTS:
                del self._places[next(iter(self._places))]
        self._places[content] = known
        return known

    def _place_group(
        self,
        workers: PodSetTopologyRequest,
        leader: PodSetTopologyRequest | None,
        assumed: Assumed,
        *,
        empty: bool,
    ) -> dict[str, TopologyAssignment] | str:
        levels = levels_of(self.tree, workers)
        if isinstance(levels, str):
            return levels
        counts, exclusions = self._count(workers, leader, levels, assumed, empty=empty)
        placement = Placement(self.name, self.tree, counts, workers, levels, exclusions)
        distribution = placement.find(0 if leader is None else 1)
        if isinstance(distribution, str):
            return distribution
        domains, leading = distribution
        placed = {workers.pod_set.name: placement.assignment(domains)}
        if leader is not None:
            placed[leader.pod_set.name] = placement.assignment(leading)
        return placed

    def _count(
        self,
        workers: PodSetTopologyRequest,
        leader: PodSetTopologyRequest | None,
        levels: Levels,
        assumed: Assumed,
        *,
        empty: bool,
    ) -> tuple[list[LevelCounts], Callable[[], Exclusions]]:
        """Phase 1: what fits below the domains of each level, and why leaves have no room for even one pod."""
        rows, matched = self._leaves_for(workers)
        requests = _with_one_pod(workers.requests)
        if leader is None and not assumed and not empty:
            known = self._known_counts(workers, rows, requests)
            return known.levels(levels.slices), lambda: replace(matched, resources=known.resources)
        assumed_by_row = {
            leaf.index: used for key, used in assumed.items() if (leaf := self.tree.leaves.get(key)) is not None
        }
        leaves, resources = count_leaves(
            self.tree.columns,
            rows,
            requests,
            None if leader is None else _with_one_pod(leader.requests),
            assumed_by_row,
            empty=empty,
        )
        counts = add_up(self.tree, leaves, levels.slices, has_leader=leader is not None)
        return counts, lambda: replace(matched, resources=resources)

    def _known_counts(
        self, request: PodSetTopologyRequest, rows: npt.NDArray[np.intp], requests: Requests
    ) -> KnownCounts:
        key = request.counted.constraints, tuple(requests.items())
        if key not in self._counts:
            if len(self._counts) >= _MOST_COUNTS:
                self._counts.clear()
            self._counts[key] = KnownCounts(self.tree, rows, requests)
        return self._counts[key]

    def _leaves_for(self, request: PodSetTopologyRequest) -> tuple[npt.NDArray[np.intp], Exclusions]:
        key = request.counted.constraints
        match = self._matches.get(key)
        if match is None:
            match = self._matches[key] = match_leaves(self.tree, request.pod_set, self.flavor.spec.tolerations or ())
        return match


def _with_one_pod(requests: Requests) -> Requests:
    return {**requests, "pods": requests.get("pods", 0) + 1}


def _assume(assumed: Assumed, assignment: TopologyAssignment, requests: Requests) -> None:
    for values, count in assignment.domains:
        used = assumed.setdefault(values, {})
        for name, amount in requests.items():
            used[name] = clamp(used.get(name, 0) + amount * count)
        used["pods"] = used.get("pods", 0) + count
