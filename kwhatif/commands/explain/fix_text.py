"""Changes that help, as blocks: those of one pod, and those of a workload with the lines to paste."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.blocks import NONE, Block, Heading, Lines, Patch, table
from kwhatif.render.explain_nodes import describe_victims_of_fix
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.explain import PodReport, WorkloadReport


def workload_fix_blocks(workload: WorkloadReport) -> Iterator[Block]:
    """What would let all pods of a workload run, and the lines to change for it."""
    if not workload.fixes:
        if workload.tried:
            tried = format_count(workload.tried, "change")
            yield Lines((f"FIXES OF THE WORKLOAD: none of {tried} tried lets all pods run.",))
        return
    works = "this lets all its pods run" if len(workload.fixes) == 1 else "these let all its pods run"
    yield Heading(f"FIXES OF {workload.workload}: tried {format_count(workload.tried, 'change')}, {works}")
    rows = [
        (
            str(number),
            fix.change,
            format_count(fix.placed, "pod"),
            str(fix.replaces or NONE),
            format_some(fix.victims) or NONE,
            format_some(fix.pending) or NONE,
        )
        for number, fix in enumerate(workload.fixes, 1)
    ]
    headers = ("", "change", "run", "replaces", "evicts", "then pending")
    kept = [place for place in range(len(headers)) if place < 3 or any(row[place] != NONE for row in rows)]
    yield table([headers[place] for place in kept], tuple(tuple(row[place] for place in kept) for row in rows))
    for number, fix in enumerate(workload.fixes, 1):
        if fix.patch:
            yield Heading(f"{number}: {fix.change}")
            yield Patch(fix.patch)


def fix_blocks(report: PodReport, *, none: bool) -> Iterator[Block]:
    """What would help the pod; that nothing does is said if ``none`` is to be."""
    if report.limit:
        yield Lines((f"{report.limit[0].upper()}{report.limit[1:]}.",))
    if report.fixes:
        works = "this works" if len(report.fixes) == 1 else "these work"
        yield Heading(f"FIXES: tried {format_count(report.tried, 'change')}, {works}")
        if any(fix.victims for fix in report.fixes):
            rows = tuple((fix.change, fix.node, describe_victims_of_fix(fix) or NONE) for fix in report.fixes)
            yield table(("change", "leads to [node]", "evicts"), rows)
        else:
            yield table(("change", "leads to [node]"), tuple((fix.change, fix.node) for fix in report.fixes))
    elif report.tried and none:
        yield Lines((f"FIXES: none of {format_count(report.tried, 'change')} tried helps.",))
