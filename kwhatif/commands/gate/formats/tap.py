"""The gate's report in the Test Anything Protocol, version 14: a point for each finding, and for each rule without any.

A warning is a point that fails and is marked as TODO, which does not fail the whole; what is exempted, off or not
applicable is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kwhatif.commands.gate.formats.words import (
    RuleReport,
    by_rule,
    describe_change,
    format_location,
    headline,
    place_of,
    shorten_text,
)
from kwhatif.render.escape import clean, in_json
from kwhatif.render.sections import describe_fidelity
from kwhatif.results.gate import Finding, GateResult


def gate_tap(result: GateResult) -> str:
    """The report. A run without rules is a plan of nothing, which says why."""
    points = [point for report in by_rule(result) for point in _points(report)]
    lines = [
        "TAP version 14",
        f"# {_escape(headline(result))}. {_escape(describe_change(result))}",
        f"# {_escape(describe_fidelity(result.fidelity))}",
        *(f"# Warning: {_escape(text)}" for text in result.warnings),
        f"1..{len(points)}" if points else "1..0 # no rule is on",
    ]
    for number, (good, description, directive, finding) in enumerate(points, start=1):
        end = f" # {directive}" if directive else ""
        lines.append(f"{'ok' if good else 'not ok'} {number} - {_escape(description)}{end}")
        if finding is not None:
            lines += _diagnostic(finding)
    return "".join(f"{line}\n" for line in lines)


def _points(report: RuleReport) -> Iterator[tuple[bool, str, str, Finding | None]]:
    """Good or not, the description, what comes behind it, and the finding."""
    for finding in report.findings:
        yield False, _description_of(finding), "TODO a warning" if finding.level == "warn" else "", finding
    for exemption in report.exemptions:
        yield True, _description_of(exemption.finding), f"SKIP exempted: {_escape(exemption.reason)}", exemption.finding
    if not report.findings and not report.exemptions:
        yield True, report.rule, f"SKIP {report.skip_reason}" if report.skip_reason else "", None


def _description_of(finding: Finding) -> str:
    return ": ".join(filter(None, (finding.rule, str(finding.subject or ""), finding.title)))


def _diagnostic(finding: Finding) -> list[str]:
    fields = {
        "severity": "fail" if finding.level == "error" else "warning",
        "rule": finding.rule,
        "subject": str(finding.subject or ""),
        "at": format_location(place_of(finding)),
        "message": finding.message,
        "hint": finding.hint,
    }
    lines = [f"  {name}: {_quote(text)}" for name, text in fields.items() if text]
    # YAML takes keys of up to 1,024 characters.
    numbers = [f"    {_quote(shorten_text(name, 200))}: {_quote(value)}" for name, value in finding.numbers.items()]
    return ["  ---", *lines, *(["  numbers:", *numbers] if numbers else []), "  ..."]


def _quote(value: float | str) -> str:
    """The value as YAML and JSON write it. Escapes of JSON are YAML's, too, once all characters are printable."""
    return in_json(json.dumps(clean(value) if isinstance(value, str) else value, ensure_ascii=False))


def _escape(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace("#", "\\#")
