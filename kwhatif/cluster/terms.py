"""Pod (anti-)affinity terms, compiled, each distinct one once.

Upstream: kube-scheduler/framework/types.go (AffinityTerm).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from kwhatif.api.core import PodAffinity, PodAffinityTerm
from kwhatif.api.selectors import Selector
from kwhatif.cluster.labels import SelectorIndex


@dataclass(frozen=True, slots=True, eq=False)
class AffinityTerm:
    """A term with its selectors compiled; ``weight`` is 0 for required terms, ``number`` its place in its index.

    Terms of one index are the same object where they are equal, so they are compared by identity.
    """

    number: int
    selector: Selector
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0


class TermIndex:
    """The distinct terms of one kind that pods have, by the pods they are about."""

    def __init__(self) -> None:
        self._terms: dict[Hashable, AffinityTerm] = {}
        self._index: SelectorIndex[AffinityTerm] = SelectorIndex()

    def required(self, side: PodAffinity | None, namespace: str) -> tuple[AffinityTerm, ...]:
        """The required terms of a pod in the namespace. Raises SelectorError."""
        terms = side.required_during_scheduling_ignored_during_execution if side else None
        return tuple(self._term(term, namespace, 0) for term in terms or ())

    def preferred(self, side: PodAffinity | None, namespace: str) -> tuple[AffinityTerm, ...]:
        """Its preferred terms. Raises SelectorError."""
        terms = side.preferred_during_scheduling_ignored_during_execution if side else None
        return tuple(self._term(term.pod_affinity_term, namespace, term.weight) for term in terms or ())

    def about(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> tuple[AffinityTerm, ...]:
        """The terms that are about a pod in this namespace with these labels, as they were met."""
        if not self._terms:
            return ()
        found = [
            term
            for term in self._index.selecting(namespace, labels)
            if namespace in term.namespaces or term.namespace_selector.matches(namespace_labels)
        ]
        return tuple(sorted(found, key=lambda term: term.number))

    def _term(self, given: PodAffinityTerm, namespace: str, weight: int) -> AffinityTerm:
        selector, of_namespaces = Selector.of(given.label_selector), Selector.of(given.namespace_selector)
        names = frozenset(given.namespaces or ())
        if not names and given.namespace_selector is None:
            names = frozenset((namespace,))
        key = (selector, given.topology_key, names, of_namespaces, weight)
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = AffinityTerm(len(self._terms), *key)
            self._index.add(selector, names if of_namespaces.nothing else None, term)
        return term
