"""Which rule decided between equally good nodes, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.results.place import Placement


def choice_of(placement: Placement, minor: str) -> str:
    """``of 3 equal nodes the one that 1.36 takes``, or ``any of 3, by chance``; nothing where no node was as good."""
    match placement.choice:
        case "heap":
            return f"of {placement.ties} equal nodes the one that {minor} takes"
        case "draw":
            return f"any of {placement.ties}, by chance"
    return ""


def choice_lines(placements: Sequence[Placement], minor: str) -> Iterator[str]:
    """A legend for the ties of several placements."""
    choices = {placement.choice for placement in placements}
    if "heap" in choices:
        yield f"Ties: of equal nodes each time the one that {minor} takes."
    if "draw" in choices:
        others = "where they were drawn, any" if "heap" in choices else "any"
        yield f"Ties: {others} of the equal nodes, by chance."
    if "hint" in choices:
        yield "Without a score: on the node that came next for the pod before, which looked alike."
