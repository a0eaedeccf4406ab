"""The order in which the scheduler lists its nodes: zones take turns.

Upstream: pkg/scheduler/backend/cache/node_tree.go and component-helpers/node/topology.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from kwhatif.api.core import Node

_BETA = "failure-domain.beta.kubernetes.io/"
_STABLE = "topology.kubernetes.io/"


def zone_of(node: Node) -> tuple[str, str]:
    """(region, zone) of a node; the deprecated labels win where both are there."""
    labels = node.metadata.labels or {}

    def read(name: str) -> str:
        return labels.get(_BETA + name, labels.get(_STABLE + name, ""))

    return read("region"), read("zone")


def scheduler_order(nodes: Sequence[Node]) -> list[int]:
    """Indices of ``nodes`` as the scheduler lists them: the first of each zone, then the second of each, ..."""
    by_zone: dict[tuple[str, str], list[int]] = {}
    for index, node in enumerate(nodes):
        by_zone.setdefault(zone_of(node), []).append(index)
    return [index for turn in zip_longest(*by_zone.values()) for index in turn if index is not None]
