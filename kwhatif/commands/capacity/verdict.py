"""The verdict of ``capacity`` in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.commands.capacity.result import NodeCapacity
from kwhatif.results.amounts import format_count
from kwhatif.results.place import ScaleUp
from kwhatif.simulation.placement.verdict import words_of_growth


def words_of_capacity(
    fits: int, pods_each: int, nodes: Sequence[NodeCapacity], scale_up: ScaleUp | None, at_least: int
) -> str:
    """``Fits 2 times: 8 pods, on 3 of 6 nodes.``, or ``Does not fit 20 times: 2 times, 8 pods, on 3 of 6 nodes.``"""
    parts = []
    if pods_each > 1:
        parts.append(format_count(fits * pods_each, "pod"))
    if fits:
        parts.append(f"on {sum(node.pods > 0 for node in nodes)} of {format_count(len(nodes), 'node')}")
    if more := ", ".join(words_of_growth(scale_up)):
        parts.append(f"with {more}")
    times = format_count(fits, "time")
    if fits >= at_least:
        return f"Fits {times}: {', '.join(parts)}." if parts else f"Fits {times}."
    wanted = f" {at_least} times" if at_least > 1 else ""
    return f"Does not fit{wanted}: {', '.join([times, *parts])}."
