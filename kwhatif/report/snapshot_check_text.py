"""What is wrong with a snapshot, a row a finding."""

from __future__ import annotations

from kwhatif.report.blocks import NONE, Block, Heading, Lines, Table
from kwhatif.results import CheckResult, Finding
from kwhatif.results.amounts import counted

__all__ = ["check_blocks"]


def check_blocks(result: CheckResult) -> list[Block]:
    """What cannot be read first, then what does not go together; a summary at the end."""
    unread = [finding for finding in result.findings if finding.source]
    others = [finding for finding in result.findings if not finding.source]
    blocks: list[Block] = []
    if unread:
        rows = tuple((f.rule, f.object or NONE, f.source, f.place, f.message) for f in unread)
        blocks += [Heading("CANNOT BE READ"), Table(("rule", "object", "file", "place", "problem"), rows)]
    if others:
        blocks += [Heading("DOES NOT GO TOGETHER"), Table(("level", "rule", "object", "problem"), _rows(others))]
    return [*blocks, Lines((_summary(result),))]


def _rows(findings: list[Finding]) -> tuple[tuple[str, ...], ...]:
    return tuple((f.level, f.rule, f.object or NONE, f.message) for f in findings)


def _summary(result: CheckResult) -> str:
    held = counted(result.objects, "object")
    if not result.findings:
        return f"{result.source}: {held}, nothing is wrong."
    return f"{result.source}: {held}, {counted(result.errors, 'error')}, {counted(result.warnings, 'warning')}."
