"""Kubernetes minors, feature gates and everything that differs by version, as one table.

Code never compares versions: it asks ``features.X``. A row says from which minor on a gate has which
default (upstream: pkg/features/kube_features.go).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["DEFAULT_MINOR", "SUPPORTED_MINORS", "Features", "features_of"]

SUPPORTED_MINORS = ("1.36",)
DEFAULT_MINOR = "1.36"


@dataclass(frozen=True, slots=True)
class Features:
    """The feature gates that scheduling rules ask for; field names are upstream's in snake case."""

    minor: str
    dra_extended_resource: bool
    in_place_pod_level_resources_vertical_scaling: bool
    in_place_pod_vertical_scaling: bool
    match_label_keys_in_pod_topology_spread: bool
    node_declared_features: bool
    node_inclusion_policy_in_pod_topology_spread: bool
    pod_level_resources: bool
    scheduler_pop_from_backoff_q: bool
    storage_capacity_scoring: bool
    taint_toleration_comparison_operators: bool
    volume_attributes_class: bool


# gate -> (minor, default from that minor on), oldest first; before the first row a gate is off.
_DEFAULTS: dict[str, tuple[tuple[str, bool], ...]] = {
    "dra_extended_resource": (("1.34", False), ("1.36", True)),
    "in_place_pod_level_resources_vertical_scaling": (("1.35", False), ("1.36", True)),
    "in_place_pod_vertical_scaling": (("1.27", False), ("1.33", True)),
    "match_label_keys_in_pod_topology_spread": (("1.25", False), ("1.27", True)),
    "node_declared_features": (("1.35", False), ("1.36", True)),
    "node_inclusion_policy_in_pod_topology_spread": (("1.25", False), ("1.26", True)),
    "pod_level_resources": (("1.32", False), ("1.34", True)),
    "scheduler_pop_from_backoff_q": (("1.33", True),),
    "storage_capacity_scoring": (("1.33", False),),
    "taint_toleration_comparison_operators": (("1.35", False),),
    "volume_attributes_class": (("1.29", False), ("1.34", True)),
}


def _as_number(minor: str) -> tuple[int, int]:
    major, _, rest = minor.partition(".")
    return int(major), int(rest)


def features_of(minor: str = DEFAULT_MINOR) -> Features:
    """The default feature gates of a Kubernetes minor, such as ``"1.36"``."""
    wanted = _as_number(minor)
    gates = {}
    for field in fields(Features):
        if field.name != "minor":
            rows = [on for since, on in _DEFAULTS[field.name] if _as_number(since) <= wanted]
            gates[field.name] = rows[-1] if rows else False
    return Features(minor=minor, **gates)
