"""InterPodAffinity: pods that want to be near to, or far from, other pods.

Upstream: plugins/interpodaffinity (filtering.go, scoring.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import AffinityTerm, PodInfo, PodShape
from kwhatif.cluster.tally import Tally, TallySpec
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.events import Event, Happening
from kwhatif.framework.interface import MAX_SCORE, Handle, Plugin
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.plugins.shared.affinity_terms import Incoming

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

Weigh = Callable[[Incoming, str, PodShape], int]


@dataclass(slots=True, eq=False)
class Neighbours:
    """Live counts by topology key: of pods the pod wants near, wants far, and of pods that want it far.

    So many of the shapes with terms are ``known``: they have been asked whether theirs concern the pod.
    """

    incoming: Incoming
    near: dict[str, Tally]
    far: dict[str, Tally]
    unwelcoming: dict[str, Tally] = field(default_factory=dict)
    known: int = 0

    @property
    def silent(self) -> bool:
        """Whether Filter is left out: no required terms, and no pod that runs wants the pod far.

        Pods that are only nominated do not count, so their anti-affinity alone keeps nobody away, as upstream.
        """
        return not (self.near or self.far or any(tally.total for tally in self.unwelcoming.values()))


@dataclass(slots=True, eq=False)
class Preferences:
    """Live sums of weights by topology key, of the pod's own preferred terms and of other pods' terms about it."""

    incoming: Incoming
    tallies: dict[str, Tally] = field(default_factory=dict)
    known: int = 0


class InterPodAffinity(Plugin[Neighbours, Preferences]):
    name = "InterPodAffinity"
    needs_pre_filter = True
    needs_pre_score = True
    reads = ("Namespace",)
    requeue_on = MappingProxyType(
        {
            Event.POD_ADDED: lambda waiting, happening: _wanted_near(waiting, happening),
            Event.POD_DELETED: lambda waiting, happening: _was_in_the_way(waiting, happening),
        }
    )

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._hard_weight: int = handle.args.hard_pod_affinity_weight
        self._ignore_existing: bool = handle.args.ignore_preferred_terms_of_existing_pods

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Neighbours | Skip:
        state = cluster.remember((self, "filter", pod.shape.index), lambda: _neighbours(pod.shape, cluster))
        affine = cluster.shapes.affine
        if state.known < len(affine):
            incoming = state.incoming
            for shape in affine[state.known :]:
                for term in shape.anti_affinity:
                    if term.topology_key not in state.unwelcoming and incoming.met_by(term):
                        state.unwelcoming[term.topology_key] = cluster.tally(
                            _spec("unwelcoming", incoming, term.topology_key, cluster, Incoming.unwelcome_to)
                        )
            state.known = len(affine)
        return SKIP if state.silent and self.handle.features.filters_can_be_skipped else state

    def filter(self, pod: PodInfo, nodes: NodeView, state: Neighbours) -> Iterator[Rejection]:
        alive = np.ones(nodes.size, np.bool_)
        if state.near:
            lonely = ~_near_enough(state, nodes)
            yield Rejection(lonely, AFFINITY, unresolvable=True, detail=_Lonely(state, nodes))
            alive &= ~lonely
        for tallies, reason in ((state.far, ANTI_AFFINITY), (state.unwelcoming, EXISTING_ANTI_AFFINITY)):
            crowded = np.zeros(nodes.size, np.bool_)
            for key, tally in tallies.items():
                crowded |= _here(tally, key, nodes) > 0
            crowded &= alive
            yield Rejection(crowded, reason, detail=_Crowd(tallies, nodes))
            alive &= ~crowded

    def pre_score(self, pod: PodInfo, nodes: NodeView, made: Neighbours | None) -> Preferences | Skip:
        shape, cluster = pod.shape, nodes.cluster
        if self._ignore_existing and not (shape.preferred_affinity or shape.preferred_anti_affinity):
            return SKIP
        state = cluster.remember((self, "score", shape.index), lambda: Preferences(Incoming.of(shape, cluster.objects)))
        affine = cluster.shapes.affine
        if state.known < len(affine):
            incoming = state.incoming
            keys = [t.topology_key for t in (*incoming.preferred, *incoming.preferred_anti)]
            for other in affine[state.known :]:
                keys += [t.topology_key for t in self._terms_about(other) if incoming.met_by(t)]
            for key in keys:
                if key not in state.tallies:
                    state.tallies[key] = cluster.tally(
                        _spec((self._hard_weight,), incoming, key, cluster, self._weight_between)
                    )
            state.known = len(affine)
        return state if state.tallies else SKIP

    def _terms_about(self, other: PodShape) -> Iterator[AffinityTerm]:
        if self._hard_weight > 0:
            yield from other.affinity
        yield from other.preferred_affinity
        yield from other.preferred_anti_affinity

    def _weight_between(self, incoming: Incoming, key: str, other: PodShape) -> int:
        """What a pod of shape ``other`` adds to the score of nodes in its own domain of ``key``."""
        weight = 0
        for sign, own, its in (
            (1, incoming.preferred, other.preferred_affinity),
            (-1, incoming.preferred_anti, other.preferred_anti_affinity),
        ):
            for term in own:
                if term.topology_key == key and incoming.meets(term, other):
                    weight += sign * term.weight
            for term in its:
                if term.topology_key == key and incoming.met_by(term):
                    weight += sign * term.weight
        if self._hard_weight > 0:
            for term in other.affinity:
                if term.topology_key == key and incoming.met_by(term):
                    weight += self._hard_weight
        return weight

    def score(self, pod: PodInfo, nodes: NodeView, state: Preferences) -> Int64Array:
        total = np.zeros(nodes.size, np.int64)
        for key, tally in state.tallies.items():
            total += tally.by_domain[nodes.label(key)]
        return total

    def normalize(self, pod: PodInfo, nodes: NodeView, state: Preferences, scores: Int64Array) -> Int64Array:
        if not len(scores):
            return scores
        least, most = int(scores.min()), int(scores.max())
        if most == least:
            return np.zeros(len(scores), np.int64)
        return (float(MAX_SCORE) * ((scores - least) / float(most - least))).astype(np.int64)


def _neighbours(shape: PodShape, cluster: Cluster) -> Neighbours:
    incoming = Incoming.of(shape, cluster.objects)
    near = {
        t.topology_key: _spec("near", incoming, t.topology_key, cluster, Incoming.wants_near) for t in incoming.required
    }
    far = {
        t.topology_key: _spec("far", incoming, t.topology_key, cluster, Incoming.wants_far)
        for t in incoming.required_anti
    }
    return Neighbours(
        incoming,
        {key: cluster.tally(spec) for key, spec in near.items()},
        {key: cluster.tally(spec) for key, spec in far.items()},
    )


def _here(tally: Tally, key: str, nodes: NodeView) -> Int64Array:
    """int64[n]: the count in each node's own domain, after the view's change."""
    here = tally.by_domain[nodes.label(key)]
    shift = nodes.shift(tally)
    return here if shift is None else here + shift


def _near_enough(state: Neighbours, nodes: NodeView) -> BoolArray:
    """bool[n]: nodes with all topology labels and, in each domain, a pod to be near to.

    The first pod of a group that is to be near itself may go anywhere.
    """
    labelled = np.ones(nodes.size, np.bool_)
    exist = np.ones(nodes.size, np.bool_)
    nobody = np.ones(nodes.size, np.bool_)
    for key, tally in state.near.items():
        labelled &= nodes.label(key) >= 0
        exist &= _here(tally, key, nodes) > 0
        shift = nodes.shift(tally)
        nobody &= (tally.total if shift is None else tally.total + shift) == 0
    if not state.incoming.meets_itself:
        nobody[:] = False
    return labelled & (exist | nobody)


@dataclass(frozen=True, slots=True)
class _Lonely:
    state: Neighbours
    nodes: NodeView

    def __call__(self, place: int) -> str:
        texts = []
        for term in self.state.incoming.required:
            column = self.nodes.columns.label(term.topology_key)
            code = self.nodes.label(term.topology_key)[place]
            if code < 0:
                texts.append(f"node has no label {term.topology_key}")
            elif self.state.near[term.topology_key].by_domain[code] <= 0:
                texts.append(f"no pod matching {term.selector} in {term.topology_key} {column.values[code]}")
        return "; ".join(texts) or "the pods it wants to be near to are elsewhere"


@dataclass(frozen=True, slots=True)
class _Crowd:
    tallies: dict[str, Tally]
    nodes: NodeView

    def __call__(self, place: int) -> str:
        texts = []
        for key, tally in self.tallies.items():
            code = self.nodes.label(key)[place]
            count = int(_here(tally, key, self.nodes)[place])
            if code >= 0 and count > 0:
                domain = self.nodes.columns.label(key).values[code]
                texts.append(f"{count} pod{'s'[: count != 1]} it must not be near in {key} {domain}")
        return "; ".join(texts)


def _spec(purpose: object, incoming: Incoming, key: str, cluster: Cluster, weigh: Weigh) -> TallySpec:
    return TallySpec(
        ("affinity", purpose, incoming, key),
        lambda shape: weigh(incoming, key, shape),
        topology=cluster.columns.label(key),
    )


def _meets_all(terms: Sequence[AffinityTerm], shape: PodShape) -> bool:
    """Whether a pod is one that all the terms are about, namespace selectors asked of no labels (as upstream)."""
    return bool(terms) and all(
        (shape.namespace in term.namespaces or term.namespace_selector.matches({}))
        and term.selector.matches(shape.labels)
        for term in terms
    )


def _wanted_near(waiting: PodInfo, happening: Happening) -> bool:
    return happening.pod is not None and _meets_all(waiting.shape.affinity, happening.pod.shape)


def _was_in_the_way(waiting: PodInfo, happening: Happening) -> bool:
    gone = happening.pod
    if gone is None or not happening.concerns_neighbours:
        return False
    if _meets_all(waiting.shape.anti_affinity, gone.shape):
        return True
    its_own_count = happening.cluster.shapes.features.departed_anti_affinity_counts
    return its_own_count and _meets_all(gone.shape.anti_affinity, waiting.shape)
