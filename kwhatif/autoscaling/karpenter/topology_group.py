"""One topology constraint, shared by all pods that have it, with the counts of its domains.

Upstream: topologygroup.go, topologynodefilter.go, topologydomaingroup.go in pkg/controllers/provisioning/scheduling.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kwhatif.api.core import Taint, Toleration
from kwhatif.api.meta import LabelSelector
from kwhatif.api.selectors import Selector
from kwhatif.autoscaling.karpenter.map_order import MapOrder
from kwhatif.autoscaling.karpenter.pod_data import PodData
from kwhatif.autoscaling.karpenter.requirements import (
    HOSTNAME,
    Requirement,
    Requirements,
    incompatible,
    merge_requirements,
    of_expressions,
    of_labels,
)
from kwhatif.autoscaling.karpenter.state import explain_untolerated_taints

SPREAD, AFFINITY, ANTI_AFFINITY = "topology spread", "pod affinity", "pod anti-affinity"
_NO_LIMIT = 2**31 - 1
_SHOWN = 25


class NodeFilter(msgspec.Struct, frozen=True):
    """The nodes that a spread constraint counts: those that its pod could be on. Without policies, all."""

    alternatives: tuple[Requirements, ...] = ()
    by_affinity: bool = False
    by_taints: bool = False
    tolerations: tuple[Toleration, ...] = ()

    @classmethod
    def from_pod(cls, pod_data: PodData, *, by_affinity: bool, by_taints: bool) -> NodeFilter:
        labels = of_labels(pod_data.pod.spec.node_selector)
        terms = [
            merge_requirements(labels, *of_expressions(term.match_expressions).values()) for term in pod_data.required
        ]
        return cls(tuple(terms) or (labels,), by_affinity, by_taints, pod_data.tolerations)

    def matches(self, taints: Iterable[Taint], requirements: Requirements) -> bool:
        if self.by_affinity and not any(
            not incompatible(requirements, alternative) for alternative in self.alternatives
        ):
            return False
        return not (self.by_taints and explain_untolerated_taints(taints, self.tolerations))

    @property
    def identity(self) -> Hashable:
        """The hash by which filters are compared: of requirements their keys alone; duplicates cancel each other."""
        keys = _odd(
            frozenset((key, requirement.min_values) for key, requirement in term.items()) for term in self.alternatives
        )
        tolerated = _odd(
            (
                toleration.key or "",
                toleration.operator or "",
                toleration.value or "",
                toleration.effect or "",
                toleration.toleration_seconds,
            )
            for toleration in self.tolerations
        )
        return keys, self.by_affinity, self.by_taints, tolerated


def _odd(items: Iterable[Hashable]) -> frozenset[Hashable]:
    """The items that are there an odd number of times: upstream's hash of a set cancels pairs."""
    odd: set[Hashable] = set()
    for item in items:
        odd ^= {item}
    return frozenset(odd)


def selector_identity(selector: LabelSelector | None) -> Hashable:
    if selector is None:
        return None
    expressions = frozenset(
        (match_expression.key, match_expression.operator, _odd(match_expression.values or ()))
        for match_expression in selector.match_expressions or ()
    )
    return expressions, frozenset((selector.match_labels or {}).items())


@dataclass
class TopologyGroup:
    """``counts``: pods by domain; ``empty``: domains where none is known. ``most_skew`` and ``least_domains`` are of
    spread constraints."""

    type: str
    key: str
    namespaces: frozenset[str]
    selector: LabelSelector | None
    nodes: NodeFilter = field(default_factory=NodeFilter)
    most_skew: int = _NO_LIMIT
    least_domains: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    order: MapOrder = field(default_factory=MapOrder)

    def __post_init__(self) -> None:
        self._selects = Selector.from_label_selector(self.selector)
        self._selected: dict[int, bool] = {}

    @property
    def identity(self) -> Hashable:
        """Constraints that are alike in this are one group."""
        selected = selector_identity(self.selector)
        return self.key, self.type, self.namespaces, self.most_skew, self.nodes.identity, selected

    # --- which pods and domains

    def selects(self, pod_data: PodData) -> bool:
        selects = self._selected.get(id(pod_data.pod))
        if selects is None:
            selects = pod_data.pod.namespace in self.namespaces and self._selects.matches(pod_data.labels)
            self._selected[id(pod_data.pod)] = selects
        return selects

    def counts_pod(self, pod_data: PodData, taints: Sequence[Taint], requirements: Requirements) -> bool:
        """Whether a pod counts on a node that meets the requirements."""
        return self.selects(pod_data) and self.nodes.matches(taints, requirements)

    def register(self, domain: str) -> None:
        if domain not in self.counts:
            self.counts[domain] = 0
            self.empty.add(domain)

    def record(self, domains: Iterable[str]) -> None:
        for domain in domains:
            self.counts[domain] = self.counts.get(domain, 0) + 1
            self.empty.discard(domain)

    # --- where the next pod may go

    def next_domains(self, pod_data: PodData, of_pod: Requirement, of_node: Requirement) -> Requirement:
        """The domains that the constraint leaves to the pod on a node; an empty requirement where it leaves none."""
        if self.type == SPREAD:
            return self._least_used(pod_data, of_pod, of_node)
        if self.type == AFFINITY:
            return self._requirement_in(self._beside(pod_data, of_pod, of_node))
        return self._requirement_in(self._anti_affinity_domains(of_pod, of_node))

    def _requirement_in(self, domains: Collection[str]) -> Requirement:
        return Requirement(self.key, False, frozenset(domains))

    def _its_own(self, of_node: Requirement) -> str | None:
        """The hostname of the node."""
        return next(iter(of_node.values)) if self.key == HOSTNAME and len(of_node.values) == 1 else None

    def _candidates(self, of_node: Requirement) -> list[str]:
        """Domains known here that the node may still be in, by name."""
        if of_node.operator == "In":
            return [domain for domain in of_node.sorted_values if domain in self.counts]
        return [domain for domain in sorted(self.counts) if of_node.has(domain)]

    def _least_used(self, pod_data: PodData, of_pod: Requirement, of_node: Requirement) -> Requirement:
        own = 1 if self.selects(pod_data) else 0
        host = self._its_own(of_node)
        if host is not None:
            return self._requirement_in((host,) if self.counts.get(host, 0) + own <= self.most_skew else ())
        least = self._least(of_pod)
        allowed = [
            domain for domain in self._candidates(of_node) if self.counts[domain] + own - least <= self.most_skew
        ]
        fewest = min((self.counts[domain] for domain in allowed), default=0)
        return self._requirement_in(
            self.order.arrange(domain for domain in allowed if self.counts[domain] == fewest)[:1]
        )

    def _least(self, of_pod: Requirement) -> int:
        """The count of the least used domain that the pod itself allows."""
        if self.key == HOSTNAME:
            return 0  # a new machine has none
        counts = [count for domain, count in self.counts.items() if of_pod.has(domain)]
        if self.least_domains is not None and len(counts) < self.least_domains:
            return 0
        return min(counts, default=_NO_LIMIT)

    def _beside(self, pod_data: PodData, of_pod: Requirement, of_node: Requirement) -> set[str]:
        host = self._its_own(of_node)
        if host is not None:
            if of_pod.has(host) and (self.counts.get(host, 0) > 0 or self._may_begin(pod_data, of_pod)):
                return {host}
            return set()
        there = {d for d in self._candidates(of_node) if of_pod.has(d) and self.counts[d] > 0}
        if there or not self._may_begin(pod_data, of_pod):
            return there
        # The first pod goes where it can: into a domain that suits the node, and one that suits the pod.
        meant = of_pod.intersect(of_node)
        possible = (
            self.order.arrange(domain for domain in self.counts if requirement.has(domain))
            for requirement in (meant, of_pod)
        )
        return {domains[0] for domains in possible if domains}

    def _may_begin(self, pod_data: PodData, of_pod: Requirement) -> bool:
        """Whether the pod may be the first: it matches its own affinity, and there is no matching pod elsewhere."""
        if not self.selects(pod_data):
            return False
        if len(self.counts) == len(self.empty):
            return True
        return not any(count > 0 and of_pod.has(domain) for domain, count in self.counts.items())

    def _anti_affinity_domains(self, of_pod: Requirement, of_node: Requirement) -> set[str]:
        host = self._its_own(of_node)
        if host is not None:
            return {host} if self.counts.get(host, 0) == 0 else set()
        return {domain for domain in self.empty if of_node.has(domain) and of_pod.has(domain)}

    def explain_no_domain(self, of_pod: Requirement, of_node: Requirement) -> Callable[[], str]:
        """The message where no domain is left, by the counts at the time of the call."""

        def describe() -> str:
            counts = self.counts
            shown = [f"{domain}: {counts[domain]}" for domain in sorted(counts)]
            more = f" and {len(shown) - _SHOWN} other(s)" if len(shown) > _SHOWN else ""
            return (
                f"unsatisfiable topology constraint for {self.type}, key={self.key} "
                f"(counts = {', '.join(shown[:_SHOWN])}{more}, podDomains = {of_pod}, nodeDomains = {of_node}"
            )

        return describe


class Domains:
    """The domains of each label that the catalogue knows within the NodePools, with the taints of the pools."""

    def __init__(self) -> None:
        self._taints: dict[str, dict[str, list[Sequence[Taint]]]] = {}

    def add(self, key: str, domain: str, taints: Sequence[Taint]) -> None:
        of_key = self._taints.setdefault(key, {})
        if domain not in of_key or not taints:
            of_key[domain] = [taints]
        elif of_key[domain][0]:
            of_key[domain].append(taints)

    def suiting(self, key: str, tolerations: Sequence[Toleration] | None) -> Mapping[str, int]:
        """The domains of a label, none of them used yet; those with untolerated taints are left out."""
        return {
            domain: 0
            for domain, groups in self._taints.get(key, {}).items()
            if tolerations is None or any(not explain_untolerated_taints(taints, tolerations) for taints in groups)
        }
