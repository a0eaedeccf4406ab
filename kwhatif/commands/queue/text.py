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
    inactive = {
        cluster_queue.cluster_queue: cluster_queue.message
        for cluster_queue in result.cluster_queues
        if not cluster_queue.active
    }
    if result.asked and len(result.workloads) <= _MOST_DETAILED:
        for workload in result.workloads:
            blocks += [Heading((workload.job or workload.workload).upper()), Facts(tuple(_facts(workload, inactive)))]
            blocks += _fix_table(workload)
        seen = {lost.workload for queued_workload in result.workloads for lost in queued_workload.preempted}
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
            *(
                cluster_queue.cluster_queue,
                cluster_queue.cohort or NONE,
                cluster_queue.pending,
                cluster_queue.aside,
                cluster_queue.admitted,
            ),
            NONE if cluster_queue.share is None else cluster_queue.share,
            "active" if cluster_queue.active else cluster_queue.message,
        )
        for cluster_queue in result.cluster_queues
    ]
    headers = ("clusterqueue", "cohort [same]", "pending", "set aside", "admitted", "share [same]", "state [same]")
    yield from build_table("CLUSTERQUEUES", headers, queues, Grouping("ClusterQueue"))
    rows = [
        (cluster_queue.cluster_queue, *_use(use))
        for cluster_queue in result.cluster_queues
        for use in cluster_queue.flavors
    ]
    yield from _quota_table("QUOTAS", "clusterqueue", rows)
    rows = [(cohort.cohort, *_use(use)) for cohort in result.cohorts for use in cohort.flavors]
    yield from _quota_table("COHORTS", "cohort", rows)


def _facts(workload: QueuedWorkload, inactive: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    queue = f" in ClusterQueue {workload.cluster_queue}" if workload.cluster_queue else ""
    yield "Status", f"{workload.status}{queue}{', borrowing from its cohort' if workload.borrows else ''}"
    if workload.local_queue:
        yield "LocalQueue", f"{workload.local_queue}, priority {workload.priority}"
    for pods in workload.pod_sets:
        yield "Pods", f"{pods.count} of pod set {pods.pod_set} in {_flavors(pods.flavors.values())}"
        if pods.topology:
            yield "Domains", format_some(pods.topology, 8)
    if workload.place:
        behind = f", behind {format_some(workload.behind)}" if workload.behind else ""
        aside = "; set aside until something changes" if workload.aside else ""
        yield "Place", f"{workload.place}{behind}{aside}"
    if workload.checks:
        yield "Checks", ", ".join(workload.checks)
    for lost in workload.preempted:
        yield "Preempts", f"{lost.workload} of {lost.cluster_queue} ({lost.reason})"
    if workload.message:
        yield "Message", workload.message
    if workload.cluster_queue in inactive:
        yield "ClusterQueue", inactive[workload.cluster_queue]
    for lack in workload.lacks:
        yield "Lacks", _describe_lack(lack)
    if workload.freed_by:
        yield "Freed by", " and ".join(map(_describe_end, workload.freed_by))


def _describe_lack(lack: MissingQuota) -> str:
    what = f"{lack.missing} more {lack.resource} in {lack.flavor}"
    if lack.never:
        return f"{what}: only with another quota, {lack.limit} never has so much"
    held = ", ".join(f"{quota_holder.workload} ({quota_holder.amount})" for quota_holder in lack.held_by[:3])
    more = f" and {lack.holders - 3} more" if lack.holders > 3 else ""
    return f"{what} at {lack.limit}" + (f", held by {held}{more}" if held else "")


def _describe_end(freeing_workload: FreeingWorkload) -> str:
    limit = "" if freeing_workload.ends_within is None else f", ends within {freeing_workload.ends_within} s of it"
    return f"the end of {freeing_workload.workload} (runs since {freeing_workload.since}{limit})"


def _fix_table(workload: QueuedWorkload) -> list[Block]:
    rows = [(fix.change, fix.cluster_queue, fix.pods, format_some(fix.preempts) or NONE) for fix in workload.fixes]
    headers = ("change", "clusterqueue [same]", "pods", "preempts [same]")
    return build_table("WOULD BE ADMITTED WITH", headers, rows, Grouping("change"))


def _workload_table(workloads: Sequence[QueuedWorkload]) -> list[Block]:
    rows = [
        (
            *(
                workload.workload or workload.job,
                workload.cluster_queue or NONE,
                workload.priority,
                workload.place or NONE,
            ),
            "set aside" if workload.aside else workload.status,
            workload.message
            or ", ".join(f"{pods.count} in {_flavors(pods.flavors.values())}" for pods in workload.pod_sets),
        )
        for workload in workloads
    ]
    headers = ("workload", "clusterqueue [same]", "priority", "place", "state [same]", "why [same]")
    return build_table("WORKLOADS", headers, rows, Grouping("workload"))


def _missing_table(workloads: Sequence[QueuedWorkload]) -> list[Block]:
    rows = [
        (
            *(workload.workload, lack.resource, lack.flavor, lack.asks, lack.free, lack.missing, lack.limit),
            "never enough" if lack.never else format_some([holder.workload for holder in lack.held_by]) or NONE,
        )
        for workload in workloads
        for lack in workload.lacks
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


def _preempted_table(workloads: Sequence[PreemptedWorkload]) -> list[Block]:
    rows = [
        (
            preempted_workload.workload,
            preempted_workload.cluster_queue,
            preempted_workload.priority,
            preempted_workload.taken_by,
            preempted_workload.reason,
        )
        for preempted_workload in workloads
    ]
    headers = ("workload", "clusterqueue [same]", "priority", "for", "reason [same]")
    return build_table("PREEMPTED", headers, rows, Grouping("workload"))


def _use(use: FlavorUse) -> tuple[str, ...]:
    return use.flavor, use.resource, use.nominal, use.used, use.borrowed, use.free


def _quota_table(heading: str, what: str, rows: Iterable[Sequence[object]]) -> list[Block]:
    headers = (what, "flavor [same]", "resource [same]", "quota", "used", "borrowed", "free")
    return build_table(heading, headers, rows, Grouping("quota"))


def _flavors(names: Iterable[str]) -> str:
    flavors = dict.fromkeys(names)
    return ", ".join(flavors) if flavors else format_count(0, "flavor")


VIEW = View(
    lambda result, look: queue_blocks(result),
    page=PageSpec("queue", "Why they wait", data=lambda result: {"curves": quota_bars(result)}),
)
