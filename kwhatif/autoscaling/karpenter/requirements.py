"""Requirements on labels: one for each key, as a set of values or its complement, within bounds; and well-known labels.

Requirements are values: adding one makes new requirements. Upstream: pkg/scheduling (requirement.go, requirements.go),
pkg/apis/v1/labels.go, kwok/apis/v1alpha1/labels.go; of AWS's provider pkg/apis/v1/labels.go,
pkg/operator/operator.go and pkg/providers/instancetype/offering/offering.go; of Azure's pkg/utils/zones; of GCP's
pkg/operator/operator.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from kwhatif.api.core import NodeSelectorRequirement
from kwhatif.golang.parsing import parse_int

GROUP = "karpenter.sh"

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
NODE_POOL = f"{GROUP}/nodepool"
CAPACITY_TYPE = f"{GROUP}/capacity-type"
REGISTERED = f"{GROUP}/registered"
INITIALIZED = f"{GROUP}/initialized"
DO_NOT_DISRUPT = f"{GROUP}/do-not-disrupt"

RESERVED, SPOT, ON_DEMAND = CAPACITY_TYPES = ("reserved", "spot", "on-demand")
"""Capacity types, in the order in which a machine is launched as one of them."""

RESTRICTED = frozenset({HOSTNAME})

_KWOK = "karpenter.kwok.sh"
RESERVATION_ID = f"{_KWOK}/reservation-id"

_AWS = "karpenter.k8s.aws"
_INSTANCE = "instance-"

_AZURE, _GCP = "karpenter.azure.com", "karpenter.k8s.gcp"
ZONE_ID = "topology.k8s.aws/zone-id"
EKS = "eks.amazonaws.com"
EKS_LABELS = (
    *("hypervisor", "encryption-in-transit-supported", "category", "generation", "family", "size", "cpu"),
    *("cpu-manufacturer", "memory", "ebs-bandwidth", "network-bandwidth", "gpu-name", "gpu-manufacturer", "gpu-count"),
    *("gpu-memory", "local-nvme"),
)
"""Labels of machines that EKS Auto Mode knows by a domain of its own."""

AWS_RESERVATION_ID, AWS_RESERVATION_TYPE = (f"{_AWS}/capacity-reservation-{what}" for what in ("id", "type"))

_CORE = frozenset(
    {
        *(NODE_POOL, ZONE, INSTANCE_TYPE, CAPACITY_TYPE, "topology.kubernetes.io/region"),
        *("kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/windows-build"),
    }
)
_CLOUDS = {
    _KWOK: frozenset({*(f"{_KWOK}/{_INSTANCE}{what}" for what in ("family", "size", "cpu", "memory")), RESERVATION_ID}),
    _AWS: frozenset(
        {
            *(
                f"{_AWS}/{_INSTANCE}{what}"
                for what in (
                    *("category", "family", "generation", "size", "cpu", "cpu-manufacturer", "memory", "hypervisor"),
                    *("cpu-sustained-clock-speed-mhz", "ebs-bandwidth", "network-bandwidth", "local-nvme"),
                    *("gpu-name", "gpu-manufacturer", "gpu-count", "gpu-memory"),
                    *("accelerator-name", "accelerator-manufacturer", "accelerator-count"),
                    *("encryption-in-transit-supported", "capability-flex", "tenancy"),
                )
            ),
            *(AWS_RESERVATION_ID, AWS_RESERVATION_TYPE, f"{_AWS}/capacity-reservation-interruptible"),
            ZONE_ID,
        }
    ),
    _AZURE: frozenset(
        {
            *(f"{_AZURE}/sku-{what}" for what in ("name", "family", "series", "version", "cpu", "memory")),
            *(f"{_AZURE}/sku-gpu-{what}" for what in ("name", "manufacturer", "count")),
            *(f"{_AZURE}/sku-storage-{what}" for what in ("premium-capable", "ephemeralos-maxsize")),
            f"{_AZURE}/sku-networking-accelerated",
        }
    ),
    _GCP: frozenset(
        {
            *(f"{_GCP}/{_INSTANCE}{what}" for what in ("category", "family", "shape", "generation", "size", "cpu")),
            *(f"{_GCP}/{_INSTANCE}{what}" for what in ("cpu-model", "memory", "gpu-name", "gpu-manufacturer")),
            *(f"{_GCP}/{_INSTANCE}{what}" for what in ("gpu-count", "gpu-memory")),
        }
    ),
    EKS: frozenset({f"{EKS}/{_INSTANCE}{what}" for what in EKS_LABELS}),
}
"""Domain of a provider's labels -> those that it registers."""


def reservation_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of the reservation of an offering, and of its type, if any."""
    of_aws = any(label.startswith(f"{_AWS}/") for label in labels)
    return (AWS_RESERVATION_ID, AWS_RESERVATION_TYPE) if of_aws else (RESERVATION_ID,)


class WellKnown(msgspec.Struct, frozen=True):
    """Labels that a NodePool need not define, and the restricted domains."""

    labels: frozenset[str]
    domains: tuple[str, ...]

    @classmethod
    def from_labels(cls, labels: Iterable[str]) -> WellKnown:
        """Where these are the labels of types: the core's, and those of the providers whose domains occur."""
        own = frozenset(labels)
        clouds = [cloud for cloud in _CLOUDS if any(label.startswith(f"{cloud}/") for label in own)]
        return cls(_CORE.union(own, *(_CLOUDS[cloud] for cloud in clouds)), tuple(sorted((*clouds, GROUP))))

    def is_of_types(self, key: str) -> bool:
        """Whether every type of a provider here either has the label or is known not to have it."""
        prefixes = (f"{_AWS}/{_INSTANCE}", f"{EKS}/{_INSTANCE}", f"{_GCP}/{_INSTANCE}", f"{_AZURE}/sku-")
        own = any(key.startswith(prefix) and prefix.partition("/")[0] in self.domains for prefix in prefixes)
        return own and key in self.labels and not key.endswith("-tenancy")

    def refusal(self, key: str) -> str | None:
        """Why a pod may not require a label; None if it may."""
        if key in self.labels:
            return None
        domain = key.partition("/")[0] if "/" in key else ""
        held = any(domain == domain_suffix or domain.endswith(f".{domain_suffix}") for domain_suffix in self.domains)
        if not held and key not in RESTRICTED:
            return None
        return (
            f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a "
            f"well known label: [{' '.join(sorted(self.labels))}], or a custom label that does not use a restricted "
            f"domain: [{' '.join(self.domains)}]"
        )


NORMALIZED_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
    "topology.disk.csi.azure.com/zone": ZONE,
    "topology.gke.io/zone": ZONE,
}
"""Former names of labels, and what drivers of clouds call the zone in their volumes; they mean the new ones."""


_SHOWN = 5


class Requirement(msgspec.Struct, frozen=True, dict=True):
    """The values in ``values``, or with ``complement`` all others, that as integers lie within ``least`` and ``most``.

    ``min_values`` is how many different values the remaining instance types must have.
    """

    key: str
    complement: bool
    values: frozenset[str] = frozenset()
    least: int | None = None
    most: int | None = None
    min_values: int | None = None

    @classmethod
    def from_selector(
        cls, key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None
    ) -> Requirement:
        """From a node selector requirement; bounds are kept as inclusive ones."""
        key = NORMALIZED_LABELS.get(key, key)
        match operator:
            case "In":
                return cls(key, False, frozenset(values), min_values=min_values)
            case "NotIn":
                return cls(key, True, frozenset(values), min_values=min_values)
            case "DoesNotExist":
                return cls(key, False, min_values=min_values)
            case "Gt" | "Gte":
                least = parse_int(next(iter(values), "")) or 0
                return cls(key, True, least=least + (operator == "Gt"), min_values=min_values)
            case "Lt" | "Lte":
                most = parse_int(next(iter(values), "")) or 0
                return cls(key, True, most=most - (operator == "Lt"), min_values=min_values)
        return cls(key, True, min_values=min_values)

    @cached_property
    def operator(self) -> str:
        """In, NotIn, Exists or DoesNotExist; bounds do not show."""
        if self.complement:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    @cached_property
    def negative(self) -> bool:
        """Whether a node without the label meets it."""
        return self.operator in ("NotIn", "DoesNotExist")

    @cached_property
    def sorted_values(self) -> tuple[str, ...]:
        """The values by name; of a complement, those left out."""
        return tuple(sorted(self.values))

    def has(self, value: str) -> bool:
        """Whether the label may have this value."""
        return (value in self.values) != self.complement and self._within(value)

    def _within(self, value: str) -> bool:
        if self.least is None and self.most is None:
            return True
        number = parse_int(value)
        if number is None:
            return False
        return not (self.least is not None and number < self.least) and not (
            self.most is not None and number > self.most
        )

    def intersect(self, other: Requirement) -> Requirement:
        """The intersection."""
        least, most = _greater(self.least, other.least), _less(self.most, other.most)
        wanted = _greater(self.min_values, other.min_values)
        if least is not None and most is not None and least > most:
            return Requirement(self.key, False, min_values=wanted)
        complement = self.complement and other.complement
        if complement:
            values = self.values | other.values
        elif self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if least is not None or most is not None:
            bounds = Requirement(self.key, True, least=least, most=most)
            values = frozenset(value for value in values if bounds._within(value))
        if complement:
            return Requirement(self.key, True, values, least, most, wanted)
        return Requirement(self.key, False, values, min_values=wanted)

    def intersects(self, other: Requirement) -> bool:
        """Whether the intersection is not empty."""
        least, most = _greater(self.least, other.least), _less(self.most, other.most)
        if least is not None and most is not None and least > most:
            return False
        if self.complement and other.complement:
            return True
        if self.complement:
            return any(self.has(value) and other._within(value) for value in other.values)
        if other.complement:
            return any(other.has(value) and self._within(value) for value in self.values)
        return any(other._within(value) and self._within(value) for value in self.values & other.values)

    def to_selectors(self) -> list[dict[str, object]]:
        """As a NodeClaim has it; two bounds are two requirements."""
        fields: dict[str, object] = {} if self.min_values is None else {"minValues": self.min_values}
        bounds = [("Gte", self.least), ("Lte", self.most)]
        within = [
            {"key": self.key, "operator": operator, "values": [str(bound)], **fields}
            for operator, bound in bounds
            if bound is not None
        ]
        if within:
            return within
        values: dict[str, object] = {"values": list(self.sorted_values)} if self.values else {}
        return [{"key": self.key, "operator": self.operator, **values, **fields}]

    def __str__(self) -> str:
        text = f"{self.key} {self.operator}"
        if self.values:
            shown = list(self.sorted_values)
            if len(shown) > _SHOWN:
                shown = [*shown[:_SHOWN], f"and {len(shown) - _SHOWN} others"]
            text += f" [{' '.join(shown)}]"
        text += f" >={self.least}" if self.least is not None else ""
        text += f" <={self.most}" if self.most is not None else ""
        return text + (f" minValues {self.min_values}" if self.min_values is not None else "")


def _greater(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def _less(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


Requirements = Mapping[str, Requirement]

NONE: Requirements = {}


def merge_requirements(requirements: Requirements, *others: Requirement) -> Requirements:
    """The requirements and others besides."""
    by_key = dict(requirements)
    for other in others:
        there = by_key.get(other.key)
        by_key[other.key] = other if there is None else other.intersect(there)
    return by_key


def of_labels(labels: Mapping[str, str] | None) -> Requirements:
    """The requirement of each label's value."""
    return merge_requirements(
        NONE, *(Requirement.from_selector(key, "In", (value,)) for key, value in (labels or {}).items())
    )


def of_expressions(expressions: Iterable[NodeSelectorRequirement] | None) -> Requirements:
    """The requirements of a node selector term."""
    return merge_requirements(
        NONE,
        *(
            Requirement.from_selector(expression.key, expression.operator, expression.values or ())
            for expression in expressions or ()
        ),
    )


def requirement_of(requirements: Requirements, key: str) -> Requirement:
    """The requirement on a key; any value where there is none."""
    return requirements.get(key) or Requirement(key, True)


def incompatible(
    requirements: Requirements, others: Requirements, undefined: frozenset[str] = frozenset()
) -> list[str]:
    """Why ``others`` cannot be met by a node that meets ``requirements``: nothing if they are compatible.

    A label that ``requirements`` does not define must not be required, unless it is one of ``undefined``.
    """
    for key in sorted(others):
        if key not in undefined and key not in requirements and not others[key].negative:
            return [f'label "{key}" does not have known values{_hint(requirements, key, undefined)}']
    return conflicts(requirements, others)


def conflicts(requirements: Requirements, others: Requirements) -> list[str]:
    """The keys that both define and whose intersection is empty."""
    return [
        f"key {key}, {others[key]} not in {requirements[key]}"
        for key in sorted(requirements.keys() & others.keys())
        if not agree(requirements[key], others[key])
    ]


def agree(requirement: Requirement, other: Requirement) -> bool:
    """Whether the intersection is not empty, or the label may be absent for both."""
    return requirement.intersects(other) or (requirement.negative and other.negative)


def _hint(requirements: Requirements, key: str, undefined: frozenset[str]) -> str:
    for known in (*sorted(undefined), *sorted(requirements)):
        if key in known or known.endswith(key.partition("/")[2] or key):
            return f' (typo of "{known}"?)'
    return ""


def format_requirements(requirements: Requirements) -> str:
    """The requirements as in messages, without hostnames of machines to be launched."""
    return ", ".join(
        sorted(str(requirement) for requirement in requirements.values() if requirement.key not in RESTRICTED)
    )
