"""Who matches whose affinity terms.

Upstream: kube-scheduler/framework/types.go (AffinityTerm.Matches) and
plugins/interpodaffinity/plugin.go (mergeAffinityTermNamespacesIfNotEmpty).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kwhatif.api.core import Namespace
from kwhatif.api.kinds import Objects
from kwhatif.cluster.shapes import AffinityTerm, PodShape

__all__ = ["Incoming"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A pod that looks for a node: its own terms with namespace selectors resolved, and what others see of it."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    namespace_labels: tuple[tuple[str, str], ...]
    required: tuple[AffinityTerm, ...]
    required_anti: tuple[AffinityTerm, ...]
    preferred: tuple[AffinityTerm, ...]
    preferred_anti: tuple[AffinityTerm, ...]

    @classmethod
    def of(cls, shape: PodShape, objects: Objects) -> Incoming:
        namespaces = {ns.name: ns.metadata.labels or {} for ns in objects.of(Namespace)}

        def resolve(terms: tuple[AffinityTerm, ...]) -> tuple[AffinityTerm, ...]:
            return tuple(
                term
                if term.namespace_selector.empty
                else replace(
                    term,
                    namespaces=term.namespaces
                    | {name for name, labels in namespaces.items() if term.namespace_selector.matches(labels)},
                )
                for term in terms
            )

        return cls(
            shape.namespace,
            tuple(sorted(shape.labels.items())),
            tuple(sorted(namespaces.get(shape.namespace, {}).items())),
            resolve(shape.affinity),
            resolve(shape.anti_affinity),
            resolve(shape.preferred_affinity),
            resolve(shape.preferred_anti_affinity),
        )

    def meets(self, term: AffinityTerm, other: PodShape) -> bool:
        """Whether a pod of shape ``other`` is one that our ``term`` is about.

        Our namespace selector was resolved to names already. Upstream still asks it of a namespace without
        labels, so a selector such as ``env notin (prod)`` admits every namespace; so do we.
        """
        if other.namespace not in term.namespaces and not term.namespace_selector.matches({}):
            return False
        return term.selector.matches(other.labels)

    def met_by(self, term: AffinityTerm) -> bool:
        """Whether we are a pod that somebody else's ``term`` is about."""
        if self.namespace not in term.namespaces and not term.namespace_selector.matches(dict(self.namespace_labels)):
            return False
        return term.selector.matches(dict(self.labels))

    @property
    def meets_itself(self) -> bool:
        """Whether the pod is one it wants to be near to."""
        return bool(self.required) and all(
            (self.namespace in term.namespaces or term.namespace_selector.matches({}))
            and term.selector.matches(dict(self.labels))
            for term in self.required
        )

    def wants_near(self, key: str, other: PodShape) -> int:
        """1 if a pod of this shape is one that all required terms are about (``key`` is one of theirs)."""
        return int(all(self.meets(term, other) for term in self.required))

    def wants_far(self, key: str, other: PodShape) -> int:
        """How many required anti-affinity terms with this topology key are about a pod of this shape."""
        return sum(term.topology_key == key and self.meets(term, other) for term in self.required_anti)

    def unwelcome_to(self, key: str, other: PodShape) -> int:
        """How many anti-affinity terms of a pod of this shape, with this topology key, are about us."""
        return sum(term.topology_key == key and self.met_by(term) for term in other.anti_affinity)
