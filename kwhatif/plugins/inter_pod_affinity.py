"""InterPodAffinity: required and preferred affinity and anti-affinity to other pods.

Upstream: plugins/interpodaffinity (filtering.go, scoring.go; mergeAffinityTermNamespacesIfNotEmpty in plugin.go) and
kube-scheduler/framework/types.go (AffinityTerm.Matches).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from kwhatif.api.core import Namespace
from kwhatif.api.selectors import Selector
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import AffinityTerm, PodInfo, PodShape, Selection, TermIndex
from kwhatif.cluster.tally import Tally, TallySpec, Weighing
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.cluster.unlisted_terms import unseen
from kwhatif.framework.declaration import Args, DefaultPlugin
from kwhatif.framework.interface import MAX_SCORE, ClusterEvent, Dependency, EventOccurrence, Handle, Plugin, Suggestion
from kwhatif.framework.signature import LABELS, Signature
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.golang.config_struct import Bool, Int32
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.pod_changes import suggest_pod_affinity
from kwhatif.versions import Features

Weights = tuple[tuple[Selection, int], ...]
NamespaceLabels = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class OwnTerms:
    """The terms of a template, by topology key.

    ``near`` are the pods that all required affinity terms match, None without such terms.
    """

    near: Selection | None
    near_by: tuple[str, ...]
    far: dict[str, Weights]
    preferred: dict[str, Weights]

    @classmethod
    def from_shape(cls, shape: PodShape, namespaces: NamespaceLabels) -> OwnTerms:
        signed = [(term, 1) for term in shape.anti_affinity]
        wishes = [(term, term.weight) for term in shape.preferred_affinity]
        wishes += [(term, -term.weight) for term in shape.preferred_anti_affinity]
        return cls(
            _all_at_once([selection_of_term(term, namespaces) for term in shape.affinity]),
            tuple(dict.fromkeys(term.topology_key for term in shape.affinity)),
            _weights_by_key(signed, namespaces),
            _weights_by_key(wishes, namespaces),
        )


def selection_of_term(term: AffinityTerm, namespaces: NamespaceLabels) -> Selection:
    """The pods that a pod's own term matches.

    Its namespace selector is resolved to names first. Upstream then still matches it against a namespace without
    labels, so a selector such as ``env notin (prod)`` admits every namespace; so does this.
    """
    if term.namespace_selector.matches({}):
        return Selection(term.selector, None)
    names = (name for name, labels in namespaces.items() if term.namespace_selector.matches(labels))
    return Selection(term.selector, term.namespaces.union(names))


def _all_at_once(selections: Sequence[Selection]) -> Selection | None:
    """The intersection of the selections; None for no selections."""
    if not selections:
        return None
    named = [selection.namespaces for selection in selections if selection.namespaces is not None]
    requirements = [requirement for selection in selections for requirement in selection.selector.requirements]
    nothing = any(selection.selector.nothing for selection in selections)
    return Selection(
        Selector(tuple(dict.fromkeys(requirements)), nothing), frozenset.intersection(*named) if named else None
    )


def _weights_by_key(terms: Sequence[tuple[AffinityTerm, int]], namespaces: NamespaceLabels) -> dict[str, Weights]:
    found: dict[str, Weights] = {}
    for term, weight in terms:
        found[term.topology_key] = (*found.get(term.topology_key, ()), (selection_of_term(term, namespaces), weight))
    return found


AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"


Unseen = Mapping[str, Int64Array]
"""By topology key, int64[D + 1]: what pods count in each domain whose terms are not yet visible."""


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Live counts by topology key: of pods that match the pod's affinity, its anti-affinity, and of pods whose
    anti-affinity matches it.

    ``required`` are the pod's own terms, ``itself`` says whether it matches its own affinity, ``unseen`` is subtracted
    from ``unwelcoming``.
    """

    required: tuple[AffinityTerm, ...]
    itself: bool
    near: dict[str, Tally]
    far: dict[str, Tally]
    unwelcoming: dict[str, Tally]
    unseen: Unseen = field(default_factory=dict)

    @property
    def skips_filter(self) -> bool:
        """Whether Filter is skipped: no required terms, and no running pod's anti-affinity matches the pod.

        Pods that are only nominated do not count, so their anti-affinity alone rejects no pod, as upstream.
        """
        seen = (tally.total - int(sum(self.unseen.get(key, ()))) for key, tally in self.unwelcoming.items())
        return not (self.near or self.far or any(seen))


@dataclass(frozen=True, slots=True, eq=False)
class Preferences:
    """Live sums of weights by topology key, of the pod's own preferred terms and of other pods' terms that match it."""

    tallies: dict[str, Tally]


NO_PREFERENCES = Preferences({})


@dataclass(slots=True, eq=False)
class AffinityIndex:
    """Per-cluster data: the labels of namespaces, templates' own terms, and states.

    A state is found by the pod's template and the terms of others that match it, which pods with labels of their own
    share. It is found faster by the pod's shape, as long as no template was added since, which may bring new terms.
    """

    namespaces: dict[str, Mapping[str, str]]
    own: dict[int, OwnTerms] = field(default_factory=dict)
    neighbours: dict[object, Neighbours] = field(default_factory=dict)
    preferences: dict[object, Preferences] = field(default_factory=dict)
    neighbours_of: dict[int, tuple[int, Neighbours]] = field(default_factory=dict)
    preferences_of: dict[int, tuple[int, Preferences]] = field(default_factory=dict)

    def terms_of(self, shape: PodShape) -> OwnTerms:
        own = self.own.get(shape.template)
        if own is None:
            own = self.own[shape.template] = OwnTerms.from_shape(shape, self.namespaces)
        return own

    def about(self, shape: PodShape, terms: TermIndex) -> tuple[AffinityTerm, ...]:
        """The terms of other pods that match this one."""
        return terms.about(shape.namespace, shape.labels, self.namespaces.get(shape.namespace, {}))


@cached_per_cluster
def _affinity_index_of(cluster: Cluster, plugin: InterPodAffinity) -> AffinityIndex:
    return AffinityIndex(
        {namespace.name: namespace.metadata.labels or {} for namespace in cluster.objects.list_all(Namespace)}
    )


def _selects_namespaces(pod: PodInfo, cluster: Cluster) -> bool:
    shape = pod.shape
    terms = (*shape.affinity, *shape.anti_affinity, *shape.preferred_affinity, *shape.preferred_anti_affinity)
    return any(not term.namespace_selector.nothing for term in terms)


class InterPodAffinityArgs(Args):
    """``hard_pod_affinity_weight``, 0..100, is the weight in scoring of required terms of existing pods."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: Bool = False


class InterPodAffinity(Plugin[Neighbours, Preferences]):
    name = "InterPodAffinity"
    args = InterPodAffinityArgs
    default = DefaultPlugin(170, weight=2)
    depends_on_other_pods = True
    needs_pre_filter = True
    needs_pre_score = True
    dependencies = MappingProxyType(
        {"Namespace": Dependency("namespace selectors are resolved with it", _selects_namespaces)}
    )
    events_to_register = MappingProxyType(
        {
            ClusterEvent.POD_ADDED: lambda waiting, happening: _wanted_near(waiting, happening),
            ClusterEvent.POD_DELETED: lambda waiting, happening: _was_in_the_way(waiting, happening),
        }
    )

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        weight = args.hard_pod_affinity_weight
        if not 0 <= weight <= 100:
            yield path.child("hardPodAffinityWeight").invalid(weight, "not in valid range [0, 100]")

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._hard_weight: int = handle.args.hard_pod_affinity_weight
        self._ignore_existing: bool = handle.args.ignore_preferred_terms_of_existing_pods

    def never_filters_or_scores(self, pod: PodInfo, cluster: Cluster) -> bool:
        near_and_far = self._neighbours(pod.shape, cluster)
        nobody = not (near_and_far.near or near_and_far.far or near_and_far.unwelcoming)
        skipped = nobody and self.handle.features.filters_can_be_skipped
        return skipped and not self._preferences(pod.shape, cluster).tallies

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        affinity = pod.shape.spec.affinity
        if affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None):
            return None
        return {} if self._ignore_existing else {LABELS: dict(pod.shape.labels)}

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Neighbours | Skip:
        state = self._neighbours(pod.shape, cluster)
        if cluster.unlisted.anti and state.unwelcoming:
            state = replace(state, unseen=_unseen(state.unwelcoming, cluster.unlisted.anti))
        return SKIP if state.skips_filter and self.handle.features.filters_can_be_skipped else state

    def _neighbours(self, shape: PodShape, cluster: Cluster) -> Neighbours:
        known, templates = _affinity_index_of(cluster, self), len(cluster.shapes.templates)
        seen, state = known.neighbours_of.get(shape.index, (-1, None))
        if state is None or seen != templates:
            state = _neighbours(shape, cluster, known)
            known.neighbours_of[shape.index] = templates, state
        return state

    def filter(self, pod: PodInfo, nodes: NodeView, state: Neighbours) -> Iterator[Rejection]:
        alive: BoolArray | None = None
        if state.near:
            alive = _near_enough(state, nodes)
            yield Rejection(~alive, AFFINITY, unresolvable=True, detail=_NoNearbyPodDetail(state, nodes))
        for tallies, reason in ((state.far, ANTI_AFFINITY), (state.unwelcoming, EXISTING_ANTI_AFFINITY)):
            if not tallies:
                continue
            crowded = np.zeros(nodes.size, np.bool_)
            for key, tally in tallies.items():
                crowded |= _has_some(tally, key, nodes, state.unseen.get(key) if tallies is state.unwelcoming else None)
            if alive is not None:
                crowded &= alive
            yield Rejection(crowded, reason, detail=_RepellingPodDetail(tallies, nodes))
            alive = ~crowded if alive is None else alive & ~crowded

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        return suggest_pod_affinity(pod.pod)

    def pre_score(self, pod: PodInfo, nodes: NodeView, made: Neighbours | None) -> Preferences | Skip:
        state = self._preferences(pod.shape, nodes.cluster)
        return state if state.tallies else SKIP

    def _preferences(self, shape: PodShape, cluster: Cluster) -> Preferences:
        if self._ignore_existing and not (shape.preferred_affinity or shape.preferred_anti_affinity):
            return NO_PREFERENCES
        known, templates = _affinity_index_of(cluster, self), len(cluster.shapes.templates)
        seen, state = known.preferences_of.get(shape.index, (-1, None))
        if state is None or seen != templates:
            state = self._build_preferences(shape, cluster, known)
            known.preferences_of[shape.index] = templates, state
        return state

    def _build_preferences(self, shape: PodShape, cluster: Cluster, known: AffinityIndex) -> Preferences:
        table = cluster.shapes
        about = [(term, term.weight) for term in known.about(shape, table.preferred_affinity)]
        about += [(term, -term.weight) for term in known.about(shape, table.preferred_anti_affinity)]
        if self._hard_weight > 0:
            about += [(term, self._hard_weight) for term in known.about(shape, table.affinity)]
        look = (shape.template, tuple(term for term, _ in about))
        state = known.preferences.get(look)
        if state is None:
            own, others = known.terms_of(shape).preferred, _terms_by_key(about)
            state = known.preferences[look] = Preferences(
                {key: _tally(cluster, key, own.get(key, ()), others.get(key, ())) for key in {**own, **others}}
            )
        return state

    def score(self, pod: PodInfo, nodes: NodeView, state: Preferences) -> Int64Array:
        unlisted = nodes.cluster.unlisted.every
        # A pod with preferences of its own looks at all pods, listed or not.
        looks_at_all = not unlisted or bool(pod.shape.preferred_affinity or pod.shape.preferred_anti_affinity)
        unseen = {} if looks_at_all else _unseen(state.tallies, unlisted)
        total: Int64Array | None = None
        for key, tally in state.tallies.items():
            counts = tally.by_domain - unseen[key] if key in unseen else tally.by_domain
            here = counts[nodes.label(key)]
            total = here if total is None else total + here
        return np.zeros(nodes.size, np.int64) if total is None else total

    def normalize(self, pod: PodInfo, nodes: NodeView, state: Preferences, scores: Int64Array) -> Int64Array:
        if not len(scores):
            return scores
        least, most = scores.item(scores.argmin()), scores.item(scores.argmax())
        if most == least:
            return np.zeros(len(scores), np.int64)
        return (float(MAX_SCORE) * ((scores - least) / float(most - least))).astype(np.int64)


def _neighbours(shape: PodShape, cluster: Cluster, known: AffinityIndex) -> Neighbours:
    own, about = known.terms_of(shape), known.about(shape, cluster.shapes.anti_affinity)
    itself = own.near is not None and own.near.admits(shape)
    look = (shape.template, itself, about)
    state = known.neighbours.get(look)
    if state is None:
        near: Weights = () if own.near is None else ((own.near, 1),)
        others = _terms_by_key((term, 1) for term in about)
        state = known.neighbours[look] = Neighbours(
            shape.affinity,
            itself,
            {key: _tally(cluster, key, near) for key in own.near_by},
            {key: _tally(cluster, key, selections) for key, selections in own.far.items()},
            {key: _tally(cluster, key, (), terms) for key, terms in others.items()},
        )
    return state


def _unseen(tallies: Mapping[str, Tally], unlisted: list[tuple[PodShape, int]]) -> Unseen:
    found = ((key, unseen(tally, unlisted)) for key, tally in tallies.items())
    return {key: counts for key, counts in found if counts is not None}


def _terms_by_key(terms: Iterable[tuple[AffinityTerm, int]]) -> dict[str, tuple[tuple[AffinityTerm, int], ...]]:
    found: dict[str, tuple[tuple[AffinityTerm, int], ...]] = {}
    for term, weight in terms:
        found[term.topology_key] = (*found.get(term.topology_key, ()), (term, weight))
    return found


def _tally(cluster: Cluster, key: str, selections: Weights, terms: tuple[tuple[AffinityTerm, int], ...] = ()) -> Tally:
    """A live sum by domain of ``key``: over the selections that admit a pod, and over the terms that it has."""
    counted = Weighing(selections, terms)
    return cluster.tally(TallySpec(("affinity", key, selections, terms), counted, topology=cluster.columns.label(key)))


def _here(tally: Tally, key: str, nodes: NodeView) -> Int64Array:
    """int64[n]: the count in each node's own domain, after the view's change."""
    here = tally.by_domain[nodes.label(key)]
    shift = nodes.shift(tally)
    return here if shift is None else here + shift


def _has_some(tally: Tally, key: str, nodes: NodeView, unseen: Int64Array | None = None) -> BoolArray:
    """bool[n]: whether more is counted in each node's own domain than is ``unseen`` int64[D + 1], after the view's
    change.
    """
    if nodes.is_unchanged:
        # The same for all nodes of a domain.
        by_domain = tally.by_domain if unseen is None else tally.by_domain - unseen
        some: BoolArray = (by_domain > 0)[nodes.label(key)]
        return some
    here = _here(tally, key, nodes)
    return here > 0 if unseen is None else here > unseen[nodes.label(key)]


def _near_enough(state: Neighbours, nodes: NodeView) -> BoolArray:
    """bool[n]: nodes with all topology labels and, in each domain, a matching pod.

    The first pod of a group with affinity to itself may go anywhere.
    """
    labelled = np.ones(nodes.size, np.bool_)
    exist = np.ones(nodes.size, np.bool_)
    nobody: bool | BoolArray = state.itself
    for key, tally in state.near.items():
        if not nodes.columns.label(key).is_complete:
            labelled &= nodes.label(key) >= 0
        exist &= _has_some(tally, key, nodes)
        shift = nodes.shift(tally)
        nobody &= (tally.total if shift is None else tally.total + shift) == 0
    return labelled & (exist | nobody)


@dataclass(frozen=True, slots=True)
class _NoNearbyPodDetail:
    state: Neighbours
    nodes: NodeView

    def __call__(self, place: int) -> str:
        texts = []
        for term in self.state.required:
            column = self.nodes.columns.label(term.topology_key)
            code = self.nodes.label(term.topology_key)[place]
            if code < 0:
                texts.append(f"node has no label {term.topology_key}")
            elif self.state.near[term.topology_key].by_domain[code] <= 0:
                texts.append(f"no pod matching {term.selector} in {term.topology_key} {column.values[code]}")
        return "; ".join(texts) or "the pods it wants to be near to are elsewhere"


@dataclass(frozen=True, slots=True)
class _RepellingPodDetail:
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


def _meets_all(terms: Sequence[AffinityTerm], shape: PodShape) -> bool:
    """Whether the pod matches all the terms, with namespace selectors matched against no labels (as upstream)."""
    return bool(terms) and all(selection_of_term(term, {}).admits(shape) for term in terms)


def _wanted_near(waiting: PodInfo, happening: EventOccurrence) -> bool:
    return happening.pod is not None and _meets_all(waiting.shape.affinity, happening.pod.shape)


def _was_in_the_way(waiting: PodInfo, happening: EventOccurrence) -> bool:
    gone = happening.pod
    if gone is None or not happening.affects_topology:
        return False
    if _meets_all(waiting.shape.anti_affinity, gone.shape):
        return True
    its_own_count = happening.cluster.shapes.features.departed_anti_affinity_counts
    return its_own_count and _meets_all(gone.shape.anti_affinity, waiting.shape)
