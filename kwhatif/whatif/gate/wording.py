"""Numbers and names as rules put them into words."""

from __future__ import annotations

from collections.abc import Sequence

_MOST = 5


def some(names: Sequence[str], most: int = _MOST) -> str:
    """``a, b, c and 4 more``."""
    more = len(names) - most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:most])} and {more} more"


def percent(part: float, whole: float) -> float:
    """The share of a whole, in percent with one decimal; of nothing, none is left."""
    return round(100 * part / whole, 1) if whole else 0.0
