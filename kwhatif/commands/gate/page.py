"""The HTML page of the gate: its findings beside their lines, the change, the pods and the rules."""

from __future__ import annotations

from typing import Any

from kwhatif.commands.gate.formats.formats import FORMATS
from kwhatif.commands.gate.formats.table import gate_table
from kwhatif.commands.gate.formats.words import describe_change, format_location, place_of
from kwhatif.commands.view import Look, View
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
        *build_table("PODS", ("pod [pod]", "node [node]", "reason [same]"), pods, Grouping("pod")),
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


def _draw(result: GateResult, look: Look) -> str:
    """The findings in one of the formats; in text for a terminal, or of a report."""
    if look.screen is None or look.output not in ("table", "wide"):
        return FORMATS[look.output](result)
    # Readers of a log have no terminal to ask again from.
    everything = look.everything or look.wide or look.screen.width is None
    return gate_table(result, look.screen, everything=everything, gaps=look.gaps)


VIEW = View(
    lambda result, look: gate_blocks(result),
    formats=dict.fromkeys(("wide", *FORMATS), _draw),
    page=PageSpec(
        "gate", "Change", gate_answer, verdict=describe_change, data=lambda result: {"findings": findings_data(result)}
    ),
)
