"""All topology constraints of a round: spread, affinity and anti-affinity, and what they leave of a node's
requirements.

Upstream: pkg/controllers/provisioning/scheduling/topology.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec.structs import replace

from kwhatif.api.core import Namespace, Pod, PodAffinityTerm, Taint, TopologySpreadConstraint
from kwhatif.api.meta import LabelSelector, LabelSelectorRequirement
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.autoscaling.karpenter.map_order import MapOrder
from kwhatif.autoscaling.karpenter.pod_data import PodData
from kwhatif.autoscaling.karpenter.requirements import HOSTNAME, Requirements, merge_requirements, requirement_of
from kwhatif.autoscaling.karpenter.state import ClusterState, StateNode
from kwhatif.autoscaling.karpenter.topology_group import (
    AFFINITY,
    ANTI_AFFINITY,
    SPREAD,
    Domains,
    NodeFilter,
    TopologyGroup,
)

_EVERYTHING = Selector()


class Topology:
    """The groups of a round, in the order in which they were first seen."""

    def __init__(
        self,
        cluster: ClusterState,
        nodes: Sequence[StateNode],
        domains: Domains,
        pods: Iterable[PodData],
        order: MapOrder,
    ) -> None:
        pods = list(pods)
        self._map_order = order
        self._cluster = cluster
        self._nodes = nodes
        self._domains = domains
        self._moving = {id(pod_data.pod) for pod_data in pods}
        self._groups: dict[Hashable, TopologyGroup] = {}
        self._inverse: dict[Hashable, TopologyGroup] = {}
        self._repelled_by: dict[int, list[TopologyGroup]] = {}
        self._order: dict[int, int] = {}
        self._owned: dict[int, tuple[PodData, list[TopologyGroup]]] = {}
        for pod, node in cluster.list_anti_affinity_pods():
            if id(pod) not in self._moving:
                self._repels(PodData.from_pod(pod), node.metadata.labels or {})
        for pod_data in pods:
            self.update(pod_data)

    # --- who has which constraints

    def update(self, pod_data: PodData) -> None:
        """Register a pod's constraints; topology groups that are new are counted."""
        there = self._owned.get(id(pod_data.pod))
        if there is not None and there[0] is pod_data:
            return
        if pod_data.terms("pod_anti_affinity", preferred=False):
            self._repels(pod_data, {})
        groups = [*self._spread(pod_data), *self._near(pod_data)]
        owned = []
        for group in groups:
            identity = group.identity
            if identity not in self._groups:
                self._count(group)
                self._groups[identity] = group
                self._order[id(group)] = len(self._order)
            owned.append(self._groups[identity])
        owned = list({id(group): group for group in owned}.values())
        owned.sort(key=lambda group: self._order[id(group)])
        self._owned[id(pod_data.pod)] = (pod_data, owned)

    def _repels(self, pod_data: PodData, labels: dict[str, str]) -> None:
        """Register a pod's required anti-affinity in the inverse direction, as it keeps other pods away."""
        mine = self._repelled_by.setdefault(id(pod_data.pod), [])
        for term in pod_data.terms("pod_anti_affinity", preferred=False):
            made = self._of_term(ANTI_AFFINITY, term, pod_data)
            group = self._inverse.setdefault(made.identity, made)
            if group.key in labels:
                group.record([labels[group.key]])
            if group not in mine:
                mine.append(group)

    def _spread(self, pod_data: PodData) -> Iterable[TopologyGroup]:
        for constraint in pod_data.spread:
            if pod_data.ignores_preferences and constraint.when_unsatisfiable != "DoNotSchedule":
                continue
            by_taints = constraint.node_taints_policy == "Honor"
            nodes = NodeFilter.from_pod(
                pod_data, by_affinity=(constraint.node_affinity_policy or "Honor") == "Honor", by_taints=by_taints
            )
            yield self._register_domains(
                TopologyGroup(
                    SPREAD,
                    constraint.topology_key,
                    frozenset({pod_data.pod.namespace}),
                    _selector(constraint, pod_data),
                    nodes,
                    constraint.max_skew,
                    constraint.min_domains,
                ),
                pod_data,
                by_taints=by_taints,
            )

    def _near(self, pod_data: PodData) -> Iterable[TopologyGroup]:
        for kind, side in ((AFFINITY, "pod_affinity"), (ANTI_AFFINITY, "pod_anti_affinity")):
            for term in pod_data.terms(side, preferred=not pod_data.ignores_preferences):
                yield self._of_term(kind, term, pod_data)

    def _of_term(self, kind: str, term: PodAffinityTerm, pod_data: PodData) -> TopologyGroup:
        group = TopologyGroup(kind, term.topology_key, self._namespaces(term, pod_data.pod), term.label_selector)
        return self._register_domains(group, pod_data, by_taints=True)

    def _register_domains(self, group: TopologyGroup, pod_data: PodData, *, by_taints: bool) -> TopologyGroup:
        for domain in self._domains.suiting(group.key, pod_data.tolerations if by_taints else None):
            group.register(domain)
        group.order = self._map_order
        return group

    def _namespaces(self, term: PodAffinityTerm, pod: Pod) -> frozenset[str]:
        named = frozenset(term.namespaces or ())
        if term.namespace_selector is None:
            return named or frozenset({pod.namespace})
        selects = Selector.from_label_selector(term.namespace_selector)
        return named | {
            namespace.name
            for namespace in self._cluster.objects.list_all(Namespace)
            if selects.matches(namespace.metadata.labels or {})
        }

    def _count(self, group: TopologyGroup) -> None:
        """Count existing pods, and record the domains of existing nodes."""
        for node in self._nodes:
            if node.node is None:
                continue
            has = self._cluster.labels_of(node.node)
            if group.key in node.labels and group.nodes.matches(node.node.spec.taints or (), has):
                group.register(node.labels[group.key])
        selects = _EVERYTHING if group.selector is None else _compile_selector(group.selector)
        for pod in self._cluster.list_bound_pods(group.namespaces):
            if id(pod) in self._moving or not selects.matches(pod.metadata.labels or {}):
                continue
            home = self._cluster.nodes_by_name.get(pod.spec.node_name or "")
            if home is None:
                continue
            labels = home.metadata.labels or {}
            domain = labels.get(group.key, home.name if group.key == HOSTNAME else None)
            if domain is not None and group.nodes.matches(home.spec.taints or (), self._cluster.labels_of(home)):
                group.record([domain])

    # --- a pod on a node

    def add_requirements(
        self, pod_data: PodData, taints: Sequence[Taint], requirements: Requirements
    ) -> tuple[Requirements, Callable[[], str] | None]:
        """What the constraints leave of a node's requirements for the pod, or the message about the first that cannot
        be met.
        """
        so_far: Requirements = requirements
        for group in self._matching(pod_data, taints, requirements):
            of_pod = requirement_of(pod_data.strict_requirements, group.key)
            of_node = requirement_of(requirements, group.key)
            left = group.next_domains(pod_data, of_pod, of_node)
            if not left.values:
                return requirements, group.explain_no_domain(of_pod, of_node)
            so_far = merge_requirements(so_far, left)
        return so_far, None

    def refuses(self, pod_data: PodData, requirements: Requirements) -> tuple[bool, bool]:
        """Whether the pod's own constraints leave nothing of a node's requirements, and whether that is for good, since
        counts on a host only increase. What they leave of narrower requirements is not more, so no further check is
        needed then.
        """
        for group in self._owners(pod_data):
            of_pod, of_node = (
                requirement_of(pod_data.strict_requirements, group.key),
                requirement_of(requirements, group.key),
            )
            if not group.next_domains(pod_data, of_pod, of_node).values:
                return True, group.type != AFFINITY and group.key == HOSTNAME and len(of_node.values) == 1
        return False, False

    def _matching(
        self, pod_data: PodData, taints: Sequence[Taint], requirements: Requirements
    ) -> Iterable[TopologyGroup]:
        yield from self._owners(pod_data)
        for group in self._inverse.values():
            if group.counts_pod(pod_data, taints, requirements):
                yield group

    def _owners(self, pod_data: PodData) -> Sequence[TopologyGroup]:
        """The pod's own constraints; none for a pod that is not registered."""
        entry = self._owned.get(id(pod_data.pod))
        return entry[1] if entry else ()

    def applies_to(self, pod_data: PodData) -> bool:
        """Whether any constraint restricts where the pod goes."""
        return bool(self._owners(pod_data)) or any(group.selects(pod_data) for group in self._inverse.values())

    def record(self, pod_data: PodData, taints: Sequence[Taint], requirements: Requirements) -> None:
        """A pod goes to a node that meets the requirements."""
        for group in self._groups.values():
            if group.counts_pod(pod_data, taints, requirements):
                domains = requirement_of(requirements, group.key)
                # Anti-affinity blocks all domains that are still possible; else the domain must be known.
                if group.type == ANTI_AFFINITY or (not domains.complement and len(domains.values) == 1):
                    group.record(domains.values)
        for group in self._repelled_by.get(id(pod_data.pod), ()):
            group.record(requirement_of(requirements, group.key).values)

    def register_host(self, hostname: str) -> None:
        for groups in (self._groups, self._inverse):
            for group in groups.values():
                if group.key == HOSTNAME:
                    group.register(hostname)


def _selector(constraint: TopologySpreadConstraint, pod_data: PodData) -> LabelSelector | None:
    """The constraint's selector with its ``matchLabelKeys``."""
    more = [
        LabelSelectorRequirement(key=key, operator="In", values=[pod_data.labels[key]])
        for key in constraint.match_label_keys or ()
        if key in pod_data.labels
    ]
    if not more or constraint.label_selector is None:
        return constraint.label_selector
    there = constraint.label_selector.match_expressions or ()
    return replace(constraint.label_selector, match_expressions=[*there, *more])


def _compile_selector(selector: LabelSelector) -> Selector:
    """The selector by which pods are listed: an invalid one lists none."""
    try:
        return Selector.from_label_selector(selector)
    except SelectorError:
        return Selector(nothing=True)
