"""RemovePodsViolatingInterPodAntiAffinity: pods whose own required anti-affinity selects a pod in the same domain.

Only pods within the plugin's scope are evicted or compared. Upstream:
pkg/framework/plugins/removepodsviolatinginterpodantiaffinity, pkg/utils/predicates.go (CheckPodsWithAntiAffinityExist).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from kwhatif.api.core import Node, Pod, PodAffinityTerm
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.descheduling.framework.descheduler_policy import ScopedArgs
from kwhatif.descheduling.framework.node_fit import anti_affinity_terms, namespaces_of
from kwhatif.descheduling.framework.pod_evictor import EvictionOutcome
from kwhatif.descheduling.framework.pod_order import sort_by_priority
from kwhatif.descheduling.framework.scoped_plugin import ScopedPlugin, scope_problems


class RemovePodsViolatingInterPodAntiAffinityArgs(ScopedArgs):
    pass


class RemovePodsViolatingInterPodAntiAffinity(ScopedPlugin[RemovePodsViolatingInterPodAntiAffinityArgs]):
    name = "RemovePodsViolatingInterPodAntiAffinity"
    args_type = RemovePodsViolatingInterPodAntiAffinityArgs
    point: ClassVar[str] = "deschedule"

    @classmethod
    def problems(cls, args: RemovePodsViolatingInterPodAntiAffinityArgs) -> Iterator[str]:
        yield from scope_problems(args.namespaces, args.label_selector)

    def run(self) -> None:
        on_node = {
            node.name: [pod for pod in self.handle.pods.running(node.name) if self.scope.holds(pod)]
            for node in self.handle.nodes
        }
        present = _Present({node.name: node for node in self.handle.nodes}, on_node)
        for pods in on_node.values():
            for pod in sort_by_priority(pods):
                term = present.disturbing(pod)
                if term is None or not self.handle.may_go(pod):
                    continue
                outcome = self.evict(pod, _reason(term, pod))
                if outcome is EvictionOutcome.TOTAL:
                    return
                if outcome is EvictionOutcome.NODE:
                    break
                if outcome is EvictionOutcome.EVICTED:
                    present.forget(pod)

    def why_not_within(self, pod: Pod) -> str:
        if not anti_affinity_terms(pod):
            return "it has no required anti-affinity of its own"
        return "no pod that its anti-affinity selects is left close by"


def _reason(term: PodAffinityTerm, pod: Pod) -> str:
    wanted = Selector.from_label_selector(term.label_selector)
    return f"its anti-affinity keeps pods {wanted} out of its {term.topology_key}, and there is one beside {pod.name}"


Domain = tuple[str, str]


class _Present:
    """The pods that count, indexed for the terms: how many are selected in a domain, and with which names."""

    def __init__(self, nodes: Mapping[str, Node], on_node: Mapping[str, Iterable[Pod]]) -> None:
        self._nodes = nodes
        self._pods = {pod.key: pod for pods in on_node.values() for pod in pods}
        self._counts: dict[tuple[frozenset[str], Selector, str], _Counts] = {}

    def disturbing(self, pod: Pod) -> PodAffinityTerm | None:
        """The first term of the pod that selects another one in its domain. A pod of the same name is passed over."""
        for term in anti_affinity_terms(pod):
            try:
                selector = Selector.from_label_selector(term.label_selector)
            except SelectorError:
                # Upstream looks at no further term.
                return None
            look = namespaces_of(term, pod), selector, term.topology_key
            counts = self._counts.get(look)
            if counts is None:
                counts = self._counts[look] = _Counts(*look)
                for other in self._pods.values():
                    counts.add(other, self._domain(other, term.topology_key))
            domain = self._domain(pod, term.topology_key)
            if counts.selected[domain] > counts.named[domain, pod.name]:
                return term
        return None

    def forget(self, pod: Pod) -> None:
        """A pod was evicted: it violates nothing any more."""
        del self._pods[pod.key]
        for (_, _, key), counts in self._counts.items():
            counts.add(pod, self._domain(pod, key), -1)

    def _domain(self, pod: Pod, key: str) -> Domain:
        """Nodes without the key are domains of their own."""
        name = pod.spec.node_name or ""
        labels = self._nodes[name].metadata.labels or {}
        return ("value", labels[key]) if key in labels else ("node", name)


class _Counts:
    def __init__(self, namespaces: frozenset[str], selector: Selector, key: str) -> None:
        self._namespaces, self._selector, self._key = namespaces, selector, key
        self.selected: Counter[Domain] = Counter()
        self.named: Counter[tuple[Domain, str]] = Counter()

    def add(self, pod: Pod, domain: Domain, count: int = 1) -> None:
        if pod.namespace in self._namespaces and self._selector.matches(pod.metadata.labels or {}):
            self.selected[domain] += count
            self.named[domain, pod.name] += count
