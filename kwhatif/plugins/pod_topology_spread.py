"""PodTopologySpread: spreads pods over the domains of a topology key.

Upstream: plugins/podtopologyspread (common.go, filtering.go, scoring.go).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.tally import Tally, TallySpec
from kwhatif.cluster.types import BoolArray, Float64Array, Int64Array
from kwhatif.framework.arithmetic import go_round
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import (
    MAX_SCORE,
    ClusterEvent,
    EventOccurrence,
    Handle,
    Plugin,
    QueueingHint,
    Suggestion,
)
from kwhatif.framework.signature import Signature
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.pod_changes import suggest_spread
from kwhatif.plugins.shared.spread_constraints import (
    HOSTNAME,
    OWNERS,
    Constraint,
    ConstraintSource,
    PodTopologySpreadArgs,
    all_keys_present,
    in_whole_domains,
    spread_problems,
)
from kwhatif.versions import Features

MISSING_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
TOO_MANY = "node(s) didn't match pod topology spread constraints"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
_ZERO = np.zeros((), np.int64)


class CountedConstraint(msgspec.Struct, frozen=True):
    """A constraint with the live count of the pods it selects; ``self_match_num``: 1 if it selects the pod, too."""

    constraint: Constraint
    tally: Tally
    self_match_num: int


class Spread(msgspec.Struct, frozen=True):
    """PreFilter's state."""

    constraints: tuple[CountedConstraint, ...]


UNCONSTRAINED = Spread(())


class SpreadIndex(msgspec.Struct, eq=False):
    """Per-cluster data: live counts by template and by whatever else the constraints depend on, and by shape."""

    columns: NodeColumns | None = None
    tallied: dict[Hashable, tuple[tuple[Constraint, Tally], ...]] = msgspec.field(default_factory=dict)
    of_shape: dict[int, Spread] = msgspec.field(default_factory=dict)

    def follow(self, columns: NodeColumns) -> None:
        """Start anew where taints have changed: on which nodes pods count may depend on them."""
        if self.columns is not columns:
            self.columns = columns
            self.tallied.clear()
            self.of_shape.clear()


class Scores(msgspec.Struct, frozen=True):
    """PreScore's state.

    ignored bool[n]: nodes without a topology the pod asks for, None for none; scores int64[n], less is better.
    """

    ignored: BoolArray | None
    scores: Int64Array


@cached_per_cluster
def _spread_index_of(cluster: Cluster, plugin: PodTopologySpread, when_unsatisfiable: str) -> SpreadIndex:
    """An index that is empty at first; the arguments only make up its key in the cache."""
    return SpreadIndex()


class PodTopologySpread(Plugin[Spread, Scores]):
    name = "PodTopologySpread"
    args = PodTopologySpreadArgs
    default = DefaultPlugin(160, weight=2)
    depends_on_other_pods = True
    needs_pre_filter = True
    needs_pre_score = True
    dependencies = OWNERS

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        return spread_problems(path, args)

    @property
    def queueing_hints(self) -> Mapping[ClusterEvent, QueueingHint]:
        return {ClusterEvent.POD_ADDED: self._is_counted_for, ClusterEvent.POD_DELETED: self._is_counted_for}

    def _is_counted_for(self, waiting: PodInfo, happening: EventOccurrence) -> bool:
        """Whether a pod that was added or removed counts for the waiting pod's constraints."""
        other = happening.pod
        if other is None or other.shape.namespace != waiting.shape.namespace or not happening.affects_topology:
            return False
        constraints = self._source.constraints_of(waiting.shape, happening.cluster, HARD)
        return any(constraint.selector.matches(other.shape.labels) for constraint in constraints)

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._source = ConstraintSource(handle.args, handle.features)

    def _spread(self, shape: PodShape, cluster: Cluster, when_unsatisfiable: str) -> Spread:
        """The pod's constraints with this ``whenUnsatisfiable``."""
        index = _spread_index_of(cluster, self, when_unsatisfiable)
        index.follow(cluster.columns)
        spread = index.of_shape.get(shape.index)
        if spread is None:
            key = (shape.template, self._source.compile_key(shape, cluster, when_unsatisfiable))
            tallied = index.tallied.get(key)
            if tallied is None:
                tallied = index.tallied[key] = self._tallied_constraints(shape, cluster, when_unsatisfiable)
            counted = (
                CountedConstraint(constraint, tally, int(constraint.selector.matches(shape.labels)))
                for constraint, tally in tallied
            )
            spread = index.of_shape[shape.index] = Spread(tuple(counted)) if tallied else UNCONSTRAINED
        return spread

    def _tallied_constraints(
        self, shape: PodShape, cluster: Cluster, when_unsatisfiable: str
    ) -> tuple[tuple[Constraint, Tally], ...]:
        constraints, features = self._source.constraints_of(shape, cluster, when_unsatisfiable), self.handle.features
        hard = when_unsatisfiable == HARD
        present = all_keys_present(constraints, cluster) if hard or self._requires_all_topologies(shape) else None

        def spec(constraint: Constraint) -> TallySpec:
            if not hard and constraint.topology_key == HOSTNAME:
                return constraint.tally_by_node(shape)
            by_domain = constraint.tally(shape, cluster, present, features)
            return in_whole_domains(by_domain) if hard and features.spread_counts_whole_domains else by_domain

        return tuple((constraint, cluster.tally(spec(constraint))) for constraint in constraints)

    def never_filters_or_scores(self, pod: PodInfo, cluster: Cluster) -> bool:
        return self.handle.features.spread_skips_score and not self._source.has_constraints(pod.shape, cluster)

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return None if pod.shape.spec.topology_spread_constraints or self._source.has_defaults else {}

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Spread | Skip:
        spread = self._spread(pod.shape, cluster, HARD)
        return spread if spread.constraints else SKIP

    def filter(self, pod: PodInfo, nodes: NodeView, state: Spread) -> Iterator[Rejection]:
        alive: BoolArray | None = None
        for counted in state.constraints:
            key = counted.constraint.topology_key
            codes = nodes.label(key)
            match_num, min_match_num = _match_numbers(counted, nodes)
            too_skewed = match_num + counted.self_match_num - min_match_num > counted.constraint.max_skew
            if nodes.is_unchanged:
                # It was by domain so far.
                too_skewed = too_skewed[codes]
            missing = None if nodes.columns.label(key).is_complete else codes < 0
            if missing is not None:
                too_skewed &= ~missing
                missing = missing if alive is None else missing & alive
                yield Rejection(missing, MISSING_LABEL, unresolvable=True, detail=_MissingLabelDetail(key))
            if alive is not None:
                too_skewed &= alive
            yield Rejection(too_skewed, TOO_MANY, detail=_SkewDetail(counted, nodes, match_num, min_match_num))
            rejected = too_skewed if missing is None else missing | too_skewed
            alive = ~rejected if alive is None else alive & ~rejected

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        return suggest_spread(pod.pod)

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: Spread | None) -> Scores | Skip:
        soft = self._spread(pod.shape, nodes.cluster, SOFT)
        if not soft.constraints and self.handle.features.spread_skips_score:
            return SKIP
        ignored = self._find_ignored(pod, nodes, soft)
        total: Float64Array = np.zeros(nodes.size)
        taking_part = None if ignored is None else ~ignored
        for counted in soft.constraints:
            constraint, tally = counted.constraint, counted.tally
            codes = nodes.label(constraint.topology_key)
            if constraint.topology_key == HOSTNAME:
                count = nodes.counts(tally)
                domains = nodes.size if taking_part is None else int(np.count_nonzero(taking_part))
            else:
                # Nodes without the label are a domain of their own here, as they are upstream.
                assert tally.spec.topology is not None
                places = nodes.take_rows(tally.spec.topology.codes)
                some = places if taking_part is None else places[taking_part]
                domains = int(np.count_nonzero(np.bincount(some + 1)))
                count = tally.by_domain[codes]
            part = count * math.log(domains + 2) + float(constraint.max_skew - 1)
            total = total + np.where(codes >= 0, part, 0.0)
        scores = go_round(total) if self.handle.features.spread_scores_are_rounded else total.astype(np.int64)
        return Scores(ignored, scores if ignored is None else np.where(ignored, 0, scores))

    def _find_ignored(self, pod: PodInfo, nodes: NodeView, soft: Spread) -> BoolArray | None:
        if not self._requires_all_topologies(pod.shape):
            return None
        ignored = np.zeros(nodes.size, np.bool_)
        for counted in soft.constraints:
            ignored |= nodes.label(counted.constraint.topology_key) < 0
        return ignored if ignored.any() else None

    def _requires_all_topologies(self, shape: PodShape) -> bool:
        return bool(shape.spec.topology_spread_constraints) or not self._source.system_defaulted

    def score(self, pod: PodInfo, nodes: NodeView, state: Scores) -> Int64Array:
        return state.scores

    def normalize(self, pod: PodInfo, nodes: NodeView, state: Scores, scores: Int64Array) -> Int64Array:
        ignored = state.ignored
        taking_part = scores if ignored is None else scores[~ignored]
        if not len(taking_part):
            return np.zeros(len(scores), np.int64)
        # Upstream looks for the greatest score from 0 on.
        least, most = int(taking_part.min()), max(int(taking_part.max()), 0)
        scaled = MAX_SCORE * (most + least - scores) // most if most else np.full(len(scores), MAX_SCORE, np.int64)
        return scaled if ignored is None else np.where(ignored, 0, scaled)


def _match_numbers(counted: CountedConstraint, nodes: NodeView) -> tuple[Int64Array, Int64Array]:
    """Pods in each node's domain, and in the emptiest domain: int64[n] each, both after the view's change.

    Where it changes nothing, they are int64[D + 1] by domain, the last place for nodes without the label, and int64[].
    """
    tally, cluster = counted.tally, nodes.cluster
    open_domains = tally.open_domains(cluster.active, cluster.membership_version)
    places = open_domains.nonzero()[0]
    counts = tally.by_domain[places]
    too_few = len(places) < counted.constraint.min_domains
    shift = nodes.shift(tally)
    # A domain is there for upstream as long as a node is that may be counted; pods on other nodes of it do not keep it.
    uncounted = None if cluster.is_complete else ~open_domains
    if shift is None:
        match_num = tally.by_domain.copy() if uncounted is None else np.where(uncounted, 0, tally.by_domain)
        # With no domain there are too few: minDomains is at least 1.
        return match_num, _ZERO if too_few else counts[counts.argmin()]
    codes = nodes.label(counted.constraint.topology_key)
    match_num = tally.by_domain[codes] + shift
    if uncounted is not None:
        match_num = np.where(uncounted[codes], 0, match_num)
    if too_few:
        return match_num, np.zeros(len(match_num), np.int64)
    # A row changes its own domain only. So the minimum is that domain's new number or the least of the others, which
    # is the least of all or, where the row's own domain has that, the next.
    order = np.argsort(counts, kind="stable")
    least_at, least = places[order[0]], counts[order[0]]
    runner_up = counts[order[1]] if len(order) > 1 else np.iinfo(np.int64).max
    of_others = np.where(codes == least_at, runner_up, least)
    own = np.where(open_domains[codes], match_num, np.iinfo(np.int64).max)
    return match_num, np.minimum(of_others, own)


class _MissingLabelDetail(msgspec.Struct, frozen=True):
    key: str

    def __call__(self, place: int) -> str:
        return f"node has no label {self.key}"


class _SkewDetail(msgspec.Struct, frozen=True):
    """The arithmetic of a skew, computed only for nodes that are reported."""

    counted: CountedConstraint
    nodes: NodeView
    match_num: Int64Array
    min_match_num: Int64Array

    def __call__(self, place: int) -> str:
        constraint = self.counted.constraint
        column = self.nodes.columns.label(constraint.topology_key)
        code = self.nodes.label(constraint.topology_key)[place]
        domain = column.values[code]
        at = code if self.nodes.is_unchanged else place
        match_num = int(self.match_num[at])
        min_match_num = int(self.min_match_num if self.min_match_num.ndim == 0 else self.min_match_num[at])
        allowed = min_match_num + constraint.max_skew
        return (
            f"{constraint.topology_key} {domain} would have {match_num + self.counted.self_match_num} "
            f"of {constraint.selector}, allowed at most {allowed} "
            f"(the emptiest has {min_match_num}, maxSkew {constraint.max_skew})"
        )
