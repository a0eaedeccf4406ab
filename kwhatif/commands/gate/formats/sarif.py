"""The gate's report as SARIF 2.1.0, with the additional fields of GitHub's code scanning.

Findings are results at file and line of the manifest. Exemptions are notifications of the run and no suppressed
results: code scanning would open an alert for each of those.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from kwhatif.commands.gate.formats.words import (
    RULES_FILE,
    RuleReport,
    by_rule,
    describe_change,
    fingerprints,
    headline,
    place_of,
    whole_message,
)
from kwhatif.render.escape import clean, in_json
from kwhatif.render.sections import describe_fidelity
from kwhatif.results.gate import Exemption, Finding, GateResult, Location

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {"error": "error", "warn": "warning"}


def gate_sarif(result: GateResult) -> str:
    """One run with the rules, a result for each finding, and a notification for each exemption and warning."""
    rules = by_rule(result)
    index = {report.rule: place for place, report in enumerate(rules)}
    marks = fingerprints(result.findings)
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "kwhatif gate", "rules": [_rule(report) for report in rules]}},
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": result.exit_code,
                "toolExecutionNotifications": [
                    *(_exemption_result(exemption, index[exemption.rule]) for exemption in result.exemptions),
                    *({"level": "warning", "message": _message(text)} for text in result.warnings if text),
                ],
            }
        ],
        "results": [
            _result(finding, index[finding.rule], mark) for finding, mark in zip(result.findings, marks, strict=True)
        ],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "verdict": result.verdict,
            "told": clean(f"{headline(result)}. {describe_change(result)}"),
            "policy": clean(result.policy),
            "standsOn": clean(describe_fidelity(result.fidelity)),
        },
    }
    return in_json(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)) + "\n"


def _rule(report: RuleReport) -> dict[str, Any]:
    levels = {outcome.level for outcome in report.outcomes} or {finding.level for finding in report.findings}
    on = [_LEVELS[level] for level in ("error", "warn") if level in levels]
    wanted = "; ".join(outcome.threshold for outcome in report.outcomes if outcome.threshold)
    return {
        "id": clean(report.rule),
        "shortDescription": _message(report.rule),
        "fullDescription": _message(f"The rule wants: {wanted}." if wanted else f"The rule {report.rule}."),
        "help": _message(f"The page on the gate says what the rule {report.rule} looks at, and how it is set."),
        "defaultConfiguration": {"level": on[0]} if on else {"enabled": False},
        "properties": {
            "status": [outcome.status for outcome in report.outcomes],
            "checked": sum(outcome.checked for outcome in report.outcomes),
            "summary": clean(report.summary),
        },
    }


def _result(finding: Finding, rule: int, mark: str) -> dict[str, Any]:
    return {
        "ruleId": clean(finding.rule),
        "ruleIndex": rule,
        "level": _LEVELS[finding.level],
        "message": _message(whole_message(finding)),
        "locations": list(_locations(finding)),
        "partialFingerprints": {"kwhatifGate/v1": clean(mark)},
        "properties": {
            "title": clean(finding.title),
            "numbers": {clean(name): clean(v) if isinstance(v, str) else v for name, v in finding.numbers.items()},
        },
    }


def _exemption_result(exemption: Exemption, rule: int) -> dict[str, Any]:
    text = f"Exempted since: {exemption.reason}. {whole_message(exemption.finding)}"
    return {
        "level": "note",
        "message": _message(text),
        "associatedRule": {"id": clean(exemption.rule), "index": rule},
        "locations": list(_locations(exemption.finding)),
    }


def _locations(finding: Finding) -> Iterator[dict[str, Any]]:
    """One location. Where no manifest is to blame it is the rules file: code scanning wants a file."""
    known = place_of(finding)
    place = known or RULES_FILE
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place)},
            "region": {"startLine": place.line},
        }
    }
    if known is None:
        location["message"] = _message("No manifest is to blame: this is where rules are set.")
    if finding.subject is not None:
        subject = finding.subject
        name = f"{subject.namespace}/{subject.name}" if subject.namespace else subject.name
        location["logicalLocations"] = [
            {"name": clean(subject.name), "fullyQualifiedName": clean(name), "kind": clean(subject.kind)}
        ]
    yield location


def _uri(place: Location) -> str:
    """Relative to where the gate ran, as the repository has it; absolute paths as ``file:`` URIs."""
    path = quote(place.file.encode("utf-8", "backslashreplace"))
    return f"file://{path}" if path.startswith("/") else path


def _message(text: str) -> dict[str, str]:
    """Plain text in which braces are no placeholders and brackets no links."""
    return {"text": clean(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")}
