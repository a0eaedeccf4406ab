"""Reservations of memory and cpu by brackets, as clouds compute them: a share of the first gibibytes, less of the next
ones.
"""

from __future__ import annotations

from collections.abc import Sequence

Brackets = Sequence[tuple[float, float]]
"""Up to which amount a bracket goes, and which share of what is in it is kept; the last one goes on."""


def reserved_share(brackets: Brackets, amount: float) -> float:
    """The reserved part of an amount."""
    kept, lower = 0.0, 0.0
    for upper, share in brackets:
        if lower > amount:
            break
        kept += (min(upper, amount) - lower) * share
        lower = upper
    return kept
