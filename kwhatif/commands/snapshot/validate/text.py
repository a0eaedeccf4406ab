"""Findings about a snapshot as blocks, a row each."""

from __future__ import annotations

from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Grouping, Verdict, build_table
from kwhatif.results.amounts import format_count
from kwhatif.results.snapshot_check import CheckResult


def check_blocks(result: CheckResult) -> list[Block]:
    """Read errors first, then inconsistencies; a summary at the end."""
    unread = [finding for finding in result.findings if finding.source]
    others = [finding for finding in result.findings if not finding.source]
    rows = [(f.rule, f.object or NONE, f.source, f.place, f.message) for f in unread]
    more = [(f.level, f.rule, f.object or NONE, f.message) for f in others]
    return [
        *build_table("CANNOT BE READ", ("rule", "object", "file", "place", "problem"), rows, Grouping("finding")),
        *build_table("CONTRADICTIONS", ("level", "rule", "object", "problem"), more, Grouping("finding")),
        Verdict(_summary(result), not result.exit_code),
    ]


def _summary(result: CheckResult) -> str:
    held = format_count(result.objects, "object")
    if not result.findings:
        return f"Valid: {result.source}, {held}, no errors."
    return (
        f"{'Invalid' if result.errors else 'Valid'}: {result.source}, {held}, {format_count(result.errors, 'error')}, "
        f"{format_count(result.warnings, 'warning')}."
    )


VIEW = View(lambda result, look: check_blocks(result))
