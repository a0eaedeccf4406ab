"""Agreement with a recording as blocks: a row for each sort of decision, and the disagreements; and the comparison
of two simulated days: changes, waiting times, and utilisation over time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kwhatif.commands.backtest.result import (
    Agreement,
    BacktestDiff,
    BacktestResult,
    BindingChoices,
    DayMoment,
    DaySide,
    PendingTime,
    Reality,
    RecordedBindings,
)
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Heading, Lines, Verdict, build_table, format_part, table
from kwhatif.render.page_spec import PageSpec, answer_in_words
from kwhatif.render.sections import describe_fidelity, fidelity_blocks
from kwhatif.results.amounts import format_count
from kwhatif.results.diff import ClusterUse


def backtest_blocks(result: BacktestResult) -> list[Block]:
    """The shares, the texts of refusals, what was left out, and the disagreements."""
    headers = ("decisions", "recorded", "same", "foretold", "tied", "searched", "near", "differing", "share")
    lines = [
        *((_texts(result),) if result.texts else ()),
        *(f"Left out: {format_count(number, 'decision')}: {why}." for why, number in result.left_out.items()),
        *(() if result.reach is None else (_reach(result.reach),)),
        *(() if result.bindings is None or not result.bindings.total else _describe_bindings(result.bindings)),
        describe_fidelity(result.fidelity),
    ]
    rows = [
        (
            disagreement.pod,
            disagreement.version or NONE,
            disagreement.recorded,
            disagreement.answer,
            f"{disagreement.verdict}: {disagreement.evidence}",
        )
        for disagreement in result.disagreements
    ]
    decisions, agreeing = (
        sum(getattr(agreement, what) for agreement in result.agreement) for what in ("total", "agreeing")
    )
    lead = "Differs" if result.exit_code else "Agrees"
    verdict = f"{lead}: {format_part(agreeing, decisions, 'decision')} reproduced{_worth(result.choices)}."
    if not decisions:
        verdict = "No decision can be judged: none is evidence."
    return [
        Verdict(verdict, not result.exit_code),
        table(headers, tuple(map(_row, result.agreement))),
        Lines(tuple(lines)),
        *build_table(
            "DISAGREEMENTS", ("pod", "version", "recorded", "answer", "verdict"), rows, Grouping("disagreement")
        ),
    ]


def _worth(choices: BindingChoices) -> str:
    """What that says: how many bindings had a choice, and how many of these would agree whatever node was taken."""
    if not choices.decisions:
        return ", none of them with a choice of nodes, so this says nothing about how nodes are chosen"
    agrees, at_random = (
        f"{int(1000 * share / choices.decisions) / 10}%" for share in (choices.agreeing, choices.chance)
    )
    bindings = format_part(choices.agreeing, choices.decisions, "binding")
    return f"; with a choice of nodes {bindings}, {agrees}, where any node that passes would reach {at_random}"


def _row(agreement: Agreement) -> tuple[str, ...]:
    # Rounded down: 100% is said only where all agree.
    share = f"{1000 * agreement.agreeing // agreement.total / 10:.1f}%" if agreement.total else NONE
    numbers = (
        agreement.total,
        agreement.same,
        agreement.foretold,
        agreement.tied,
        agreement.searched,
        agreement.near,
        agreement.total - agreement.agreeing,
    )
    return (agreement.what, *map(str, numbers), share)


def _reach(share: float) -> str:
    return (
        f"Where a search began is not recorded: {100 * share:.0f}% of the nodes that pass come out of one search or "
        "another, so much agrees by chance."
    )


def _describe_bindings(bindings: RecordedBindings) -> Iterator[str]:
    """Who bound pods, and whether it was one process."""
    total, own = format_count(bindings.total, "pod"), bindings.total - bindings.by_others
    who = [
        *(f"{number} from {name}" for name, number in bindings.by_other_schedulers.items()),
        *([f"{bindings.created_with_node} created with one"] if bindings.created_with_node else ()),
        *([format_count(bindings.static, "static pod")] if bindings.static else ()),
    ]
    if who:
        yield f"{bindings.by_others} of {total} got a node from others than the recorded scheduler: {', '.join(who)}."
    else:
        yield f"The recorded scheduler alone gave nodes to pods: {total}."
    if own > bindings.confirmed:
        yield f"For {own - bindings.confirmed} of {own} that it bound, only the schedulerName says so, and no Event."
    if bindings.instances > 1:
        yield f"Its Events come from {bindings.instances} hosts: each process begins its searches on its own."
    if bindings.elections:
        times = format_count(bindings.elections, "time")
        yield f"A leader was elected {times}: each begins its searches at the first node."


def _texts(result: BacktestResult) -> str:
    texts = format_count(result.texts, "text")
    return f"{result.texts_agreeing} of {texts} of refusals were reproduced word for word."


def _curves(result: BacktestResult) -> list[dict[str, Any]] | None:
    """For a page: how many decisions agree and differ, from the first to the last one."""
    spans = result.over_time
    if not spans:
        return None
    counts = {
        "agree": [span.agreeing for span in spans],
        "differ": [span.decisions - span.agreeing for span in spans],
    }
    lines = [{"name": name, "values": values} for name, values in counts.items()]
    moments = [span.at for span in spans]
    return [{"title": "Decisions", "unit": "decisions", "stacked": True, "moments": moments, "lines": lines}]


VIEW = View(
    lambda result, look: backtest_blocks(result),
    page=PageSpec(
        "backtest",
        "Decisions",
        lambda result: (
            ("bad", "Less is reproduced than required") if result.exit_code else ("plain", "How much is reproduced")
        ),
        data=lambda result: {"curves": _curves(result)},
    ),
)


MOST_MOMENTS = 16
_WORDS = {
    "moved": "moved",
    "pending": "without a node in the end",
    "placed": "with a node in the end",
    "evicted": "preempted",
    "spared": "no longer preempted",
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
        (
            workload.workload,
            workload.pods,
            workload.moved,
            workload.pending,
            workload.placed,
            workload.evicted,
            workload.spared,
        )
        for workload in result.workloads
    ]
    headers = ("workload", "pods", "moved", "pending", "placed", "preempted", "spared")
    blocks += build_table("CHANGES BY WORKLOAD", headers, rows, Grouping("workload"))
    if everything:
        changes = [
            (
                change.pod,
                _WORDS[change.what],
                change.node_a or NONE,
                change.node_b or NONE,
                change.waited_a,
                change.waited_b,
            )
            for change in result.changes
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
    blocks.append(Heading("BASED ON"))
    blocks.append(
        Lines((_reality(result.recorded), *(f"{text[0].upper()}{text[1:]}." for text in result.assumed)), listed=True)
    )
    if result.a.fidelity == result.b.fidelity:
        return [*blocks, *fidelity_blocks(result.a.fidelity)]
    return [
        *blocks,
        Heading("A IS BASED ON"),
        *fidelity_blocks(result.a.fidelity),
        Heading("B IS BASED ON"),
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
    times = [{pending.priority: pending for pending in side.pending} for side in sides]
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
    ("pending time, median", lambda pending: pending.median),
    ("95th percentile", lambda pending: pending.p95),
    ("longest", lambda pending: pending.maximum),
)


def _over_time(moments: Sequence[DayMoment], everything: bool) -> list[Block]:
    """A row for each moment, or for the last of several where there would be too many rows."""
    step = 1 if everything else -(-len(moments) // MOST_MOMENTS)
    shown = list(moments[::-1][:: max(step, 1)])[::-1]
    resources = [name for name in ("cpu", "memory") if shown and _has(shown[0].a, name)]
    rows = [
        (
            format_seconds(moment.seconds),
            f"{moment.waiting_a} {moment.waiting_b}",
            f"{moment.a.used} {moment.b.used}",
            *(
                f"{_use(moment.a, name, value):.0f} {_use(moment.b, name, value):.0f}"
                for name in resources
                for value in ("mean", "deviation")
            ),
        )
        for moment in shown
    ]
    headers = ["time", "pending A B", "nodes used A B"]
    for name in resources:
        headers += [f"{name} % A B", f"± {name} A B"]
    return build_table("OVER TIME (mean use of the nodes in percent, and its standard deviation)", headers, rows)


def _has(use: ClusterUse, resource: str) -> bool:
    return any(use_of_resource.resource == resource for use_of_resource in use.resources)


def _use(use: ClusterUse, resource: str, value: str) -> float:
    use_there = next((resource_use for resource_use in use.resources if resource_use.resource == resource), None)
    return 0.0 if use_there is None else float(getattr(use_there, value))


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


def _day_curves(moments: Sequence[DayMoment]) -> Iterator[dict[str, Any]]:
    """For a page: pods that wait, and how full the nodes are, moment by moment on both sides."""
    if not moments:
        return

    def curve(title: str, unit: str, value: Callable[[DayMoment], tuple[float, float]]) -> dict[str, Any]:
        a, b = zip(*map(value, moments), strict=True)
        lines = [{"name": "A", "values": list(map(float, a))}, {"name": "B", "values": list(map(float, b))}]
        return {
            "title": title,
            "unit": unit,
            "moments": [format_seconds(moment.seconds) for moment in moments],
            "lines": lines,
        }

    yield curve("Pods without a node", "pods", lambda moment: (moment.waiting_a, moment.waiting_b))
    for name in ("cpu", "memory"):
        if _has(moments[0].a, name):
            mean = partial(_means, resource=name)
            yield curve(f"How full the nodes are by {name}", "percent", mean)


def _means(moment: DayMoment, resource: str) -> tuple[float, float]:
    return _use(moment.a, resource, "mean"), _use(moment.b, resource, "mean")


DIFF_VIEW = View(
    lambda result, look: backtest_diff_blocks(result, everything=look.everything),
    page=PageSpec(
        "backtest",
        "The day",
        answer_in_words("The day is the same", "The day differs", "differs"),
        data=lambda result: {"curves": list(_day_curves(result.over_time)) or None},
    ),
)
