"""The comparison of two simulated days as blocks: changes, waiting times, and utilisation over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kwhatif.commands.backtest.diff_result import BacktestDiff, DayMoment, DaySide, PendingTime, Reality
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Heading, Lines, Verdict, build_table, format_part
from kwhatif.render.page_spec import PageSpec, answer_in_words
from kwhatif.render.sections import fidelity_blocks
from kwhatif.results.amounts import format_count
from kwhatif.results.diff import ClusterUse

MOST_MOMENTS = 16
_WORDS = {
    "moved": "moved",
    "pending": "without a node in the end",
    "placed": "with a node in the end",
    "evicted": "preempted",
    "spared": "preempted no more",
}


def backtest_diff_blocks(result: BacktestDiff, *, everything: bool = False) -> list[Block]:
    """The report; ``everything`` leaves out no row and no moment."""
    day = f"from {result.start}, {format_seconds(result.seconds)}, {format_count(result.pods, 'pod')} to be scheduled"
    blocks: list[Block] = [
        Facts((("Day", day), ("A", result.a.label), ("B", result.b.label))),
        Verdict(_summary(result), not result.differs),
    ]
    columns = ("", "recorded [name]", "A [name]", "B [name]", "Δ [name]")
    blocks += build_table("WAITING FOR A NODE", columns, _waiting(result))
    rows = [
        (each.workload, each.pods, each.moved, each.pending, each.placed, each.evicted, each.spared)
        for each in result.workloads
    ]
    headers = ("workload", "pods", "moved", "pending", "placed", "preempted", "spared")
    blocks += build_table("CHANGES BY WORKLOAD", headers, rows, Grouping("workload"))
    if everything:
        changes = [
            (each.pod, _WORDS[each.what], each.node_a or NONE, each.node_b or NONE, each.waited_a, each.waited_b)
            for each in result.changes
        ]
        of_pods = (
            "pod [pod, same]",
            "what [same]",
            "A [name, node]",
            "B [name, node]",
            "waits (A) [name]",
            "waits (B) [name]",
        )
        blocks += build_table("CHANGES", of_pods, changes, Grouping("pod"))
    blocks += _over_time(result.over_time, everything)
    blocks.append(Heading("WHAT THIS STANDS ON"))
    blocks.append(
        Lines((_reality(result.recorded), *(f"{text[0].upper()}{text[1:]}." for text in result.assumed)), listed=True)
    )
    if result.a.fidelity == result.b.fidelity:
        return [*blocks, *fidelity_blocks(result.a.fidelity)]
    return [
        *blocks,
        Heading("A STANDS ON"),
        *fidelity_blocks(result.a.fidelity),
        Heading("B STANDS ON"),
        *fidelity_blocks(result.b.fidelity),
    ]


def _summary(result: BacktestDiff) -> str:
    pods = format_count(result.pods, "pod")
    if not result.differs:
        return f"No difference: {pods}, {result.a.bound} bindings."
    kinds = Counter(change.what for change in result.changes)
    parts = [f"{kinds[what]} {words}" for what, words in _WORDS.items() if kinds[what]]
    return f"Differs: {', '.join(parts) or 'same nodes, other waiting times'}, of {pods}."


def _waiting(result: BacktestDiff) -> Iterator[tuple[str, ...]]:
    sides: tuple[Reality | DaySide, ...] = (result.recorded, result.a, result.b)
    for name, number in _NUMBERS:
        counts = [number(side) for side in sides]
        yield (name, *map(str, counts), _format_signed(counts[2] - counts[1]))
    times = [{each.priority: each for each in side.pending} for side in sides]
    for priority in dict.fromkeys(priority for side in times for priority in side):
        of_priority = "" if priority is None else f", priority {priority}"
        for name, length in _LENGTHS if priority is None else _LENGTHS[1:2]:
            waits = [length(side[priority]) if priority in side else None for side in times]
            a, b = waits[1] or 0.0, waits[2] or 0.0
            spelt = (NONE if wait is None else format_seconds(wait) for wait in waits)
            yield (f"{name}{of_priority}", *spelt, _format_signed(round(b - a, 3)))


_NUMBERS: tuple[tuple[str, Callable[[Reality | DaySide], int]], ...] = (
    ("bindings", lambda side: side.bound),
    ("pods pending at the end", lambda side: side.at_the_end),
    ("pods preempted", lambda side: side.preempted),
)
_LENGTHS: tuple[tuple[str, Callable[[PendingTime], float]], ...] = (
    ("pending time, median", lambda each: each.median),
    ("95th percentile", lambda each: each.p95),
    ("longest", lambda each: each.maximum),
)


def _over_time(moments: Sequence[DayMoment], everything: bool) -> list[Block]:
    """A row for each moment, or for the last of several where there would be too many rows."""
    step = 1 if everything else -(-len(moments) // MOST_MOMENTS)
    shown = list(moments[::-1][:: max(step, 1)])[::-1]
    resources = [name for name in ("cpu", "memory") if shown and _has(shown[0].a, name)]
    rows = [
        (
            format_seconds(each.seconds),
            f"{each.waiting_a} {each.waiting_b}",
            f"{each.a.used} {each.b.used}",
            *(
                f"{_use(each.a, name, value):.0f} {_use(each.b, name, value):.0f}"
                for name in resources
                for value in ("mean", "deviation")
            ),
        )
        for each in shown
    ]
    headers = ["time", "pending A B", "nodes used A B"]
    for name in resources:
        headers += [f"{name} % A B", f"± {name} A B"]
    return build_table("OVER TIME (mean use of the nodes in percent, and its standard deviation)", headers, rows)


def _has(use: ClusterUse, resource: str) -> bool:
    return any(each.resource == resource for each in use.resources)


def _use(use: ClusterUse, resource: str, value: str) -> float:
    found = next((each for each in use.resources if each.resource == resource), None)
    return 0.0 if found is None else float(getattr(found, value))


def _reality(recorded: Reality) -> str:
    """How far the day that was really lived is from the first simulation of it."""
    same = format_part(recorded.same, recorded.both, "pod")
    return (
        f"Side A is simulated, too: {same} that were bound in the recording and here got the node of the recording "
        "first. Whatever A differs in from what was recorded, B may be wrong by as much."
    )


def format_seconds(length: float) -> str:
    """``0.25s``, ``42s``, ``5m30s``, ``8h2m0s``."""
    if length < 60:
        return f"{length:.3g}s"
    whole = round(length)
    hours, minutes, seconds = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}h{minutes}m{seconds}s" if hours else f"{minutes}m{seconds}s"


def _format_signed(number: float) -> str:
    return f"+{number}" if number > 0 else str(number)


def _curves(moments: Sequence[DayMoment]) -> Iterator[dict[str, Any]]:
    """For a page: pods that wait, and how full the nodes are, moment by moment on both sides."""
    if not moments:
        return

    def curve(title: str, unit: str, value: Callable[[DayMoment], tuple[float, float]]) -> dict[str, Any]:
        a, b = zip(*map(value, moments), strict=True)
        lines = [{"name": "A", "values": list(map(float, a))}, {"name": "B", "values": list(map(float, b))}]
        return {
            "title": title,
            "unit": unit,
            "moments": [format_seconds(each.seconds) for each in moments],
            "lines": lines,
        }

    yield curve("Pods without a node", "pods", lambda each: (each.waiting_a, each.waiting_b))
    for name in ("cpu", "memory"):
        if _has(moments[0].a, name):
            mean = partial(_means, resource=name)
            yield curve(f"How full the nodes are by {name}", "percent", mean)


def _means(moment: DayMoment, resource: str) -> tuple[float, float]:
    return _use(moment.a, resource, "mean"), _use(moment.b, resource, "mean")


VIEW = View(lambda result, look: backtest_diff_blocks(result, everything=look.everything))
PAGE = PageSpec(
    "backtest",
    answer_in_words("The day goes the same way", "The day goes another way", "differs"),
    lambda result: backtest_diff_blocks(result, everything=True),
    "The day",
    data=lambda result: {"curves": list(_curves(result.over_time)) or None},
)
