"""RemovePodsViolatingTopologySpreadConstraint: pods whose move would bring domains within maxSkew of each other.

Only pods that may be evicted count for the size of a domain. Upstream:
pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from kwhatif.api.core import Node, Pod, Toleration, TopologySpreadConstraint
from kwhatif.api.selectors import RequiredNodeAffinity, Requirement, Selector, SelectorError, find_untolerated_taints
from kwhatif.cluster.types import BoolArray
from kwhatif.descheduling.framework.descheduler_policy import ScopedArgs
from kwhatif.descheduling.framework.node_fit import NO_SCHEDULE
from kwhatif.descheduling.framework.pod_evictor import EvictionOutcome
from kwhatif.descheduling.framework.scoped_plugin import ScopedPlugin, scope_problems
from kwhatif.golang.config_struct import Text

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class RemovePodsViolatingTopologySpreadConstraintArgs(ScopedArgs):
    """``constraints`` is what constraints may say of unsatisfiable ones: DoNotSchedule by default."""

    constraints: tuple[Text, ...] = ()
    topology_balance_node_fit: bool | None = None


class _Constraint(msgspec.Struct, frozen=True):
    """A constraint with its selector compiled; of affinity and tolerations only what its policies honour."""

    max_skew: int
    key: str
    selector: Selector
    affinity: RequiredNodeAffinity | None
    tolerations: tuple[Toleration, ...] | None

    @classmethod
    def of(cls, constraint: TopologySpreadConstraint, pod: Pod) -> _Constraint:
        """Raises SelectorError."""
        labels = pod.metadata.labels or {}
        same = [key for key in constraint.match_label_keys or () if key in labels]
        selector = Selector.from_label_selector(constraint.label_selector).with_requirements(
            Requirement(key, "In", (labels[key],)) for key in same
        )
        honours_affinity = (constraint.node_affinity_policy or "Honor") == "Honor"
        honours_taints = (constraint.node_taints_policy or "Ignore") == "Honor"
        return cls(
            constraint.max_skew,
            constraint.topology_key,
            selector,
            RequiredNodeAffinity.from_pod_spec(pod.spec) if honours_affinity else None,
            tuple(pod.spec.tolerations or ()) if honours_taints else None,
        )

    def includes(self, node: Node) -> bool:
        """Whether the policies let the node count."""
        if self.affinity is not None and not self.affinity.matches(node.metadata.labels or {}, node.name):
            return False
        if self.tolerations is None:
            return True
        return not find_untolerated_taints(
            node.spec.taints or (), self.tolerations, NO_SCHEDULE, comparison_operators=True
        )


class _Domain(msgspec.Struct):
    value: str
    pods: list[Pod]


class _PodsByLabel:
    """The pods of a namespace, found by a label that a selector insists on."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        self._pods = pods
        self._places: dict[str, dict[str, list[int]]] = {}

    def select(self, selector: Selector) -> list[Pod]:
        """Those that match, in their order."""
        if selector.nothing:
            return []
        places: Sequence[int] = range(len(self._pods))
        for requirement in selector.requirements:
            if requirement.operator == "In":
                by_value = self._by_value(requirement.key)
                places = sorted(place for value in set(requirement.values) for place in by_value.get(value, ()))
                break
        pods = (self._pods[place] for place in places)
        return [pod for pod in pods if selector.matches(pod.metadata.labels or {})]

    def _by_value(self, key: str) -> dict[str, list[int]]:
        by_value = self._places.get(key)
        if by_value is None:
            by_value = self._places[key] = {}
            for place, pod in enumerate(self._pods):
                labels = pod.metadata.labels or {}
                if key in labels:
                    by_value.setdefault(labels[key], []).append(place)
        return by_value


class RemovePodsViolatingTopologySpreadConstraint(ScopedPlugin[RemovePodsViolatingTopologySpreadConstraintArgs]):
    name = "RemovePodsViolatingTopologySpreadConstraint"
    args_type = RemovePodsViolatingTopologySpreadConstraintArgs
    point: ClassVar[str] = "balance"

    @classmethod
    def problems(cls, args: RemovePodsViolatingTopologySpreadConstraintArgs) -> Iterator[str]:
        yield from scope_problems(args.namespaces, args.label_selector)
        for constraint in args.constraints:
            if constraint not in _ACTIONS:
                yield f"constraint {constraint} is not one of map[{' '.join(f'{name}:{{}}' for name in _ACTIONS)}]"

    def run(self) -> None:
        self._eligible_nodes: dict[tuple[RequiredNodeAffinity | None, tuple[Toleration, ...] | None], list[Node]] = {}
        evictor = self.handle.evictor
        by_namespace: dict[str, list[Pod]] = {}
        for node in self.handle.nodes:
            for pod in self.handle.pods.running(node.name):
                if self.scope.holds(pod) and evictor.is_evictable(pod):
                    by_namespace.setdefault(pod.namespace, []).append(pod)
        going: dict[str, tuple[Pod, str]] = {}
        for namespace in sorted(by_namespace):
            pods = _PodsByLabel(by_namespace[namespace])
            for constraint in self._constraints(by_namespace[namespace]):
                for pod, reason in self._balance(constraint, pods):
                    going.setdefault(pod.key, (pod, reason))
        self._evict_all(sorted(going.values(), key=lambda entry: (entry[0].namespace, entry[0].name)))

    def why_not_within(self, pod: Pod) -> str:
        return "no constraint that selects it is broken, or other pods of its domain go"

    def _evict_all(self, going: Sequence[tuple[Pod, str]]) -> None:
        full: set[str] = set()
        for pod, reason in going:
            node = pod.spec.node_name or ""
            if node in full or not self.handle.may_go(pod):
                continue
            outcome = self.evict(pod, reason)
            if outcome is EvictionOutcome.TOTAL:
                return
            if outcome is EvictionOutcome.NODE:
                full.add(node)

    def _constraints(self, pods: Sequence[Pod]) -> list[_Constraint]:
        """The constraints of these pods, each once."""
        actions = self.args.constraints or _ACTIONS[:1]
        constraints: dict[_Constraint, None] = {}
        for pod in pods:
            if not pod.spec.topology_spread_constraints:
                continue
            for constraint in pod.spec.topology_spread_constraints:
                if constraint.when_unsatisfiable not in actions:
                    continue
                try:
                    compiled = _Constraint.of(constraint, pod)
                except SelectorError:
                    # Upstream logs it, and goes on.
                    continue
                constraints[compiled] = None
        return list(constraints)

    def _eligible(self, constraint: _Constraint) -> list[Node]:
        """The nodes of the cycle that the constraint's policies let count."""
        look = constraint.affinity, constraint.tolerations
        nodes = self._eligible_nodes.get(look)
        if nodes is None:
            nodes = self._eligible_nodes[look] = [node for node in self.handle.nodes if constraint.includes(node)]
        return nodes

    def _balance(self, constraint: _Constraint, pods: _PodsByLabel) -> list[tuple[Pod, str]]:
        """Which pods one constraint would have moved (upstream: balanceDomains)."""
        eligible = self._eligible(constraint)
        by_value = self._domains(constraint, eligible, pods)
        sizes = [len(inside) for inside in by_value.values()]
        if not sizes or max(sizes) - min(sizes) <= constraint.max_skew:
            return []
        average = sum(sizes) / len(sizes)
        domains = [_Domain(value, sorted(inside, key=_order)) for value, inside in sorted(by_value.items())]
        domains.sort(key=lambda domain: len(domain.pods))
        below = {domain.value for domain in domains if len(domain.pods) < average}
        rows = self.handle.fit.rows(
            node for node in eligible if (node.metadata.labels or {}).get(constraint.key) in below
        )
        return self._move(constraint, domains, average, rows)

    def _domains(self, constraint: _Constraint, eligible: Sequence[Node], pods: _PodsByLabel) -> dict[str, list[Pod]]:
        """The pods of each domain: of those of eligible nodes, and of others that have pods."""
        domains: dict[str, list[Pod]] = {}
        for node in eligible:
            labels = node.metadata.labels or {}
            if constraint.key in labels:
                domains.setdefault(labels[constraint.key], [])
        for pod in pods.select(constraint.selector):
            if pod.metadata.deletion_timestamp:
                continue
            labels = self.handle.pods.by_name[pod.spec.node_name or ""].metadata.labels or {}
            if constraint.key in labels:
                domains.setdefault(labels[constraint.key], []).append(pod)
        return domains

    def _move(
        self, constraint: _Constraint, domains: list[_Domain], average: float, below: BoolArray
    ) -> list[tuple[Pod, str]]:
        insists = self.args.topology_balance_node_fit is not False
        fits: dict[str, bool] = {}
        moves: list[tuple[Pod, str]] = []
        i, j = 0, len(domains) - 1
        while i < j:
            if len(domains[j].pods) <= average:
                j -= 1
            low, high = domains[i], domains[j]
            skew = len(high.pods) - len(low.pods)
            if skew <= constraint.max_skew:
                i += 1
                continue
            count = min(
                math.ceil(len(high.pods) - average),
                math.ceil(average - len(low.pods)),
                math.ceil((skew - constraint.max_skew) / 2),
            )
            if count <= 0:
                i += 1
                continue
            for pod in high.pods:
                if pod.key not in fits:
                    fits[pod.key] = self.handle.fit.fits_any_other(pod, below)
            # Those that fit nowhere else come first, so that they stay.
            high.pods.sort(key=lambda pod: fits[pod.key])
            moved = high.pods[-count:]
            reason = (
                f"{constraint.key}={high.value} has {len(high.pods)} pods of {constraint.selector}, {low.value} has "
                f"{len(low.pods)}: a skew of {skew}, more than {constraint.max_skew}"
            )
            moves += [(pod, reason) for pod in moved if fits[pod.key] or not insists]
            del high.pods[-count:]
            low.pods += moved
        return moves


def _order(pod: Pod) -> tuple[bool, bool, int]:
    """Pods are evicted from the back: those with a node selector or node affinity come first, the others by ascending
    priority.
    """
    affinity = pod.spec.affinity
    chooses = pod.spec.node_selector is not None or (affinity is not None and affinity.node_affinity is not None)
    return not chooses, pod.spec.priority is not None, pod.spec.priority or 0
