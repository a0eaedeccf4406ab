"""The gate's report as JUnit XML, the dialect of Jenkins and GitLab: a test case a finding.

JUnit has no warnings: they are skipped cases that say so, like what is exempted, off or not applicable. ``time`` is
always 0, since readers require it, and reports must be reproducible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree as xml

from kwhatif.commands.gate.formats.words import (
    RuleReport,
    by_rule,
    describe_change,
    format_location,
    headline,
    numbers,
    place_of,
)
from kwhatif.render.escape import clean, in_markup
from kwhatif.render.sections import describe_fidelity
from kwhatif.results.gate import Finding, GateResult

SUITE = "kwhatif gate"


def gate_junit(result: GateResult) -> str:
    """One suite: a class for each rule, in it a case for each finding, or one if there is none."""
    cases = [case for report in by_rule(result) for case in _cases(report)]
    failures, skipped = (sum(case.find(tag) is not None for case in cases) for tag in ("failure", "skipped"))
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    root = xml.Element("testsuites", {"name": SUITE, **counts, "time": "0"})
    suite = xml.SubElement(root, "testsuite", {"name": SUITE, **counts, "skipped": str(skipped), "time": "0"})
    facts = [
        ("verdict", headline(result)),
        ("judged", describe_change(result)),
        ("rules", result.policy),
        ("based on", describe_fidelity(result.fidelity)),
        *(("warning", text) for text in result.warnings),
    ]
    properties = xml.SubElement(suite, "properties")
    for name, value in facts:
        xml.SubElement(properties, "property", {"name": name, "value": clean(value)})
    suite.extend(cases)
    xml.indent(root)
    return in_markup(f'<?xml version="1.0" encoding="utf-8"?>\n{xml.tostring(root, encoding="unicode")}\n')


def _cases(report: RuleReport) -> Iterator[xml.Element]:
    """The cases of a rule. Their names stay the same while numbers change, so that a history can be kept."""
    parts = [
        ("failure", f.title, f) if f.level == "error" else ("skipped", f"warning: {f.title}", f)
        for f in report.findings
    ]
    parts += [("skipped", f"exempted: {e.reason}: {e.finding.title}", e.finding) for e in report.exemptions]
    for (tag, message, finding), name in zip(parts, _names([finding for *_, finding in parts]), strict=True):
        case = _case(report.rule, name)
        _add_details(case, tag, message, finding)
        yield case
    if not parts:
        case = _case(report.rule, report.rule)
        if report.skip_reason:
            xml.SubElement(case, "skipped", {"message": report.skip_reason})
        elif report.summary:
            xml.SubElement(case, "system-out").text = clean(report.summary)
        yield case


def _names(findings: list[Finding]) -> Iterator[str]:
    """What a finding is about; the second one about the same gets a number."""
    seen: Counter[str] = Counter()
    for finding in findings:
        name = str(finding.subject or finding.rule)
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def _case(rule: str, name: str) -> xml.Element:
    return xml.Element("testcase", {"classname": f"kwhatif.gate.{clean(rule)}", "name": clean(name), "time": "0"})


def _add_details(case: xml.Element, tag: str, message: str, finding: Finding) -> None:
    attributes = {"message": clean(message)}
    if tag == "failure":
        attributes["type"] = clean(finding.rule)
    place, measured = format_location(place_of(finding)), numbers(finding)
    lines = (
        place and f"at: {place}",
        finding.message,
        measured and f"numbers: {measured}",
        finding.hint and f"hint: {finding.hint}",
    )
    xml.SubElement(case, tag, attributes).text = "\n".join(clean(line) for line in lines if line)
