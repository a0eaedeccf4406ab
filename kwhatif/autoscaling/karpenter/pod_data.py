"""What a pod requires of a node, with its preferences, which are relaxed one by one; host ports; and amounts of
resources.

Preferences are requirements until no node suits them all. Amounts are exact, in thousandths of their units. Upstream:
pkg/controllers/provisioning/scheduling/preferences.go, pkg/scheduling/requirements.go (NewPodRequirements),
pkg/scheduling/hostportusage.go, pkg/utils/resources/resources.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from ipaddress import ip_address
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import (
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from kwhatif.api.quantity import Quantity, plain_quantity
from kwhatif.autoscaling.karpenter.requirements import Requirements, merge_requirements, of_expressions, of_labels
from kwhatif.cluster.pod_requests import pod_requests
from kwhatif.versions import features_of


class HostPort(msgspec.Struct, frozen=True):
    ip: str
    port: int
    protocol: str

    def clashes(self, other: HostPort) -> bool:
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or _is_any(self.ip) or _is_any(other.ip)


def _is_any(ip: str) -> bool:
    try:
        return ip_address(ip).is_unspecified
    except ValueError:
        return False


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The ports that a pod's containers take of their host."""
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.host_port, port.protocol or "TCP")
        for container in pod.spec.containers or ()
        for port in container.ports or ()
        if port.host_port
    )


class HostPorts(msgspec.Struct):
    """The ports in use on a node, by pod. Pods of one name, such as those of templates, overwrite each other."""

    by_pod: dict[str, tuple[HostPort, ...]] = {}

    def copy(self) -> HostPorts:
        return HostPorts(dict(self.by_pod))

    def take(self, pod: str, ports: tuple[HostPort, ...]) -> None:
        if ports or pod in self.by_pod:
            self.by_pod[pod] = ports

    def clash(self, pod: str, ports: Iterable[HostPort]) -> str | None:
        """The port that a pod's ports conflict with; None if there is none."""
        for new in ports:
            for other, used in self.by_pod.items():
                for there in used:
                    if other != pod and new.clashes(there):
                        return (
                            "pod hostport conflicts with existing hostport configuration ("
                            f"existing-hostport-ip={there.ip}, existing-hostport-port={there.port}, "
                            f"existing-hostport-protocol={there.protocol}, pod-hostport-ip={new.ip}, "
                            f"pod-hostport-port={new.port}, pod-hostport-protocol={new.protocol})"
                        )
        return None


Amounts = Mapping[str, int]


def amounts(quantities: Mapping[str, Quantity] | None) -> dict[str, int]:
    """Thousandths, rounded up."""
    return {name: -(-quantity.nano() // 1_000_000) for name, quantity in (quantities or {}).items()}


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """The sum by resource."""
    sums: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def subtract(amounts: Amounts, others: Amounts) -> dict[str, int]:
    """What is left of each resource once others have gone; it may be below zero."""
    return {name: amount - others.get(name, 0) for name, amount in amounts.items()}


def fits(requests: Amounts, free: Amounts) -> bool:
    """Whether there is enough of everything. Nothing fits where an amount is below zero."""
    if any(amount < 0 for amount in free.values()):
        return False
    return all(amount <= free.get(name, 0) for name, amount in requests.items())


def in_units(amounts: Amounts) -> dict[str, Any]:
    """Cores, bytes, counts: whole numbers where they are whole."""
    return {name: amount // 1000 if amount % 1000 == 0 else amount / 1000 for name, amount in sorted(amounts.items())}


def format_amounts(parts: Iterable[Mapping[str, Quantity]]) -> str:
    """The sum of quantities as messages have it."""
    sums: dict[str, Quantity] = {}
    for part in parts:
        for name, quantity in part.items():
            sums[name] = sums[name] + quantity if name in sums else quantity
    if not sums:
        return "{}"
    return "{" + ",".join(f'"{name}":"{sums[name].canonical}"' for name in sorted(sums)) + "}"


TOLERATES_PREFERENCES = Toleration(operator="Exists", effect="PreferNoSchedule")

# Karpenter is built with the types of this minor.
_FEATURES = features_of("1.35")
_encode = msgspec.json.Encoder(enc_hook=plain_quantity).encode


class PodData(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A pod's constraints; of those that can be relaxed, the remaining ones."""

    pod: Pod
    required: tuple[NodeSelectorTerm, ...]
    preferred: tuple[PreferredSchedulingTerm, ...]
    affinity: tuple[WeightedPodAffinityTerm, ...]
    anti_affinity: tuple[WeightedPodAffinityTerm, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    tolerations: tuple[Toleration, ...]
    given_up: Mapping[str, int]
    ignores_preferences: bool
    shapes: dict[Hashable, int]

    @classmethod
    def from_pod(
        cls, pod: Pod, *, ignores_preferences: bool = False, shapes: dict[Hashable, int] | None = None
    ) -> PodData:
        """All constraints of the pod; preferences by weight. ``shapes`` numbers the shapes of pods."""
        affinity = pod.spec.affinity
        node = affinity.node_affinity if affinity else None
        required = node.required_during_scheduling_ignored_during_execution if node else None
        sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else (None, None)
        near, far = (
            tuple(_heaviest(side.preferred_during_scheduling_ignored_during_execution or () if side else ()))
            for side in sides
        )
        preferred = node.preferred_during_scheduling_ignored_during_execution if node else None
        return cls(
            pod,
            tuple(required.node_selector_terms or ()) if required else (),
            tuple(sorted(preferred or (), key=lambda term: -term.weight)),
            near,
            far,
            tuple(pod.spec.topology_spread_constraints or ()),
            tuple(pod.spec.tolerations or ()),
            {},
            ignores_preferences,
            {} if shapes is None else shapes,
        )

    def relax(self, *, taints: bool) -> PodData | None:
        """The pod with one preference relaxed, the first in upstream's order; None if none is left.

        ``taints``: the pod may come to tolerate taints of effect PreferNoSchedule.
        """
        if len(self.required) > 1:
            return self._without("requiredNodeAffinity", required=self.required[1:])
        if self.affinity:
            return self._without("preferredPodAffinity", affinity=self.affinity[1:])
        if self.anti_affinity:
            return self._without("preferredPodAntiAffinity", anti_affinity=self.anti_affinity[1:])
        if self.preferred:
            return self._without("preferredNodeAffinity", preferred=self.preferred[1:])
        for place, constraint in enumerate(self.spread):
            if constraint.when_unsatisfiable == "ScheduleAnyway":
                rest = list(self.spread)
                rest[place] = rest[-1]  # the last takes its place
                return self._without("spread", spread=tuple(rest[:-1]))
        if taints and not self.tolerates_preferences:
            return self.with_prefer_no_schedule_toleration()
        return None

    def _without(self, what: str, **changed: object) -> PodData:
        given_up = Counter(self.given_up)
        given_up[what] += 1
        return replace(self, given_up=given_up, **changed)

    @property
    def tolerates_preferences(self) -> bool:
        return any(
            (toleration.key or "", toleration.operator or "", toleration.value or "", toleration.effect or "")
            == ("", "Exists", "", "PreferNoSchedule")
            for toleration in self.tolerations
        )

    def with_prefer_no_schedule_toleration(self) -> PodData:
        """The pod tolerating all taints of effect PreferNoSchedule."""
        return replace(
            self, tolerations=(*self.tolerations, TOLERATES_PREFERENCES), given_up={**self.given_up, "tolerate": 1}
        )

    def without_first_term(self) -> PodData | None:
        """The pod without the first of several required terms of its node affinity; None if there is but one."""
        return self._without("requiredNodeAffinity", required=self.required[1:]) if len(self.required) > 1 else None

    # --- what follows from it

    @cached_property
    def key(self) -> str:
        return f"{self.pod.namespace}/{self.pod.name}"

    @cached_property
    def shape(self) -> int:
        """The same number for pods that differ in nothing but their names."""
        known = (self.pod.namespace, tuple(self.labels.items()), _encode(self.pod.spec))
        return self.shapes.setdefault((known, tuple(sorted(self.given_up.items()))), len(self.shapes))

    @cached_property
    def labels(self) -> Mapping[str, str]:
        return self.pod.metadata.labels or {}

    @cached_property
    def requirements(self) -> Requirements:
        """The requirements on a node's labels, the heaviest preference included."""
        if self.ignores_preferences or not self.preferred:
            return self.strict_requirements
        heaviest = of_expressions(self.preferred[0].preference.match_expressions)
        return merge_requirements(
            of_labels(self.pod.spec.node_selector), *heaviest.values(), *self._first_term.values()
        )

    @cached_property
    def strict_requirements(self) -> Requirements:
        """The required part only: the first of several terms, until that is relaxed."""
        return merge_requirements(of_labels(self.pod.spec.node_selector), *self._first_term.values())

    @property
    def _first_term(self) -> Requirements:
        return of_expressions(self.required[0].match_expressions) if self.required else {}

    @cached_property
    def quantities(self) -> Mapping[str, Quantity]:
        return {**pod_requests(self.pod, _FEATURES, with_status=False), "pods": Quantity.from_units(1)}

    @cached_property
    def requests(self) -> Mapping[str, int]:
        return amounts(self.quantities)

    @cached_property
    def ports(self) -> tuple[HostPort, ...]:
        return host_ports(self.pod)

    def terms(self, side: str, *, preferred: bool) -> tuple[PodAffinityTerm, ...]:
        """The terms of ``pod_affinity`` or ``pod_anti_affinity``: the required, then the remaining preferred ones."""
        affinity = self.pod.spec.affinity
        there = getattr(affinity, side) if affinity else None
        required = tuple(there.required_during_scheduling_ignored_during_execution or ()) if there else ()
        if not preferred:
            return required
        left = self.affinity if side == "pod_affinity" else self.anti_affinity
        return (*required, *(term.pod_affinity_term for term in left))


def _heaviest(terms: Sequence[WeightedPodAffinityTerm]) -> list[WeightedPodAffinityTerm]:
    return sorted(terms, key=lambda term: -term.weight)
