"""The comparison of two days of Kueue as blocks: waiting times by ClusterQueue, and the workloads that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kwhatif.commands.backtest.queue_day_result import QueueDayDiff, WorkloadDay
from kwhatif.commands.backtest.text import format_seconds
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Heading, Lines, Verdict, build_table
from kwhatif.render.page_spec import PageSpec, answer_in_words
from kwhatif.results.amounts import format_count

_WORDS = {
    "waits": "never admitted",
    "admitted": "admitted after all",
    "preempted": "preempted more often",
    "spared": "preempted less often",
    "flavor": "in another flavor",
    "sooner": "admitted sooner",
    "later": "admitted later",
}


def queue_day_blocks(result: QueueDayDiff) -> list[Block]:
    workloads = format_count(result.workloads, "workload")
    day = f"from {result.start}, {format_seconds(result.seconds)}, {workloads}"
    blocks: list[Block] = [
        Facts((("Day", day), ("A", result.a.label), ("B", result.b.label))),
        Verdict(_summary(result), not result.changes),
    ]
    by_queue = ("clusterqueue", "", "recorded [name]", "A [name]", "B [name]")
    blocks += build_table("WAITING FOR QUOTA", by_queue, _waits(result), Grouping("clusterqueue"))
    rows = [
        (
            change.workload,
            change.cluster_queue,
            change.priority,
            _WORDS[change.what],
            _words(change.a),
            _words(change.b),
        )
        for change in result.changes
    ]
    headers = ("workload", "clusterqueue", "priority", "what [same]", "A [name]", "B [name]")
    blocks += build_table("CHANGES", headers, rows, Grouping("workload"))
    assumed = tuple(f"{text[0].upper()}{text[1:]}." for text in result.assumed)
    return [*blocks, Heading("BASED ON"), Lines(assumed, listed=True)]


def _summary(result: QueueDayDiff) -> str:
    workloads = format_count(result.workloads, "workload")
    if not result.changes:
        return f"No difference: {workloads}, {result.a.waits[0].admitted} admissions."
    kinds = Counter(change.what for change in result.changes)
    said = [f"{kinds[what]} {words}" for what, words in _WORDS.items() if kinds[what]]
    return f"Differs: {', '.join(said)}, of {workloads}."


def _waits(result: QueueDayDiff) -> Iterator[tuple[str, ...]]:
    for recorded, a, b in zip(result.recorded.waits, result.a.waits, result.b.waits, strict=True):
        sides, name = (recorded, a, b), a.cluster_queue or "all"
        yield (name, "admissions", *(str(side.admitted) for side in sides))
        yield (name, "waiting at the end", *(str(side.at_the_end) for side in sides))
        yield (name, "preempted", *(str(side.preempted) for side in sides))
        yield (name, "wait, median", *(format_seconds(side.median) for side in sides))
        yield (name, "95th percentile", *(format_seconds(side.p95) for side in sides))
        yield (name, "longest", *(format_seconds(side.maximum) for side in sides))


def _words(day: WorkloadDay) -> str:
    if day.admitted_after is None:
        return day.status
    flavors = ", ".join(day.flavors) or NONE
    preempted = f", preempted by {', '.join(day.preempted_by)}" if day.preempted_by else ""
    return f"after {format_seconds(day.admitted_after)} in {flavors}{preempted}; {day.status}"


VIEW = View(
    lambda result, look: queue_day_blocks(result),
    page=PageSpec(
        "backtest", "The day", answer_in_words("The queues decide the same", "The queues decide differently", "differs")
    ),
)
