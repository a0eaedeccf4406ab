"""Amounts of resources in thousandths of their units, exactly: what a machine has, what pods ask for.

Upstream: pkg/utils/resources/resources.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kwhatif.api.quantity import Quantity

Amounts = Mapping[str, int]


def amounts(quantities: Mapping[str, Quantity] | None) -> dict[str, int]:
    """Thousandths, rounded up."""
    return {name: -(-quantity.nano() // 1_000_000) for name, quantity in (quantities or {}).items()}


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """The sum by resource."""
    found: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found.get(name, 0) + amount
    return found


def less(amounts: Amounts, others: Amounts) -> dict[str, int]:
    """What is left of each resource once others have gone; it may be below zero."""
    return {name: amount - others.get(name, 0) for name, amount in amounts.items()}


def fit(asked: Amounts, free: Amounts) -> bool:
    """Whether there is as much of everything. Nothing fits where less than nothing is left of something."""
    if any(amount < 0 for amount in free.values()):
        return False
    return all(amount <= free.get(name, 0) for name, amount in asked.items())


def in_units(amounts: Amounts) -> dict[str, Any]:
    """Cores, bytes, counts: whole numbers where they are whole."""
    return {name: amount // 1000 if amount % 1000 == 0 else amount / 1000 for name, amount in sorted(amounts.items())}


def spelt(parts: Iterable[Mapping[str, Quantity]]) -> str:
    """The sum of quantities as messages have it."""
    found: dict[str, Quantity] = {}
    for part in parts:
        for name, quantity in part.items():
            found[name] = found[name] + quantity if name in found else quantity
    if not found:
        return "{}"
    return "{" + ",".join(f'"{name}":"{found[name].canonical}"' for name in sorted(found)) + "}"
