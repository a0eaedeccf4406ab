"""What clouds keep of machines by brackets: so much of the first gibibytes or cores, less of the next ones."""

from __future__ import annotations

from collections.abc import Sequence

Brackets = Sequence[tuple[float, float]]
"""Up to which amount a bracket goes, and which share of what is in it is kept; the last one goes on."""


def reserved_share(brackets: Brackets, amount: float) -> float:
    """What is kept of an amount."""
    kept, lower = 0.0, 0.0
    for upper, share in brackets:
        if lower > amount:
            break
        kept += (min(upper, amount) - lower) * share
        lower = upper
    return kept
