"""NodeAffinity: node selectors and node affinity, the pod's own and the profile's ``addedAffinity``.

Upstream: plugins/nodeaffinity/node_affinity.go; validation of ``addedAffinity``:
component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go and apimachinery/pkg/labels/selector.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from kwhatif.api.core import NodeAffinity as Affinity
from kwhatif.api.core import NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from kwhatif.api.selectors import NodeTerm, RequiredNodeAffinity, SelectorError
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.arithmetic import default_normalize
from kwhatif.framework.declaration import Args, DefaultPlugin
from kwhatif.framework.interface import Handle, Plugin, Scope, Suggestion
from kwhatif.framework.signature import Signature, sign_node_affinity
from kwhatif.framework.status import SKIP, PreFilterResult, Rejection, Skip, Status
from kwhatif.golang.field_validation import Path, label_value, qualified_name
from kwhatif.plugins.shared.pod_changes import suggest_node_affinity
from kwhatif.versions import Features

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")


def validate_added_affinity(path: Path, affinity: Affinity) -> Iterator[str]:
    """Every reason to refuse the affinity; preferred terms of weight zero are not looked at."""
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        at = path.child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
        for index, term in enumerate(required.node_selector_terms or ()):
            yield from _term(at.index(index), term)
    at = path.child("preferredDuringSchedulingIgnoredDuringExecution")
    for index, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution or ()):
        if preferred.weight:
            # Upstream leaves ".preference" out of the path.
            yield from _term(at.index(index), preferred.preference)


def _term(path: Path, term: NodeSelectorTerm) -> Iterator[str]:
    for index, requirement in enumerate(term.match_expressions or ()):
        yield from _expression(path.child("matchExpressions").index(index), requirement)
    for index, requirement in enumerate(term.match_fields or ()):
        at = path.child("matchFields").index(index)
        if requirement.operator not in _FIELD_OPERATORS:
            yield at.child("operator").not_supported(requirement.operator, _FIELD_OPERATORS)
        elif len(requirement.values or ()) != 1:
            yield at.child("values").invalid(requirement.values, "must have one element")


def _expression(path: Path, requirement: NodeSelectorRequirement) -> Iterator[str]:
    operator, values = requirement.operator, requirement.values
    if operator not in _OPERATORS:
        yield path.child("operator").not_supported(operator, _OPERATORS)
        return
    wrong = qualified_name(requirement.key)
    if wrong:
        yield path.child("key").invalid(requirement.key, "; ".join(wrong))
    at = path.child("values")
    if operator in ("In", "NotIn"):
        if not values:
            yield at.invalid(values, "for 'in', 'notin' operators, values set can't be empty")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield at.invalid(values, "values set must be empty for exists and does not exist")
    else:
        yield from _comparison(at, values)
    for index, value in enumerate(values or ()):
        wrong = label_value(value)
        if wrong:
            yield at.index(index).index(requirement.key).invalid(value, "; ".join(wrong))


def _comparison(path: Path, values: Sequence[str] | None) -> Iterator[str]:
    if len(values or ()) != 1:
        yield path.invalid(values, "for 'Gt', 'Lt' operators, exactly one value is required")
    for index, value in enumerate(values or ()):
        if not _is_int64(value):
            yield path.index(index).invalid(value, "for 'Gt', 'Lt' operators, the value must be an integer")


def _is_int64(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > 19:
        return False
    return -(2**63) <= int(text) < 2**63


Preference = tuple[int, NodeTerm]


class Preferences(msgspec.Struct, frozen=True):
    """(weight, term) pairs that count for the score."""

    terms: tuple[Preference, ...]


class NodeAffinityArgs(Args):
    """``added_affinity`` holds for every pod, besides its own."""

    added_affinity: Affinity | None = None


class NodeAffinity(Plugin[RequiredNodeAffinity, Preferences]):
    name = "NodeAffinity"
    args = NodeAffinityArgs
    default = DefaultPlugin(60, weight=2)
    depends_on_labels = False
    events_to_register = MappingProxyType({})
    filter_scope = Scope.NODE
    score_scope = Scope.NODE

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        if args.added_affinity is not None:
            yield from validate_added_affinity(path.child("addedAffinity"), args.added_affinity)

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        added = getattr(handle.args, "added_affinity", None)
        required = added.required_during_scheduling_ignored_during_execution if added else None
        self._added: RequiredNodeAffinity | None = None
        if required is not None:
            terms = tuple(t for t in map(NodeTerm.from_term, required.node_selector_terms or ()) if t)
            self._added = RequiredNodeAffinity((), terms)
        preferred = added.preferred_during_scheduling_ignored_during_execution if added else None
        self._added_preferences = _preferences(preferred or ())

    def cache_key(self, pod: PodInfo) -> Hashable:
        spec = pod.shape.spec
        return msgspec.msgpack.encode((spec.node_selector, spec.affinity.node_affinity if spec.affinity else None))

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_node_affinity(pod.shape)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> RequiredNodeAffinity | PreFilterResult | Skip | Status:
        spec = pod.shape.spec
        affinity = spec.affinity.node_affinity if spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        if required is None and self._added is None and spec.node_selector is None:
            return SKIP
        names = _names(required.node_selector_terms or ()) if required else None
        if names is None or not self.handle.features.node_affinity_narrows:
            return pod.shape.node_affinity
        if not names:
            return Status.unresolvable("pod affinity terms conflict")
        return PreFilterResult(names, pod.shape.node_affinity)

    def filter(self, pod: PodInfo, nodes: NodeView, state: RequiredNodeAffinity | None) -> Iterator[Rejection]:
        own = pod.shape.node_affinity if state is None else state  # a profile may leave PreFilter out
        admitted = np.ones(nodes.size, np.bool_)
        if self._added is not None:
            admitted = nodes.take_rows(nodes.columns.matching(self._added))
            yield Rejection(
                ~admitted,
                "node(s) didn't match scheduler-enforced node affinity",
                unresolvable=True,
                detail=lambda place: "the profile's addedAffinity does not admit the node",
            )
        yield Rejection(
            admitted & ~nodes.take_rows(nodes.columns.matching(own)),
            "node(s) didn't match Pod's node affinity/selector",
            unresolvable=True,
            detail=lambda place: own.unmet(nodes.columns.nodes[nodes.row(place)]),
        )

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        return suggest_node_affinity(pod.pod, cluster.columns.given)

    def pre_score(
        self, pod: PodInfo, nodes: NodeView, state: RequiredNodeAffinity | None
    ) -> Preferences | Skip | Status:
        spec = pod.shape.spec
        affinity = spec.affinity.node_affinity if spec.affinity else None
        preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else None
        if preferred is None and not self._added_preferences and self.handle.features.node_affinity_skips_score:
            return SKIP
        try:
            own = _preferences(preferred or ())
        except SelectorError as error:
            return Status.error(str(error))
        return Preferences((*self._added_preferences, *own))

    def score(self, pod: PodInfo, nodes: NodeView, state: Preferences) -> Int64Array:
        total = np.zeros(len(nodes.columns), np.int64)
        for weight, term in state.terms:
            total += weight * nodes.columns.matching_term(term.expressions, term.fields, broken=term.broken)
        scores: Int64Array = nodes.take_rows(total)
        return scores

    def normalize(self, pod: PodInfo, nodes: NodeView, state: Preferences, scores: Int64Array) -> Int64Array:
        return default_normalize(scores, reverse=False)


def _preferences(terms: Sequence[PreferredSchedulingTerm]) -> tuple[Preference, ...]:
    """Raises SelectorError: other than a required term, an invalid preferred term makes the pod unschedulable."""
    compiled = ((t.weight, NodeTerm.parse(t.preference)) for t in terms if t.weight)
    return tuple((weight, term) for weight, term in compiled if term is not None)


def _names(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """The node names to which the terms narrow the choice; None when a term does not."""
    if not terms:
        return None
    names: frozenset[str] = frozenset()
    for term in terms:
        lists = [
            frozenset(field.values or ())
            for field in term.match_fields or ()
            if field.key == "metadata.name" and field.operator == "In"
        ]
        if not lists:
            return None
        names |= frozenset.intersection(*lists)
    return names
