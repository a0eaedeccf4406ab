"""Labels that Karpenter knows, renames or keeps for itself.

Upstream: pkg/apis/v1/labels.go, kwok/apis/v1alpha1/labels.go.
"""

from __future__ import annotations

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

_KWOK = "karpenter.kwok.sh"
RESERVATION_ID = f"{_KWOK}/reservation-id"

WELL_KNOWN = frozenset(
    {
        *(NODE_POOL, ZONE, INSTANCE_TYPE, CAPACITY_TYPE, "topology.kubernetes.io/region"),
        *("kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/windows-build"),
        *(f"{_KWOK}/instance-{what}" for what in ("family", "size", "cpu", "memory")),
        RESERVATION_ID,
    }
)
"""Labels that a NodePool need not define: the catalogue does."""

RESTRICTED_DOMAINS = (_KWOK, GROUP)
RESTRICTED = frozenset({HOSTNAME})

NORMALIZED = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
}
"""Former names of labels, which mean the new ones."""


def refused_label(key: str) -> str | None:
    """Why a pod may not ask for a label; None if it may."""
    if key in WELL_KNOWN:
        return None
    domain = key.partition("/")[0] if "/" in key else ""
    held = any(domain == each or domain.endswith(f".{each}") for each in RESTRICTED_DOMAINS)
    if not held and key not in RESTRICTED:
        return None
    return (
        f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a well "
        f"known label: [{' '.join(sorted(WELL_KNOWN))}], or a custom label that does not use a restricted domain: "
        f"[{' '.join(sorted(RESTRICTED_DOMAINS))}]"
    )
