"""Similar node groups, computed for all groups at once.

What must be equal partitions the groups; within a partition, amounts that may differ a little are compared as columns,
one group with all others at a time.

Upstream: cluster-autoscaler/processors/nodegroupset (compare_nodegroups.go, label_nodegroups.go).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.plugins.shared.spread_constraints import HOSTNAME

_IGNORED = frozenset(
    (
        HOSTNAME,
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "beta.kubernetes.io/fluentd-ds-ready",
        "kops.k8s.io/instancegroup",
    )
)
_COUNTED = ("cpu", "memory", "ephemeral-storage", "pods")


class SimilarGroups:
    """Which groups are similar, of all that have a template."""

    def __init__(self, templates: Mapping[str, NodeTemplate], flags: Flags) -> None:
        self._lots: dict[Hashable, list[str]] = {}
        self._lot_of: dict[str, Hashable] = {}
        self._amounts: dict[Hashable, Any] = {}
        self._ratios: dict[Hashable, Any] = {}
        self._places: dict[str, int] = {}
        numbers: dict[Hashable, list[list[int]]] = {}
        for name, template in templates.items():
            lot, row, ratios = _describe(template, flags)
            if lot is None:
                continue
            self._lot_of[name] = lot
            self._places[name] = len(self._lots.setdefault(lot, []))
            self._lots[lot].append(name)
            numbers.setdefault(lot, []).append(row)
            self._ratios[lot] = np.array(ratios, np.float64)
        # As upstream, amounts are compared as floating-point numbers: float64[groups of the lot, amounts].
        self._amounts = {
            lot: np.array([list(map(float, row)) for row in rows], np.float64) for lot, rows in numbers.items()
        }

    def names_like(self, name: str) -> frozenset[str]:
        """The groups that are similar to a group, including itself."""
        lot = self._lot_of.get(name)
        if lot is None:
            return frozenset()
        amounts = self._amounts[lot]
        mine = amounts[self._places[name]]
        larger, smaller = np.maximum(amounts, mine), np.minimum(amounts, mine)
        alike = (larger - smaller <= larger * self._ratios[lot]).all(axis=1)
        return frozenset(np.array(self._lots[lot], object)[alike].tolist())


def _describe(template: NodeTemplate, flags: Flags) -> tuple[Hashable, list[int], list[float]]:
    """What has to be equal, None if nothing is; amounts that may differ, and by which share of the larger."""
    labels = template.node.metadata.labels or {}
    if flags.balancing_label:
        known = all(key in labels for key in flags.balancing_label)
        return (tuple(labels[key] for key in flags.balancing_label) if known else None), [], []
    capacity, allocatable = template.node.status.capacity or {}, template.node.status.allocatable or {}
    left = _left(template)
    amounts = [{name: quantity.milli_value() for name, quantity in allocatable.items()}, left]
    ratios = [flags.max_allocatable_difference_ratio, flags.max_free_difference_ratio]
    if "memory" in capacity:
        amounts.append({"memory": capacity["memory"].milli_value()})
        ratios.append(flags.memory_difference_ratio)
    ignored = _IGNORED.union(flags.balancing_ignore_label)
    lot = (
        frozenset((key, value) for key, value in labels.items() if key not in ignored),
        frozenset((name, quantity) for name, quantity in capacity.items() if name != "memory"),
        tuple(tuple(sorted(amount)) for amount in amounts),
    )
    row = [amount[name] for amount in amounts for name in sorted(amount)]
    return lot, row, [ratio for amounts_of_group, ratio in zip(amounts, ratios, strict=True) for _ in amounts_of_group]


def _left(template: NodeTemplate) -> dict[str, int]:
    """Thousandths of what the pods leave of resources, of those that the scheduler sums up for every node."""
    quantities = template.node.status.allocatable or {}
    requested: dict[str, int] = dict.fromkeys(_COUNTED, 0)
    for pod in template.pods:
        for name, amount in pod.shape.score_requests.items():
            requested[name] = requested.get(name, 0) + amount * (1 if name == "cpu" else 1000)
    return {
        name: (quantities[name].milli_value() if name in quantities else 0) - amount
        for name, amount in requested.items()
    }


def names_taking(wanted: Sequence[object], fitting: Mapping[str, Sequence[object]]) -> frozenset[str]:
    """The groups that take all these pods; pods are compared by identity."""
    identities = {id(pods) for pods in wanted}
    return frozenset(name for name, taken in fitting.items() if identities.issubset(map(id, taken)))
