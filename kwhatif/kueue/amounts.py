"""Amounts of resources as Kueue counts them: int64, thousandths of cpu and units of all else, never beyond the ends.

The largest int64 stands for no limit: it stays when something is added or taken away. Upstream:
pkg/resources/amount.go, requests.go, slice_requests.go and resource_formatter.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from kwhatif.api.quantity import Quantity

UNLIMITED = 2**63 - 1
_LEAST = -(2**63)

FlavorResource = tuple[str, str]
"""A flavor's name and a resource's."""

Quantities = dict[FlavorResource, int]
Requests = dict[str, int]
"""Amount by resource, of one pod or of all pods of a pod set."""


def clamp(number: int) -> int:
    return number if _LEAST <= number <= UNLIMITED else min(max(number, _LEAST), UNLIMITED)


def add(left: int, right: int) -> int:
    if left == UNLIMITED or right == UNLIMITED:
        return UNLIMITED
    total = left + right
    return total if _LEAST <= total <= UNLIMITED else clamp(total)


def subtract(left: int, right: int) -> int:
    if left == UNLIMITED:
        return 0 if right == UNLIMITED else UNLIMITED
    if right == UNLIMITED:
        return _LEAST
    rest = left - right
    return rest if _LEAST <= rest <= UNLIMITED else clamp(rest)


def amount_of(resource: str, quantity: Quantity) -> int:
    """Thousandths of cpu, units of all else, rounded up, within an int64 (upstream: ResourceValue)."""
    unit = 10**6 if resource == "cpu" else 10**9
    return clamp(-(-quantity.nano() // unit))


def limit_of(resource: str, quantity: Quantity | None) -> int:
    """As ``amount_of``, of a quota: what an int64 cannot hold is no limit (upstream: AmountFromQuantity)."""
    if quantity is None:
        return 0
    most = UNLIMITED // 1000 if resource == "cpu" else UNLIMITED
    return UNLIMITED if quantity.nano() >= most * 10**9 else amount_of(resource, quantity)


@lru_cache(maxsize=1 << 14)
def quantity_text(resource: str, amount: int) -> str:
    """The amount as Kueue writes it."""
    if resource == "cpu":
        return str(Quantity.from_milli(amount))
    binary = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return str(Quantity.from_units(amount, binary=binary))


def limit_text(resource: str, amount: int) -> str:
    return "<unlimited>" if amount == UNLIMITED else quantity_text(resource, amount)


@lru_cache(maxsize=1 << 12)
def order_of(resource: str) -> tuple[int, str]:
    """Where a resource stands in requests: Kueue keeps them by the FNV-1a hash of the name, which decides which flavor
    is looked for first.
    """
    digest = 0xCBF29CE484222325
    for byte in resource.encode():
        digest = (digest ^ byte) * 0x100000001B3 & (2**64 - 1)
    return digest, resource


def sort_requests(requests: Mapping[str, int]) -> Requests:
    """Requests in the order in which Kueue walks through them."""
    return {name: requests[name] for name in sorted(requests, key=order_of)}


def requests_of(quantities: Mapping[str, Quantity]) -> Requests:
    return sort_requests({name: amount_of(name, quantity) for name, quantity in quantities.items()})


def sum_requests(parts: Iterable[Mapping[str, int]]) -> Requests:
    total: Requests = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = clamp(total.get(name, 0) + amount)
    return sort_requests(total)


def multiply(requests: Mapping[str, int], times: int) -> Requests:
    return {name: clamp(amount * times) for name, amount in requests.items()}


def divide(requests: Mapping[str, int], by: int) -> Requests:
    """Divided towards zero, as Go does; requests of no pods stay as they are."""
    if not by:
        return dict(requests)
    return {name: amount // by if amount >= 0 else -(-amount // by) for name, amount in requests.items()}
