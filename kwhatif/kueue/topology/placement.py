"""Where the pods of a pod set, or of a leader and its workers, go in the topology of a flavor.

Phase 1 counts what fits into every domain. Phase 2 finds the level and the domains that have room for all, and goes
down from there to the lowest level. Upstream: findTopologyAssignment in pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kwhatif.api.kueue import PodSetTopologyRequest as TopologyRequest
from kwhatif.api.kueue import SliceConstraint
from kwhatif.api.kueue_topology import TopologyAssignment
from kwhatif.golang.formatting import go_quote
from kwhatif.kueue.topology.counts import Exclusions, LevelCounts, Slices
from kwhatif.kueue.topology.distribution import (
    Want,
    best_fit_for_slices,
    distribute,
    put_leader_first,
    sort_domains,
)
from kwhatif.kueue.topology.pod_set_request import PodSetTopologyRequest
from kwhatif.kueue.topology.tree import Domain, TopologyTree


@dataclass(frozen=True, slots=True)
class Levels:
    """The level in which all must be, and that of slices."""

    level: int
    slices: Slices
    layers: tuple[SliceConstraint, ...]


def levels_of(tree: TopologyTree, request: PodSetTopologyRequest) -> Levels | str:
    """What levels a request is about, or what is wrong with it."""
    layers = request.pod_set.topology_request.slice_constraints if request.pod_set.topology_request else ()
    size = layers[0].size if layers else 1
    if size <= 0:
        return "slice topology requested, but slice size not provided"
    key = level_key(tree, request.pod_set.topology_request) or (tree.levels[-1] if request.implied else None)
    if key is None:
        return "topology level not specified"
    level = tree.level_of(key)
    if level is None:
        return f"no requested topology level: {key}"
    slice_key = layers[0].topology if layers else tree.levels[-1]
    slice_level = tree.level_of(slice_key)
    if slice_level is None:
        return f"no requested topology level for slices: {slice_key}"
    if level > slice_level:
        return f"podset slice topology {slice_key} is above the podset topology {key}"
    inner = _inner_sizes(tree, layers[1:], size, slice_level)
    if isinstance(inner, str):
        return inner
    return Levels(level, Slices(size, slice_level, inner), layers if inner else ())


def _inner_sizes(tree: TopologyTree, layers: Iterable[SliceConstraint], size: int, level: int) -> dict[int, int] | str:
    """The size of slices at the levels below the outermost layer (upstream: buildSliceSizeAtLevel)."""
    sizes: dict[int, int] = {}
    for layer in layers:
        own = tree.level_of(layer.topology)
        if own is None:
            return f"no requested topology level for additional slice layer: {layer.topology}"
        if own <= level:
            above = tree.levels[level]
            return f"additional slice layer topology {layer.topology} must be at a lower level than {above}"
        if layer.size <= 0 or size % layer.size:
            return f"additional slice layer size {layer.size} must evenly divide parent layer size {size}"
        sizes |= dict.fromkeys(range(level + 1, own + 1), layer.size)
        size, level = layer.size, own
    return sizes


def level_key(tree: TopologyTree, request: TopologyRequest | None) -> str | None:
    """The level that a request names; None where it names none."""
    if request is None:
        return None
    if request.required is not None or request.preferred is not None:
        return request.required if request.required is not None else request.preferred
    if request.slice_constraints:
        return tree.levels[0]
    return tree.levels[-1] if request.unconstrained else None


def has_levels(tree: TopologyTree, request: TopologyRequest) -> bool:
    """Whether the topology has all levels that a request names (upstream: HasLevel)."""
    key = level_key(tree, request)
    return key in tree.levels and all(layer.topology in tree.levels for layer in request.slice_constraints)


class Placement:
    """One run of phase 2, with the ``counts`` of phase 1 by level."""

    def __init__(
        self,
        topology: str,
        tree: TopologyTree,
        counts: Sequence[LevelCounts],
        request: PodSetTopologyRequest,
        levels: Levels,
        exclusions: Callable[[], Exclusions],
    ) -> None:
        self._topology, self._tree, self._request, self._levels = topology, tree, request, levels
        self._counts, self._exclusions = counts, exclusions

    def find(self, leaders: int) -> tuple[list[Domain], list[Domain]] | str:
        """The leaves for workers and for the leader, each with its pods; or why there are none."""
        request, slices = self._request, self._levels.slices
        want = Want(request.count, leaders, slices.size, request.is_unconstrained)
        level_domains = self._find_level(self._levels.level, want)
        if isinstance(level_domains, str):
            return level_domains
        level, domains = level_domains
        domains = distribute(domains, want, in_slices=True)
        lowest = len(self._tree.levels) - 1
        while level < min(lowest, slices.level):
            below = self._load_counts(level + 1, (child for domain in domains for child in domain.children))
            domains = distribute(sort_domains(below, unconstrained=want.unconstrained), want, in_slices=True)
            level += 1
        while level < lowest:
            size = slices.size if level < slices.level else slices.inner.get(level + 1, 1)
            domains = [leaf for domain in domains for leaf in self._go_down(domain, level, size, want)]
            level += 1
        if not leaders:
            return domains, []
        leading = []
        for domain in domains:
            if domain.leaders > 0:
                place = copy.copy(domain)
                place.pods = domain.leaders
                leading.append(place)
        return [domain for domain in domains if domain.pods > 0], leading

    def _load_counts(self, level: int, domains: Iterable[Domain]) -> list[Domain]:
        """These domains of a level, with what fits below them."""
        counted = list(domains)
        self._counts[level].put(counted)
        return counted

    def _go_down(self, domain: Domain, level: int, size: int, want: Want) -> list[Domain]:
        """Share what a domain of a level was given among its children."""
        children = sort_domains(self._load_counts(level + 1, domain.children), unconstrained=want.unconstrained)
        if size > 1:
            for child in children:
                child.slices, child.slices_with_leader = child.pods // size, child.pods_with_leader // size
        part = Want(domain.pods, domain.leaders, size, want.unconstrained)
        return distribute(children, part, in_slices=size > 1)

    def assignment(self, domains: Iterable[Domain]) -> TopologyAssignment:
        """The leaves in order, by all levels, or by the node alone."""
        first = len(self._tree.levels) - 1 if self._tree.ends_in_nodes else 0
        ordered = sorted((domain for domain in domains if domain.pods), key=lambda domain: domain.values)
        pairs = tuple((domain.values[first:], domain.pods) for domain in ordered)
        return TopologyAssignment(self._tree.levels[first:], pairs)

    # --- phase 2a

    def _find_level(self, level: int, want: Want) -> tuple[int, list[Domain]] | str:
        """The level at which all fit, from the one wanted up to the top, and the domains (findLevelWithFitDomains)."""
        slices, leaders = want.pods // want.size, want.leaders
        counts, domains = self._counts[level], self._tree.domains[level]
        if not domains:
            return f"no topology domains at level: {self._tree.levels[level]}"
        room = counts.slices_with_leader if leaders > 0 else counts.slices
        enough = np.flatnonzero((counts.leaders >= leaders) & (room >= slices))
        ranks = self._tree.ranks[level]
        if len(enough):
            if not want.unconstrained:
                of_enough = room[enough]
                enough = enough[of_enough == of_enough.min()]
            best = counts.order_with_leader(enough, ranks, unconstrained=want.unconstrained)[0]
            return level, self._load_counts(level, [domains[best]])
        order = counts.order_with_leader(np.arange(len(domains)), ranks, unconstrained=want.unconstrained)
        if self._request.is_required:
            fitting = counts.pods[order[-1]] if want.unconstrained else counts.slices[order[0]]
            return self._not_fit(int(fitting), slices, level)
        if level > 0 and not want.unconstrained:
            return self._find_level(level - 1, want)
        return self._spread(self._load_counts(level, [domains[index] for index in order]), level, want)

    def _spread(self, ordered: list[Domain], level: int, want: Want) -> tuple[int, list[Domain]] | str:
        """Several domains of one level, that of the leader first."""
        total = rest = want.pods // want.size
        leaders = want.leaders
        ordered = put_leader_first(ordered, want, in_slices=True)
        domains = []
        index = 0
        while leaders > 0 and index < len(ordered) and ordered[index].leaders > 0:
            domain = ordered[index]
            if not want.unconstrained and domain.slices_with_leader >= rest:
                domain = best_fit_for_slices(ordered[index:], rest, leaders)
            domains.append(domain)
            leaders -= domain.leaders
            rest -= domain.slices_with_leader
            index += 1
        if leaders > 0:
            return self._not_fit(want.leaders - leaders, total, level)
        ordered = sort_domains(ordered[index:], unconstrained=want.unconstrained)
        for index, domain in enumerate(ordered):
            if rest <= 0:
                break
            if not want.unconstrained and domain.slices >= rest:
                domain = best_fit_for_slices(ordered[index:], rest, 0)
            domains.append(domain)
            rest -= domain.slices
        if rest > 0:
            return self._not_fit(total - rest, total, level)
        return level, domains

    # --- messages

    def _not_fit(self, fitting: int, wanted: int, level: int) -> str:
        if self._levels.layers:
            return self._layers_not_fit(level)
        unit = "pod" if self._levels.slices.size == 1 else "slice"
        if fitting:
            said = f"allows to fit only {fitting} out of {wanted} {unit}(s)"
        else:
            said = f"doesn't allow to fit any of {wanted} {unit}(s)"
        return f"topology {go_quote(self._topology)} {said}{self._exclusions().text}"

    def _layers_not_fit(self, level: int) -> str:
        said = f"topology {go_quote(self._topology)} doesn't allow to fit"
        best = min(
            self._load_counts(level, self._tree.domains[level]),
            key=lambda domain: (-domain.slices, ",".join(domain.values)),
        )
        for layer in self._levels.layers:
            target = self._tree.level_of(layer.topology)
            if target is not None:
                fitting = self._slices_below(best, level, target, layer.size)
                said += f"; {fitting}/{self._request.count // layer.size} slice(s) fit on level {layer.topology}"
        return said + self._exclusions().text

    def _slices_below(self, domain: Domain, level: int, target: int, size: int) -> int:
        if level == target:
            return domain.pods // size
        children = self._load_counts(level + 1, domain.children)
        return sum(self._slices_below(child, level + 1, target, size) for child in children)
