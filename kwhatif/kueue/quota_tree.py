"""Quotas of ClusterQueues and Cohorts as a tree: what is used, borrowed and lent, and what is left.

Upstream: pkg/cache/scheduler/resource_node.go, cohort.go and resource.go.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from kwhatif.api.kueue import FairSharing, ResourceGroup
from kwhatif.kueue.amounts import FlavorResource, Quantities, add, limit_of, subtract

_DEFAULT_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Quota:
    """What one node of the tree has of a resource in a flavor. No limit is None."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


_NOTHING = Quota()


def _divide(number: int, by: int) -> float:
    """The quotient; as in Go, what no floating-point number holds is infinite."""
    try:
        return number / by
    except OverflowError:
        return math.inf if number > 0 else -math.inf


class QuotaNode:
    """A ClusterQueue or a Cohort.

    ``subtree_quota`` is its own nominal quota and what its children have and lend. ``usage`` is what counts against
    it: of a Cohort, what its children use beyond what they keep for themselves.
    """

    def __init__(self, name: str, groups: Iterable[ResourceGroup], fair_sharing: FairSharing | None) -> None:
        self.name = name
        self.parent: CohortNode | None = None
        self.quotas: dict[FlavorResource, Quota]
        self.subtree_quota: Quantities
        self._local_quotas: Quantities
        self.set_quotas(groups)
        self.usage: Quantities = {}
        self.memo: dict[frozenset[str], dict[Hashable, Any]] = {}
        """Of a root: what was worked out of its tree as it is, by the flavors that decide it."""
        weight = fair_sharing.weight if fair_sharing else None
        self.fair_weight = _DEFAULT_WEIGHT if weight is None else _divide(weight.nano(), 10**9)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """With all of its tree. Quotas are shared, and nothing is known of the new tree."""
        made = memo[id(self)] = copy.copy(self)
        made.usage, made.memo = dict(self.usage), {}
        made.parent = copy.deepcopy(self.parent, memo)
        return made

    def set_quotas(self, groups: Iterable[ResourceGroup]) -> None:
        """Give it other quotas; the root's ``accumulate`` works out those above."""
        self.quotas = _quotas_of(groups)
        self.subtree_quota = {key: quota.nominal for key, quota in self.quotas.items()}
        self._local_quotas = {}

    def forget(self, flavors: frozenset[str]) -> None:
        """Of a root: what is used of these flavors has changed for good."""
        for known in [known for known in self.memo if not known.isdisjoint(flavors)]:
            del self.memo[known]

    def quota(self, key: FlavorResource) -> Quota:
        return self.quotas.get(key, _NOTHING)

    def used_amount(self, key: FlavorResource) -> int:
        return self.usage.get(key, 0)

    def subtree(self, key: FlavorResource) -> int:
        return self.subtree_quota.get(key, 0)

    @property
    def ancestors(self) -> Iterator[CohortNode]:
        """From the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> QuotaNode:
        return self if self.parent is None else self.parent.root

    def local_quota(self, key: FlavorResource) -> int:
        """What the node never lends."""
        local = self._local_quotas.get(key)
        if local is None:
            limit = self.quota(key).lending_limit
            local = self._local_quotas[key] = 0 if limit is None else max(0, subtract(self.subtree(key), limit))
        return local

    def local_available(self, key: FlavorResource) -> int:
        local = self._local_quotas.get(key)
        return max(0, subtract(self.local_quota(key) if local is None else local, self.usage.get(key, 0)))

    def available(self, key: FlavorResource) -> int:
        """What may still be used here, its own and borrowed; below zero where more is used than there is."""
        if self.parent is None:
            return subtract(self.subtree(key), self.used_amount(key))
        above = self.parent.available(key)
        limit = self.quota(key).borrowing_limit
        if limit is not None:
            local = self.local_quota(key)
            stored = subtract(self.subtree(key), local)
            used_above = max(0, subtract(self.used_amount(key), local))
            above = min(add(subtract(stored, used_above), limit), above)
        return add(self.local_available(key), above)

    def potential_available(self, key: FlavorResource) -> int:
        """The most that could be used here if nothing else were."""
        if self.parent is None:
            return self.subtree(key)
        most = add(self.local_quota(key), self.parent.potential_available(key))
        limit = self.quota(key).borrowing_limit
        return most if limit is None else min(add(self.subtree(key), limit), most)

    def add_usage(self, key: FlavorResource, amount: int) -> None:
        """Count more, also above where it exceeds what the node keeps for itself."""
        local = self.local_available(key)
        self.usage[key] = add(self.usage.get(key, 0), amount)
        if self.parent is not None and amount > local:
            self.parent.add_usage(key, subtract(amount, local))

    def remove_usage(self, key: FlavorResource, amount: int) -> None:
        used = self.usage.get(key, 0)
        above = subtract(used, self.local_quota(key))
        self.usage[key] = subtract(used, amount)
        if above > 0 and self.parent is not None:
            self.parent.remove_usage(key, min(amount, above))

    def is_borrowing_with(self, key: FlavorResource, amount: int) -> bool:
        """Whether it would have to borrow to use so much more."""
        return self.subtree(key) < add(self.used_amount(key), amount)

    def is_within_nominal(self, keys: Iterable[FlavorResource]) -> bool:
        usage, subtree = self.usage, self.subtree_quota
        for key in keys:  # noqa: SIM110, a generator would take half of all time
            if subtree.get(key, 0) < usage.get(key, 0):
                return False
        return True

    def fit_in_quota(self, requests: Mapping[FlavorResource, int]) -> tuple[bool, Quantities]:
        """Whether the subtree has room for these, and what its parent would have to give."""
        fits, rest = True, {}
        for key, amount in requests.items():
            if self.is_borrowing_with(key, amount):
                fits = False
            rest[key] = max(0, subtract(amount, self.local_available(key)))
        return fits, rest


Q = TypeVar("Q", bound="QuotaNode")


class CohortNode(QuotaNode):
    """A Cohort; also one that only a ClusterQueue or another Cohort names."""

    def __init__(
        self, name: str, groups: Iterable[ResourceGroup] = (), fair_sharing: FairSharing | None = None
    ) -> None:
        super().__init__(name, groups, fair_sharing)
        self.cohorts: list[CohortNode] = []
        self.members: list[QuotaNode] = []
        self.active_members: tuple[Any, ...] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = super().__deepcopy__(memo)
        made.active_members = None
        made.cohorts, made.members = copy.deepcopy((self.cohorts, self.members), memo)
        return made

    @property
    def root(self) -> CohortNode:
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def accumulate(self) -> None:
        """Work out quota and usage of the subtree from those of its leaves. The tree has no circles."""
        self.subtree_quota = {key: quota.nominal for key, quota in self.quotas.items()}
        self.usage, self._local_quotas = {}, {}
        for cohort in self.cohorts:
            cohort.accumulate()
        for child in (*self.cohorts, *self.members):
            for key, quota in child.subtree_quota.items():
                lent = subtract(quota, child.local_quota(key))
                self.subtree_quota[key] = add(self.subtree(key), lent)
            for key, used in child.usage.items():
                self.usage[key] = add(self.used_amount(key), max(0, subtract(used, child.local_quota(key))))


class QuotaForest(Generic[Q]):
    """All trees of quotas: Cohorts by name, and the members that hang on them."""

    def __init__(self, cohorts: Mapping[str, CohortNode], parents: Mapping[str, str]) -> None:
        """``parents`` names each Cohort's parent, which may itself be unknown so far."""
        self.cohorts = dict(cohorts)
        for name, parent in parents.items():
            if parent:
                self._hang(self.cohorts[name], self._cohort(parent))
        self.circular = self._find_circular()

    def add_member(self, member: Q, cohort: str) -> None:
        parent = self._cohort(cohort)
        member.parent = parent
        parent.members.append(member)

    def accumulate(self) -> None:
        for name, cohort in self.cohorts.items():
            if cohort.parent is None and name not in self.circular:
                cohort.accumulate()

    def _cohort(self, name: str) -> CohortNode:
        return self.cohorts.setdefault(name, CohortNode(name))

    @staticmethod
    def _hang(child: CohortNode, parent: CohortNode) -> None:
        child.parent = parent
        parent.cohorts.append(child)

    def _find_circular(self) -> set[str]:
        """The Cohorts whose ancestors go in a circle. Each is walked once, however high the tower is."""
        verdicts: dict[str, bool] = {}
        for cohort in self.cohorts.values():
            path: dict[str, None] = {}
            node: CohortNode | None = cohort
            while node is not None and node.name not in verdicts and node.name not in path:
                path[node.name] = None
                node = node.parent
            # A walk that ends at one of its own goes in a circle; at another's, it goes where that one went.
            is_circular = node is not None and verdicts.get(node.name, True)
            verdicts.update(dict.fromkeys(path, is_circular))
        return {name for name, is_circular in verdicts.items() if is_circular}


def _quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    quotas: dict[FlavorResource, Quota] = {}
    for group in groups:
        for flavor in group.flavors or ():
            for quota in flavor.resources or ():
                borrowing, lending = quota.borrowing_limit, quota.lending_limit
                quotas[flavor.name, quota.name] = Quota(
                    limit_of(quota.name, quota.nominal_quota),
                    None if borrowing is None else limit_of(quota.name, borrowing),
                    None if lending is None else limit_of(quota.name, lending),
                )
    return quotas
