"""Labels that Karpenter knows, renames or keeps for itself.

Upstream: pkg/apis/v1/labels.go, kwok/apis/v1alpha1/labels.go, and AWS's pkg/apis/v1/labels.go; what offerings require
is in its pkg/providers/instancetype/offering/offering.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
                    "encryption-in-transit-supported",
                )
            ),
            *(AWS_RESERVATION_ID, AWS_RESERVATION_TYPE),
            "topology.k8s.aws/zone-id",
        }
    ),
}
"""Domain of a provider's labels -> those that it registers."""


def reservation_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The label of the reservation that an offering of a type with these labels is of, and that of its sort, if any."""
    of_aws = any(label.startswith(f"{_AWS}/") for label in labels)
    return (AWS_RESERVATION_ID, AWS_RESERVATION_TYPE) if of_aws else (RESERVATION_ID,)


@dataclass(frozen=True)
class WellKnown:
    """Labels that a NodePool need not define, and the domains of which pods may ask for no other."""

    labels: frozenset[str]
    domains: tuple[str, ...]

    @classmethod
    def of(cls, labels: Iterable[str]) -> WellKnown:
        """Where these are the labels of types: with the core's, and those of the clouds whose domains are there."""
        own = frozenset(labels)
        clouds = [cloud for cloud in _CLOUDS if any(label.startswith(f"{cloud}/") for label in own)]
        return cls(_CORE.union(own, *(_CLOUDS[cloud] for cloud in clouds)), tuple(sorted((*clouds, GROUP))))

    def refusal(self, key: str) -> str | None:
        """Why a pod may not ask for a label; None if it may."""
        if key in self.labels:
            return None
        domain = key.partition("/")[0] if "/" in key else ""
        held = any(domain == each or domain.endswith(f".{each}") for each in self.domains)
        if not held and key not in RESTRICTED:
            return None
        return (
            f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a "
            f"well known label: [{' '.join(sorted(self.labels))}], or a custom label that does not use a restricted "
            f"domain: [{' '.join(self.domains)}]"
        )


NORMALIZED = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
}
"""Former names of labels, which mean the new ones."""
