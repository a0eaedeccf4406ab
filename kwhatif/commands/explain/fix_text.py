"""Changes that help, as blocks: those of one pod, and those of a workload with the lines to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TypeVar

from kwhatif.render.blocks import NONE, Block, Heading, Lines, Patch, table
from kwhatif.render.explain_nodes import describe_victims_of_fix
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.explain import Fix, PodReport, WorkloadFix, WorkloadReport

F = TypeVar("F", Fix, WorkloadFix)


def workload_fix_blocks(workload: WorkloadReport) -> Iterator[Block]:
    """What would let all pods of a workload run, and the lines to change for it."""
    if not workload.fixes:
        if workload.tried:
            tried = format_count(workload.tried, "change")
            yield Lines((f"FIXES OF THE WORKLOAD: none of {tried} tried lets all pods run.",))
        return
    numbered = list(enumerate(workload.fixes, 1))
    title = f"FIXES OF {workload.workload}"
    for heading, fixes in _headings(title, workload.tried, numbered, ("lets all its pods run", "let all its pods run")):
        yield heading
        rows = [
            (
                str(number),
                fix.change,
                format_count(fix.placed, "pod"),
                str(fix.replaces or NONE),
                format_some(fix.victims) or NONE,
                format_some(fix.pending) or NONE,
            )
            for number, fix in fixes
        ]
        headers = ("", "change", "run", "replaces", "evicts", "then pending")
        kept = [place for place in range(len(headers)) if place < 3 or any(row[place] != NONE for row in rows)]
        yield table([headers[place] for place in kept], tuple(tuple(row[place] for place in kept) for row in rows))
    for number, fix in numbered:
        if fix.patch:
            yield Heading(f"{number}: {fix.change}")
            yield Patch(fix.patch)


def fix_blocks(report: PodReport, workload: WorkloadReport | None) -> Iterator[Block]:
    """What would let all pods of its workload run, then what would help the pod, and how many like it."""
    if report.limit:
        yield Lines((f"{report.limit[0].upper()}{report.limit[1:]}.",))
    for_all = {fix.change for fix in workload.fixes} if workload is not None else set()
    if workload is not None:
        yield from workload_fix_blocks(workload)
    mine = [fix for fix in report.fixes if fix.change not in for_all]
    title = "OTHER FIXES" if for_all else "FIXES"
    for heading, fixes in _headings(title, report.tried, [*enumerate(mine)], ("works", "work")):
        yield heading
        rows = [
            (
                fix.change,
                f"{fix.pods} of {fix.waiting} pending",
                fix.node,
                describe_victims_of_fix(fix) or NONE,
            )
            for _, fix in fixes
        ]
        shown = (True, any(fix.waiting > 1 for fix in mine), True, any(fix.victims for fix in mine))
        headers = compress(("change", "places", "leads to [node]", "evicts"), shown)
        yield table(tuple(headers), tuple(tuple(compress(row, shown)) for row in rows))
    if report.tried and not report.fixes and (workload is None or not workload.tried):
        yield Lines((f"FIXES: none of {format_count(report.tried, 'change')} tried helps.",))


def _headings(
    title: str, tried: int, fixes: Sequence[tuple[int, F]], works: tuple[str, str]
) -> Iterator[tuple[Heading, list[tuple[int, F]]]]:
    """The fixes that leave nobody without a node, then the others, which are no fixes for those."""
    clean, costly = ([fix for fix in fixes if bool(fix[1].pending) is pending] for pending in (False, True))
    trials = f"tried {format_count(tried, 'change')}"
    if clean:
        words = f"this {works[0]}" if len(clean) == 1 else f"these {works[1]}"
        yield Heading(f"{title}: {trials}, {words}"), clean
    if costly:
        yield Heading(f"{title} THAT LEAVE OTHER PODS PENDING" + ("" if clean else f": {trials}")), costly
