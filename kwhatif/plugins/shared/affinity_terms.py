"""Which pods a pod's own affinity terms are about.

Upstream: kube-scheduler/framework/types.go (AffinityTerm.Matches) and
plugins/interpodaffinity/plugin.go (mergeAffinityTermNamespacesIfNotEmpty).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kwhatif.api.selectors import Selector
from kwhatif.cluster.shapes import PodShape, Selection
from kwhatif.cluster.terms import AffinityTerm

Weights = tuple[tuple[Selection, int], ...]
NamespaceLabels = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class OwnTerms:
    """The terms of a template, by topology key: what a pod counts for them.

    ``near`` are the pods that all required terms are about, None without such terms.
    """

    near: Selection | None
    near_by: tuple[str, ...]
    far: dict[str, Weights]
    preferred: dict[str, Weights]

    @classmethod
    def of(cls, shape: PodShape, namespaces: NamespaceLabels) -> OwnTerms:
        signed = [(term, 1) for term in shape.anti_affinity]
        wishes = [(term, term.weight) for term in shape.preferred_affinity]
        wishes += [(term, -term.weight) for term in shape.preferred_anti_affinity]
        return cls(
            _all_at_once([meant_by(term, namespaces) for term in shape.affinity]),
            tuple(dict.fromkeys(term.topology_key for term in shape.affinity)),
            _by_key(signed, namespaces),
            _by_key(wishes, namespaces),
        )


def meant_by(term: AffinityTerm, namespaces: NamespaceLabels) -> Selection:
    """The pods that a pod's own term is about.

    Its namespace selector is resolved to names first. Upstream then still asks it of a namespace without labels, so a
    selector such as ``env notin (prod)`` admits every namespace; so do we.
    """
    if term.namespace_selector.matches({}):
        return Selection(term.selector, None)
    names = (name for name, labels in namespaces.items() if term.namespace_selector.matches(labels))
    return Selection(term.selector, term.namespaces.union(names))


def _all_at_once(selections: Sequence[Selection]) -> Selection | None:
    """The pods that are in all of the selections; None for no selections."""
    if not selections:
        return None
    named = [selection.namespaces for selection in selections if selection.namespaces is not None]
    requirements = [requirement for selection in selections for requirement in selection.selector.requirements]
    nothing = any(selection.selector.nothing for selection in selections)
    return Selection(
        Selector(tuple(dict.fromkeys(requirements)), nothing), frozenset.intersection(*named) if named else None
    )


def _by_key(terms: Sequence[tuple[AffinityTerm, int]], namespaces: NamespaceLabels) -> dict[str, Weights]:
    found: dict[str, Weights] = {}
    for term, weight in terms:
        found[term.topology_key] = (*found.get(term.topology_key, ()), (meant_by(term, namespaces), weight))
    return found
