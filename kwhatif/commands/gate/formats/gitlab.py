"""The gate's report as a GitLab Code Quality report, a list of issues."""

from __future__ import annotations

import json

from kwhatif.commands.gate.formats.words import RULES_FILE, fingerprints, place_of, whole_message
from kwhatif.render.escape import clean, in_json
from kwhatif.results.gate import Finding, GateResult

_SEVERITIES = {"error": "major", "warn": "minor"}


def gate_gitlab(result: GateResult) -> str:
    """An issue for each finding, and one of severity ``info`` for each exemption.

    GitLab takes no issue without a file: one that no manifest is to blame for points to the rules file. Issues
    with a fingerprint that was there before would be dropped, so each gets one of its own.
    """
    entries = [(finding, _SEVERITIES[finding.level], _description(finding)) for finding in result.findings]
    for exemption in result.exemptions:
        finding = exemption.finding
        entries.append((finding, "info", f"Exempted since: {clean(exemption.reason)}. {_description(finding)}"))
    marks = fingerprints([finding for finding, _, _ in entries])
    issues = [
        {
            "description": description,
            "check_name": clean(finding.rule),
            "fingerprint": clean(mark),
            "severity": severity,
            "location": _location(finding),
        }
        for (finding, severity, description), mark in zip(entries, marks, strict=True)
    ]
    return in_json(json.dumps(issues, indent=2)) + "\n"


def _description(finding: Finding) -> str:
    about = f"{clean(str(finding.subject))}: " if finding.subject else ""
    return about + whole_message(finding)


def _location(finding: Finding) -> dict[str, object]:
    place = place_of(finding) or RULES_FILE
    return {"path": clean(place.file), "lines": {"begin": place.line}}
