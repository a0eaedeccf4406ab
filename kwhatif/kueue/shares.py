"""Dominant resource shares: how much of what a cohort could lend a ClusterQueue or Cohort borrows.

Floating point follows Go, term by term, since shares that are close decide who is preempted. Upstream:
pkg/cache/scheduler/fair_sharing.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kwhatif.kueue.amounts import FlavorResource, add, subtract
from kwhatif.kueue.quota_tree import QuotaNode

_INFINITE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Share:
    """A node's share. ``ratio`` is before its weight counts."""

    weight: float = 1.0
    ratio: float = 0.0
    borrowed: tuple[FlavorResource, ...] = ()

    @property
    def is_borrowing(self) -> bool:
        return bool(self.borrowed)

    @property
    def is_infinite(self) -> bool:
        """Whether it borrows although its weight gives it no right to."""
        return self.weight == 0 and self.ratio != 0

    @property
    def weighted_ratio(self) -> float:
        if self.ratio == 0:
            return 0.0
        return math.inf if self.weight == 0 else self.ratio / self.weight

    @property
    def rounded_share(self) -> int:
        """As the status has it, in thousandths."""
        return _INFINITE if self.is_infinite else min(math.ceil(self.weighted_ratio), _INFINITE)

    def is_borrowing_on(self, requested: Mapping[FlavorResource, int]) -> bool:
        return any(requested.get(key, 0) > 0 for key in self.borrowed)


NEGATIVE = Share(ratio=-1)
"""Below every share."""


def compare(left: Share, right: Share) -> int:
    """Below zero if the left one should be preferred for scheduling, above if for preemption."""
    if left.is_infinite and right.is_infinite:
        return (left.ratio > right.ratio) - (left.ratio < right.ratio)
    if left.is_infinite or right.is_infinite:
        return 1 if left.is_infinite else -1
    return (left.weighted_ratio > right.weighted_ratio) - (left.weighted_ratio < right.weighted_ratio)


def share_of(node: QuotaNode) -> Share:
    """The share of a ClusterQueue or Cohort; a root has none."""
    if node.parent is None:
        return Share(node.fair_weight)
    borrowing: dict[str, int] = {}
    keys = []
    for key, quota in node.subtree_quota.items():
        amount = subtract(node.used_amount(key), quota)
        if amount > 0:
            borrowing[key[1]] = add(borrowing.get(key[1], 0), amount)
            keys.append(key)
    if not keys:
        return Share(node.fair_weight)
    lendable = _lendable(node.parent)
    ratio = 0.0
    for resource, amount in borrowing.items():
        total = lendable.get(resource, 0)
        if total > 0:
            ratio = max(ratio, float(amount) * 1000.0 / float(total))
    return Share(node.fair_weight, ratio, tuple(keys))


def _lendable(node: QuotaNode) -> dict[str, int]:
    """What a member of a Cohort could use at the most, by resource, over all flavors of the tree."""
    root = node
    while root.parent is not None:
        root = root.parent
    lendable: dict[str, int] = {}
    for key in root.subtree_quota:
        lendable[key[1]] = add(lendable.get(key[1], 0), node.potential_available(key))
    return lendable
