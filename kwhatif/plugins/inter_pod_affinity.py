"""InterPodAffinity: required and preferred affinity and anti-affinity to other pods.

Upstream: plugins/interpodaffinity (filtering.go, scoring.go; mergeAffinityTermNamespacesIfNotEmpty in plugin.go) and
kube-scheduler/framework/types.go (AffinityTerm.Matches).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Namespace
from kwhatif.api.selectors import Selector
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import AffinityTerm, PodInfo, PodShape, Selection, TermIndex
from kwhatif.cluster.tally import Tally, TallySpec, Weighing
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.cluster.unlisted_terms import count_unlisted
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


class OwnTerms(msgspec.Struct, frozen=True):
    """The terms of a template, by topology key.

    ``affinity`` are the pods that all required affinity terms match, None without such terms.
    """

    affinity: Selection | None
    affinity_keys: tuple[str, ...]
    anti_affinity: dict[str, Weights]
    preferred: dict[str, Weights]

    @classmethod
    def from_shape(cls, shape: PodShape, namespaces: NamespaceLabels) -> OwnTerms:
        anti_affinity = [(term, 1) for term in shape.anti_affinity]
        preferred = [(term, term.weight) for term in shape.preferred_affinity]
        preferred += [(term, -term.weight) for term in shape.preferred_anti_affinity]
        return cls(
            _intersection([selection_of_term(term, namespaces) for term in shape.affinity]),
            tuple(dict.fromkeys(term.topology_key for term in shape.affinity)),
            _weights_by_key(anti_affinity, namespaces),
            _weights_by_key(preferred, namespaces),
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


def _intersection(selections: Sequence[Selection]) -> Selection | None:
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
    by_key: dict[str, Weights] = {}
    for term, weight in terms:
        by_key[term.topology_key] = (*by_key.get(term.topology_key, ()), (selection_of_term(term, namespaces), weight))
    return by_key


AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"


UnlistedCounts = Mapping[str, Int64Array]
"""By topology key, int64[D + 1]: what pods count in each domain whose terms are not yet visible."""


class Neighbours(msgspec.Struct, frozen=True, eq=False):
    """Live counts by topology key: of pods that match the pod's affinity, its anti-affinity, and of pods whose
    anti-affinity matches it.

    ``required`` are the pod's own terms, ``matches_itself`` says whether it matches its own affinity, ``unlisted`` is
    subtracted from ``existing_anti_affinity_counts``.
    """

    required: tuple[AffinityTerm, ...]
    matches_itself: bool
    affinity_counts: dict[str, Tally]
    anti_affinity_counts: dict[str, Tally]
    existing_anti_affinity_counts: dict[str, Tally]
    unlisted: UnlistedCounts = msgspec.field(default_factory=dict)

    @property
    def skips_filter(self) -> bool:
        """Whether Filter is skipped: no required terms, and no running pod's anti-affinity matches the pod.

        Pods that are only nominated do not count, so their anti-affinity alone rejects no pod, as upstream.
        """
        existing = self.existing_anti_affinity_counts.items()
        listed = (tally.total - int(sum(self.unlisted.get(key, ()))) for key, tally in existing)
        return not (self.affinity_counts or self.anti_affinity_counts or any(listed))


class Preferences(msgspec.Struct, frozen=True, eq=False):
    """Live sums of weights by topology key, of the pod's own preferred terms and of other pods' terms that match it."""

    tallies: dict[str, Tally]


NO_PREFERENCES = Preferences({})


class AffinityIndex(msgspec.Struct, eq=False):
    """Per-cluster data: the labels of namespaces, templates' own terms, and states.

    A state is found by the pod's template and the terms of others that match it, which pods with labels of their own
    share. It is found faster by the pod's shape, as long as no template was added since, which may bring new terms.
    """

    namespaces: dict[str, Mapping[str, str]]
    own: dict[int, OwnTerms] = msgspec.field(default_factory=dict)
    neighbours: dict[object, Neighbours] = msgspec.field(default_factory=dict)
    preferences: dict[object, Preferences] = msgspec.field(default_factory=dict)
    neighbours_of: dict[int, tuple[int, Neighbours]] = msgspec.field(default_factory=dict)
    preferences_of: dict[int, tuple[int, Preferences]] = msgspec.field(default_factory=dict)

    def terms_of(self, shape: PodShape) -> OwnTerms:
        own = self.own.get(shape.template)
        if own is None:
            own = self.own[shape.template] = OwnTerms.from_shape(shape, self.namespaces)
        return own

    def terms_matching(self, shape: PodShape, terms: TermIndex) -> tuple[AffinityTerm, ...]:
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
            ClusterEvent.POD_ADDED: lambda waiting, happening: _is_schedulable_after_pod_added(waiting, happening),
            ClusterEvent.POD_DELETED: lambda waiting, happening: _is_schedulable_after_pod_deleted(waiting, happening),
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
        state = self._neighbours(pod.shape, cluster)
        has_terms = state.affinity_counts or state.anti_affinity_counts or state.existing_anti_affinity_counts
        skipped = not has_terms and self.handle.features.filters_can_be_skipped
        return skipped and not self._preferences(pod.shape, cluster).tallies

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        affinity = pod.shape.spec.affinity
        if affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None):
            return None
        return {} if self._ignore_existing else {LABELS: dict(pod.shape.labels)}

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Neighbours | Skip:
        state = self._neighbours(pod.shape, cluster)
        # Upstream reads these off the nodes that the snapshot lists for required anti-affinity (``unlisted_terms``).
        if cluster.unlisted.anti and state.existing_anti_affinity_counts:
            state = replace(
                state, unlisted=_unlisted_counts(state.existing_anti_affinity_counts, cluster.unlisted.anti)
            )
        return SKIP if state.skips_filter and self.handle.features.filters_can_be_skipped else state

    def _neighbours(self, shape: PodShape, cluster: Cluster) -> Neighbours:
        index, templates = _affinity_index_of(cluster, self), len(cluster.shapes.templates)
        templates_then, state = index.neighbours_of.get(shape.index, (-1, None))
        if state is None or templates_then != templates:
            state = _build_neighbours(shape, cluster, index)
            index.neighbours_of[shape.index] = templates, state
        return state

    def filter(self, pod: PodInfo, nodes: NodeView, state: Neighbours) -> Iterator[Rejection]:
        alive: BoolArray | None = None
        if state.affinity_counts:
            alive = _satisfies_affinity(state, nodes)
            yield Rejection(~alive, AFFINITY, unresolvable=True, detail=_NoNearbyPodDetail(state, nodes))
        for tallies, reason, unlisted in (
            (state.anti_affinity_counts, ANTI_AFFINITY, {}),
            (state.existing_anti_affinity_counts, EXISTING_ANTI_AFFINITY, state.unlisted),
        ):
            if not tallies:
                continue
            crowded = np.zeros(nodes.size, np.bool_)
            for key, tally in tallies.items():
                crowded |= _has_some(tally, key, nodes, unlisted.get(key))
            if alive is not None:
                crowded &= alive
            yield Rejection(crowded, reason, detail=_RepellingPodDetail(tallies, nodes))
            alive = ~crowded if alive is None else alive & ~crowded

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        return suggest_pod_affinity(pod.pod)

    def pre_score(self, pod: PodInfo, nodes: NodeView, filter_state: Neighbours | None) -> Preferences | Skip:
        state = self._preferences(pod.shape, nodes.cluster)
        return state if state.tallies else SKIP

    def _preferences(self, shape: PodShape, cluster: Cluster) -> Preferences:
        if self._ignore_existing and not (shape.preferred_affinity or shape.preferred_anti_affinity):
            return NO_PREFERENCES
        index, templates = _affinity_index_of(cluster, self), len(cluster.shapes.templates)
        templates_then, state = index.preferences_of.get(shape.index, (-1, None))
        if state is None or templates_then != templates:
            state = self._build_preferences(shape, cluster, index)
            index.preferences_of[shape.index] = templates, state
        return state

    def _build_preferences(self, shape: PodShape, cluster: Cluster, index: AffinityIndex) -> Preferences:
        table = cluster.shapes
        matching = [(term, term.weight) for term in index.terms_matching(shape, table.preferred_affinity)]
        matching += [(term, -term.weight) for term in index.terms_matching(shape, table.preferred_anti_affinity)]
        if self._hard_weight > 0:
            matching += [(term, self._hard_weight) for term in index.terms_matching(shape, table.affinity)]
        cache_key = (shape.template, tuple(term for term, _ in matching))
        state = index.preferences.get(cache_key)
        if state is None:
            own, others = index.terms_of(shape).preferred, _terms_by_key(matching)
            state = index.preferences[cache_key] = Preferences(
                {
                    cache_key: _tally(cluster, cache_key, own.get(cache_key, ()), others.get(cache_key, ()))
                    for cache_key in {**own, **others}
                }
            )
        return state

    def score(self, pod: PodInfo, nodes: NodeView, state: Preferences) -> Int64Array:
        # PreScore goes by HavePodsWithAffinityList; for a pod with preferences of its own it visits all nodes.
        lists_all = bool(pod.shape.preferred_affinity or pod.shape.preferred_anti_affinity)
        unlisted = {} if lists_all else _unlisted_counts(state.tallies, nodes.cluster.unlisted.every)
        total: Int64Array | None = None
        for key, tally in state.tallies.items():
            counts = tally.by_domain - unlisted[key] if key in unlisted else tally.by_domain
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


def _build_neighbours(shape: PodShape, cluster: Cluster, index: AffinityIndex) -> Neighbours:
    own, matching = index.terms_of(shape), index.terms_matching(shape, cluster.shapes.anti_affinity)
    matches_itself = own.affinity is not None and own.affinity.admits(shape)
    cache_key = (shape.template, matches_itself, matching)
    state = index.neighbours.get(cache_key)
    if state is None:
        affinity: Weights = () if own.affinity is None else ((own.affinity, 1),)
        others = _terms_by_key((term, 1) for term in matching)
        state = index.neighbours[cache_key] = Neighbours(
            shape.affinity,
            matches_itself,
            {key: _tally(cluster, key, affinity) for key in own.affinity_keys},
            {key: _tally(cluster, key, selections) for key, selections in own.anti_affinity.items()},
            {key: _tally(cluster, key, (), terms) for key, terms in others.items()},
        )
    return state


def _unlisted_counts(tallies: Mapping[str, Tally], unlisted: list[tuple[PodShape, int]]) -> UnlistedCounts:
    by_key = ((key, count_unlisted(tally, unlisted)) for key, tally in tallies.items())
    return {key: counts for key, counts in by_key if counts is not None}


def _terms_by_key(terms: Iterable[tuple[AffinityTerm, int]]) -> dict[str, tuple[tuple[AffinityTerm, int], ...]]:
    by_key: dict[str, tuple[tuple[AffinityTerm, int], ...]] = {}
    for term, weight in terms:
        by_key[term.topology_key] = (*by_key.get(term.topology_key, ()), (term, weight))
    return by_key


def _tally(cluster: Cluster, key: str, selections: Weights, terms: tuple[tuple[AffinityTerm, int], ...] = ()) -> Tally:
    """A live sum by domain of ``key``: over the selections that admit a pod, and over the terms that it has."""
    counted = Weighing(selections, terms)
    return cluster.tally(TallySpec(("affinity", key, selections, terms), counted, topology=cluster.columns.label(key)))


def _here(tally: Tally, key: str, nodes: NodeView) -> Int64Array:
    """int64[n]: the count in each node's own domain, after the view's change."""
    here = tally.by_domain[nodes.label(key)]
    shift = nodes.shift(tally)
    return here if shift is None else here + shift


def _has_some(tally: Tally, key: str, nodes: NodeView, unlisted: Int64Array | None = None) -> BoolArray:
    """bool[n]: whether more is counted in each node's own domain than is ``unlisted`` int64[D + 1], after the view's
    change.
    """
    if nodes.is_unchanged:
        # The same for all nodes of a domain.
        by_domain = tally.by_domain if unlisted is None else tally.by_domain - unlisted
        some: BoolArray = (by_domain > 0)[nodes.label(key)]
        return some
    here = _here(tally, key, nodes)
    return here > 0 if unlisted is None else here > unlisted[nodes.label(key)]


def _satisfies_affinity(state: Neighbours, nodes: NodeView) -> BoolArray:
    """bool[n]: nodes with all topology labels and, in each domain, a matching pod.

    The first pod of a group with affinity to itself may go anywhere.
    """
    labelled = np.ones(nodes.size, np.bool_)
    has_matching = np.ones(nodes.size, np.bool_)
    is_first_of_group: bool | BoolArray = state.matches_itself
    for key, tally in state.affinity_counts.items():
        if not nodes.columns.label(key).is_complete:
            labelled &= nodes.label(key) >= 0
        has_matching &= _has_some(tally, key, nodes)
        shift = nodes.shift(tally)
        is_first_of_group &= (tally.total if shift is None else tally.total + shift) == 0
    return labelled & (has_matching | is_first_of_group)


class _NoNearbyPodDetail(msgspec.Struct, frozen=True):
    state: Neighbours
    nodes: NodeView

    def __call__(self, place: int) -> str:
        texts = []
        for term in self.state.required:
            column = self.nodes.columns.label(term.topology_key)
            code = self.nodes.label(term.topology_key)[place]
            if code < 0:
                texts.append(f"node has no label {term.topology_key}")
            elif self.state.affinity_counts[term.topology_key].by_domain[code] <= 0:
                texts.append(f"no pod matching {term.selector} in {term.topology_key} {column.values[code]}")
        return "; ".join(texts) or "the pods it wants to be near to are elsewhere"


class _RepellingPodDetail(msgspec.Struct, frozen=True):
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


def _is_schedulable_after_pod_added(waiting: PodInfo, happening: EventOccurrence) -> bool:
    """Upstream's isSchedulableAfterPodChange for a pod that was added: it matches all of the waiting pod's affinity."""
    return happening.pod is not None and _meets_all(waiting.shape.affinity, happening.pod.shape)


def _is_schedulable_after_pod_deleted(waiting: PodInfo, happening: EventOccurrence) -> bool:
    """The same for a pod that was deleted: one of the two matches all of the other's anti-affinity."""
    gone = happening.pod
    if gone is None or not happening.affects_topology:
        return False
    if _meets_all(waiting.shape.anti_affinity, gone.shape):
        return True
    its_own_count = happening.cluster.shapes.features.departed_anti_affinity_counts
    return its_own_count and _meets_all(gone.shape.anti_affinity, waiting.shape)
