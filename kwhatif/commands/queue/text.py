"""Kueue's decisions as blocks: what became of the workloads, what is missing, and the quotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.queue.quota_bars import quota_bars
from kwhatif.commands.queue.result import (
    FlavorUse,
    FreeingWorkload,
    MissingQuota,
    PreemptedWorkload,
    QueuedWorkload,
    QueueResult,
)
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Heading, Lines, build_table
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.sections import describe_edits, verdict_of
from kwhatif.results.amounts import format_count, format_some

_MOST_DETAILED = 20


def queue_blocks(result: QueueResult) -> list[Block]:
    """The report: of a few workloads that were asked about what concerns them, else the state of everything."""
    blocks: list[Block] = [verdict_of(result.outcome)]
    inactive = {each.cluster_queue: each.message for each in result.cluster_queues if not each.active}
    if result.asked and len(result.workloads) <= _MOST_DETAILED:
        for each in result.workloads:
            blocks += [Heading((each.job or each.workload).upper()), Facts(tuple(_facts(each, inactive)))]
            blocks += _fix_table(each)
        seen = {lost.workload for each in result.workloads for lost in each.preempted}
        blocks += _preempted_table([lost for lost in result.evicted if lost.workload not in seen])
    else:
        blocks += _workload_table(result.workloads)
        blocks += _missing_table(result.workloads)
        blocks += _preempted_table(result.evicted)
    if not result.asked:
        blocks += _state_tables(result)
    stands = [f"Rules: Kueue {result.version}.", *describe_edits(result.edits), *map(str, result.gaps)]
    return [*blocks, *refusal_blocks(result.refusals, ()), Lines(tuple(stands))]


def _state_tables(result: QueueResult) -> Iterator[Block]:
    queues = [
        (
            *(each.cluster_queue, each.cohort or NONE, each.pending, each.aside, each.admitted),
            NONE if each.share is None else each.share,
            "active" if each.active else each.message,
        )
        for each in result.cluster_queues
    ]
    headers = ("clusterqueue", "cohort [same]", "pending", "set aside", "admitted", "share [same]", "state [same]")
    yield from build_table("CLUSTERQUEUES", headers, queues, Grouping("ClusterQueue"))
    rows = [(each.cluster_queue, *_use(use)) for each in result.cluster_queues for use in each.flavors]
    yield from _quota_table("QUOTAS", "clusterqueue", rows)
    rows = [(each.cohort, *_use(use)) for each in result.cohorts for use in each.flavors]
    yield from _quota_table("COHORTS", "cohort", rows)


def _facts(each: QueuedWorkload, inactive: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    queue = f" in ClusterQueue {each.cluster_queue}" if each.cluster_queue else ""
    yield "Status", f"{each.status}{queue}{', borrowing from its cohort' if each.borrows else ''}"
    if each.local_queue:
        yield "LocalQueue", f"{each.local_queue}, priority {each.priority}"
    for pods in each.pod_sets:
        yield "Pods", f"{pods.count} of pod set {pods.pod_set} in {_flavors(pods.flavors.values())}"
        if pods.topology:
            yield "Domains", format_some(pods.topology, 8)
    if each.place:
        behind = f", behind {format_some(each.behind)}" if each.behind else ""
        aside = "; set aside until something changes" if each.aside else ""
        yield "Place", f"{each.place}{behind}{aside}"
    if each.checks:
        yield "Checks", ", ".join(each.checks)
    for lost in each.preempted:
        yield "Preempts", f"{lost.workload} of {lost.cluster_queue} ({lost.reason})"
    if each.message:
        yield "Message", each.message
    if each.cluster_queue in inactive:
        yield "ClusterQueue", inactive[each.cluster_queue]
    for lack in each.lacks:
        yield "Lacks", _describe_lack(lack)
    if each.freed_by:
        yield "Freed by", " and ".join(map(_describe_end, each.freed_by))


def _describe_lack(lack: MissingQuota) -> str:
    what = f"{lack.missing} more {lack.resource} in {lack.flavor}"
    if lack.never:
        return f"{what}: only with another quota, {lack.limit} never has so much"
    held = ", ".join(f"{each.workload} ({each.amount})" for each in lack.held_by[:3])
    more = f" and {lack.holders - 3} more" if lack.holders > 3 else ""
    return f"{what} at {lack.limit}" + (f", held by {held}{more}" if held else "")


def _describe_end(each: FreeingWorkload) -> str:
    limit = "" if each.ends_within is None else f", ends within {each.ends_within} s of it"
    return f"the end of {each.workload} (runs since {each.since}{limit})"


def _fix_table(each: QueuedWorkload) -> list[Block]:
    rows = [(fix.change, fix.cluster_queue, fix.pods, format_some(fix.preempts) or NONE) for fix in each.fixes]
    headers = ("change", "clusterqueue [same]", "pods", "preempts [same]")
    return build_table("WOULD BE ADMITTED WITH", headers, rows, Grouping("change"))


def _workload_table(workloads: Sequence[QueuedWorkload]) -> list[Block]:
    rows = [
        (
            *(each.workload or each.job, each.cluster_queue or NONE, each.priority, each.place or NONE),
            "set aside" if each.aside else each.status,
            each.message or ", ".join(f"{pods.count} in {_flavors(pods.flavors.values())}" for pods in each.pod_sets),
        )
        for each in workloads
    ]
    headers = ("workload", "clusterqueue [same]", "priority", "place", "state [same]", "why [same]")
    return build_table("WORKLOADS", headers, rows, Grouping("workload"))


def _missing_table(workloads: Sequence[QueuedWorkload]) -> list[Block]:
    rows = [
        (
            *(each.workload, lack.resource, lack.flavor, lack.asks, lack.free, lack.missing, lack.limit),
            "never enough" if lack.never else format_some([holder.workload for holder in lack.held_by]) or NONE,
        )
        for each in workloads
        for lack in each.lacks
    ]
    headers = (
        "workload",
        "resource [same]",
        "flavor [same]",
        "asks",
        "free",
        "missing",
        "limited by [same]",
        "held by [same]",
    )
    return build_table("MISSING QUOTA", headers, rows, Grouping("shortage"))


def _preempted_table(lost: Sequence[PreemptedWorkload]) -> list[Block]:
    rows = [(each.workload, each.cluster_queue, each.priority, each.taken_by, each.reason) for each in lost]
    headers = ("workload", "clusterqueue [same]", "priority", "for", "reason [same]")
    return build_table("PREEMPTED", headers, rows, Grouping("workload"))


def _use(use: FlavorUse) -> tuple[str, ...]:
    return use.flavor, use.resource, use.nominal, use.used, use.borrowed, use.free


def _quota_table(heading: str, what: str, rows: Iterable[Sequence[object]]) -> list[Block]:
    headers = (what, "flavor [same]", "resource [same]", "quota", "used", "borrowed", "free")
    return build_table(heading, headers, rows, Grouping("quota"))


def _flavors(names: Iterable[str]) -> str:
    found = dict.fromkeys(names)
    return ", ".join(found) if found else format_count(0, "flavor")


VIEW = View(
    lambda result, look: queue_blocks(result),
    page=PageSpec("queue", "Why they wait", data=lambda result: {"curves": quota_bars(result)}),
)
