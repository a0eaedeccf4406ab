"""PodTopologySpread: as many pods in one zone (or rack, or node) as in the next.

Upstream: plugins/podtopologyspread (common.go, filtering.go, scoring.go).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.tally import Tally, TallySpec
from kwhatif.cluster.types import BoolArray, Float64Array, Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.arithmetic import go_round
from kwhatif.framework.events import Event, Happening, Hint
from kwhatif.framework.interface import MAX_SCORE, Handle, Plugin
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.plugins.shared.spread_constraints import (
    HOSTNAME,
    Constraint,
    ConstraintSource,
    all_keys_present,
    in_whole_domains,
)

MISSING_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
TOO_MANY = "node(s) didn't match pod topology spread constraints"


@dataclass(frozen=True, slots=True)
class Counted:
    """A constraint with the live count of the pods it selects; ``itself``: 1 if it selects the pod, too."""

    constraint: Constraint
    tally: Tally
    itself: int


@dataclass(frozen=True, slots=True)
class Spread:
    constraints: tuple[Counted, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """ignored bool[n]: nodes without a topology the pod asks for, None for none; scores int64[n], less is better."""

    ignored: BoolArray | None
    scores: Int64Array


class PodTopologySpread(Plugin[Spread, Scores]):
    name = "PodTopologySpread"
    needs_pre_filter = True
    needs_pre_score = True
    reads = ("ReplicaSet", "ReplicationController", "Service", "StatefulSet")

    @property
    def requeue_hints(self) -> Mapping[Event, Hint]:
        return {Event.POD_ADDED: self._counts_for, Event.POD_DELETED: self._counts_for}

    def _counts_for(self, waiting: PodInfo, happening: Happening) -> bool:
        """Whether a pod that came or went is one that the waiting pod's constraints count."""
        other = happening.pod
        if other is None or other.shape.namespace != waiting.shape.namespace or not happening.concerns_neighbours:
            return False
        constraints = self._source.of(waiting.shape, happening.cluster, "DoNotSchedule")
        return any(constraint.selector.matches(other.shape.labels) for constraint in constraints)

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._source = ConstraintSource(handle.args, handle.features)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Spread | Skip:
        return cluster.remember((self, "filter", pod.shape.index), lambda: self._hard(pod, cluster))

    def _hard(self, pod: PodInfo, cluster: Cluster) -> Spread | Skip:
        constraints = self._source.of(pod.shape, cluster, "DoNotSchedule")
        if not constraints:
            return SKIP
        keys_present = all_keys_present(constraints, cluster.columns)
        return Spread(
            tuple(
                Counted(
                    constraint,
                    cluster.tally(self._hard_count(constraint, pod, cluster, keys_present)),
                    int(constraint.selector.matches(pod.shape.labels)),
                )
                for constraint in constraints
            )
        )

    def _hard_count(self, constraint: Constraint, pod: PodInfo, cluster: Cluster, keys_present: BoolArray) -> TallySpec:
        spec = constraint.tally(pod.shape, cluster, keys_present, self.handle.features)
        return in_whole_domains(spec) if self.handle.features.spread_counts_whole_domains else spec

    def filter(self, pod: PodInfo, nodes: NodeView, state: Spread) -> Iterator[Rejection]:
        alive = np.ones(nodes.size, np.bool_)
        for counted in state.constraints:
            key = counted.constraint.topology_key
            codes = nodes.label(key)
            missing = alive & (codes < 0)
            yield Rejection(missing, MISSING_LABEL, unresolvable=True, detail=_Missing(key))
            have, least = _counts(counted, nodes)
            skew = have + counted.itself - least
            crowded = alive & (codes >= 0) & (skew > counted.constraint.max_skew)
            yield Rejection(crowded, TOO_MANY, detail=_Crowding(counted, nodes, have, least))
            alive &= ~(missing | crowded)

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: Spread | None) -> Scores | Skip:
        cluster = nodes.cluster
        soft = cluster.remember((self, "score", pod.shape.index), lambda: self._soft(pod, cluster))
        if not soft.constraints and self.handle.features.spread_skips_score:
            return SKIP
        ignored = self._ignored(pod, nodes, soft)
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
                places = nodes.of(tally.spec.topology.codes)
                some = places if taking_part is None else places[taking_part]
                domains = int(np.count_nonzero(np.bincount(some + 1)))
                count = tally.by_domain[codes]
            part = count * math.log(domains + 2) + float(constraint.max_skew - 1)
            total = total + np.where(codes >= 0, part, 0.0)
        scores = go_round(total) if self.handle.features.spread_scores_are_rounded else total.astype(np.int64)
        return Scores(ignored, scores if ignored is None else np.where(ignored, 0, scores))

    def _ignored(self, pod: PodInfo, nodes: NodeView, soft: Spread) -> BoolArray | None:
        if not self._require_all(pod):
            return None
        ignored = np.zeros(nodes.size, np.bool_)
        for counted in soft.constraints:
            ignored |= nodes.label(counted.constraint.topology_key) < 0
        return ignored if ignored.any() else None

    def _require_all(self, pod: PodInfo) -> bool:
        return bool(pod.shape.spec.topology_spread_constraints) or not self._source.system_defaulted

    def _soft(self, pod: PodInfo, cluster: Cluster) -> Spread:
        constraints = self._source.of(pod.shape, cluster, "ScheduleAnyway")
        keys_present = all_keys_present(constraints, cluster.columns) if self._require_all(pod) else None
        features = self.handle.features
        return Spread(
            tuple(
                Counted(
                    constraint,
                    cluster.tally(
                        constraint.tally_by_node(pod.shape)
                        if constraint.topology_key == HOSTNAME
                        else constraint.tally(pod.shape, cluster, keys_present, features)
                    ),
                    0,
                )
                for constraint in constraints
            )
        )

    def score(self, pod: PodInfo, nodes: NodeView, state: Scores) -> Int64Array:
        return state.scores

    def normalize(self, pod: PodInfo, nodes: NodeView, state: Scores, scores: Int64Array) -> Int64Array:
        ignored = state.ignored
        taking_part = scores if ignored is None else scores[~ignored]
        if not len(taking_part):
            return np.zeros(len(scores), np.int64)
        least, most = int(taking_part.min()), max(int(taking_part.max()), 0)
        scaled = MAX_SCORE * (most + least - scores) // most if most else np.full(len(scores), MAX_SCORE, np.int64)
        return scaled if ignored is None else np.where(ignored, 0, scaled)


def _counts(counted: Counted, nodes: NodeView) -> tuple[Int64Array, Int64Array]:
    """int64[n] pods in each node's domain, and int64[n] in the emptiest domain, both after the view's change."""
    tally = counted.tally
    codes = nodes.label(counted.constraint.topology_key)
    have = tally.by_domain[codes]
    shift = nodes.shift(tally)
    if shift is not None:
        have = have + shift
    open_domains = tally.open_domains
    if np.count_nonzero(open_domains) < counted.constraint.min_domains:
        return have, np.zeros(len(have), np.int64)
    places = np.flatnonzero(open_domains)
    counts = tally.by_domain[places]
    order = np.argsort(counts, kind="stable")
    least_at, least = places[order[0]], counts[order[0]]
    if shift is None:
        return have, np.full(len(have), least, np.int64)
    # Each row imagines a change in its own domain only: the least of the others is the first or the second.
    runner_up = counts[order[1]] if len(order) > 1 else np.iinfo(np.int64).max
    of_others = np.where(codes == least_at, runner_up, least)
    own = np.where(open_domains[codes], have, np.iinfo(np.int64).max)
    return have, np.minimum(of_others, own)


@dataclass(frozen=True, slots=True)
class _Missing:
    key: str

    def __call__(self, place: int) -> str:
        return f"node has no label {self.key}"


@dataclass(frozen=True, slots=True)
class _Crowding:
    """The arithmetic of a skew, worked out only for the node somebody asks about."""

    counted: Counted
    nodes: NodeView
    have: Int64Array
    least: Int64Array

    def __call__(self, place: int) -> str:
        constraint = self.counted.constraint
        column = self.nodes.columns.label(constraint.topology_key)
        domain = column.values[self.nodes.label(constraint.topology_key)[place]]
        least, allowed = int(self.least[place]), int(self.least[place]) + constraint.max_skew
        return (
            f"{constraint.topology_key} {domain} would have {int(self.have[place]) + self.counted.itself} "
            f"of {constraint.selector}, allowed at most {allowed} "
            f"(the emptiest has {least}, maxSkew {constraint.max_skew})"
        )
