"""RemovePodsViolatingNodeAffinity: pods on nodes that no longer match their node affinity.

Upstream: pkg/framework/plugins/removepodsviolatingnodeaffinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from kwhatif.api.core import Node, NodeAffinity, Pod
from kwhatif.api.selectors import NodeTerm, RequiredNodeAffinity
from kwhatif.descheduling.framework.descheduler_policy import ScopedArgs
from kwhatif.descheduling.framework.node_fit import required_affinity_matches
from kwhatif.descheduling.framework.scoped_plugin import ScopedPlugin, scope_problems

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class RemovePodsViolatingNodeAffinityArgs(ScopedArgs):
    node_affinity_type: tuple[str, ...] = ()


class RemovePodsViolatingNodeAffinity(ScopedPlugin[RemovePodsViolatingNodeAffinityArgs]):
    name = "RemovePodsViolatingNodeAffinity"
    args_type = RemovePodsViolatingNodeAffinityArgs
    point: ClassVar[str] = "deschedule"

    @classmethod
    def problems(cls, args: RemovePodsViolatingNodeAffinityArgs) -> Iterator[str]:
        if not args.node_affinity_type:
            yield "nodeAffinityType needs to be set"
        yield from scope_problems(args.namespaces, args.label_selector)

    def run(self) -> None:
        for kind in self.args.node_affinity_type:
            # What is of neither type is logged upstream, and passed over.
            if kind == _REQUIRED:
                self._process(self._violates_required)
            elif kind == _PREFERRED:
                self._process(self._violates_preferred)

    def why_not_within(self, pod: Pod) -> str:
        if pod.spec.affinity is None or pod.spec.affinity.node_affinity is None:
            return "it has no node affinity"
        if not self.handle.fit.fits_any(pod, self.handle.fit.rows(self.handle.nodes)):
            return "it fits on no node"
        return f"its node affinity has nothing against {pod.spec.node_name}"

    def _process(self, violation: Callable[[Pod, Node], str]) -> None:
        among = self.handle.fit.rows(self.handle.nodes)
        for node in self.handle.nodes:
            going: list[tuple[Pod, str]] = []
            for pod in self.handle.pods.running(node.name):
                affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
                if affinity is None or not self.scope.holds(pod):
                    continue
                reason = violation(pod, node)
                if reason and self.handle.may_go(pod) and self.handle.fit.fits_any(pod, among):
                    going.append((pod, reason))
            if not self.evict_from_node(going):
                return

    def _violates_required(self, pod: Pod, node: Node) -> str:
        if _affinity_of(pod).required_during_scheduling_ignored_during_execution is None:
            return ""
        affinity = RequiredNodeAffinity.from_pod_spec(pod.spec)
        if required_affinity_matches(affinity, node):
            return ""
        return f"its required node affinity does not match {node.name}: {affinity.unmet(node)}"

    def _violates_preferred(self, pod: Pod, node: Node) -> str:
        terms = [
            (preferred_scheduling_term.weight, NodeTerm.from_term(preferred_scheduling_term.preference))
            for preferred_scheduling_term in _affinity_of(pod).preferred_during_scheduling_ignored_during_execution
            or ()
        ]
        if not terms:
            return ""
        weights = {
            other.name: sum(w for w, term in terms if term and term.matches(other.metadata.labels or {}, other.name))
            for other in self.handle.nodes
        }
        own = weights[node.name]
        best = max(weights, key=lambda name: weights[name])
        if max(weights[best], 0) <= own:
            return ""
        return f"its preferred node affinity weighs {best} {weights[best]}, and {node.name} only {own}"


def _affinity_of(pod: Pod) -> NodeAffinity:
    return (pod.spec.affinity and pod.spec.affinity.node_affinity) or NodeAffinity()
