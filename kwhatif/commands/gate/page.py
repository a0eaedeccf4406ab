"""The HTML page of the gate: its findings beside their lines, the change, the pods and the rules."""

from __future__ import annotations

from typing import Any

from kwhatif.commands.gate.formats.words import describe_change, format_location, place_of
from kwhatif.render.blocks import Block, Grouping, build_table
from kwhatif.render.page_spec import PageSpec, answer_by_outcome
from kwhatif.render.sections import verdict_of
from kwhatif.results.gate import Finding, GateResult


def gate_answer(result: GateResult) -> tuple[str, str]:
    """The verdict of the outcome; a good one with warnings has their tone."""
    return answer_by_outcome("warn" if result.verdict == "warn" else "good")(result)


def gate_blocks(result: GateResult) -> list[Block]:
    """Everything but the findings, as tables."""
    changes = [
        (
            change.what,
            change.subject,
            change.pods_before,
            change.pods_after,
            "; ".join(change.details),
            format_location(place_of(change)),
        )
        for change in result.changes
        if change.what != "unchanged"
    ]
    pods = [(placement.pod, placement.node or "<none>", placement.reason) for placement in result.placements]
    rules = [
        (outcome.rule, outcome.status, outcome.checked, outcome.findings, outcome.threshold, outcome.summary)
        for outcome in result.rules
    ]
    return [
        verdict_of(result.outcome),
        *build_table("WHAT CHANGES", ("change", "object", "pods before", "pods after", "fields", "where"), changes),
        *build_table("PODS", ("pod", "node", "reason"), pods, None, Grouping("pod", (2,), (0,)), (1,)),
        *build_table("RULES", ("rule", "status", "looked at", "findings", "wanted", "found"), rules),
    ]


def findings_data(result: GateResult) -> list[dict[str, Any]]:
    """The findings as plain values, then those that are exempted, with the reason."""
    return [_finding(finding, result) for finding in result.findings] + [
        _finding(exemption.finding, result) | {"exempted": exemption.reason} for exemption in result.exemptions
    ]


def _finding(finding: Finding, result: GateResult) -> dict[str, Any]:
    return {
        "level": finding.level,
        "rule": finding.rule,
        "about": str(finding.subject or ""),
        "at": format_location(place_of(finding)),
        "title": finding.title,
        "message": finding.message,
        "numbers": [(name, str(value)) for name, value in finding.numbers.items()],
        "hint": finding.hint,
        "lines": result.excerpts.get(finding.location, ()) if finding.location else (),
    }


PAGE = PageSpec(
    "gate", gate_answer, gate_blocks, "Change", describe_change, data=lambda result: {"findings": findings_data(result)}
)
