"""Exemptions: a workload says of itself which findings do not count, and why.

    metadata:
      annotations:
        kwhatif.dev/ignore: "single-node: a cache, which may be cold for a while"

Several stand on lines of their own or behind a semicolon. One without a reason, or for a rule that nobody knows, is
a finding itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from kwhatif.api.alike import did_you_mean
from kwhatif.results.gate import Exemption, Finding, Subject
from kwhatif.whatif.gate.rule import Parameters, Rule
from kwhatif.whatif.gate.unit import Unit

ANNOTATION = "kwhatif.dev/ignore"
EXEMPTIONS = "exemptions"
"""What findings about exemptions go by."""

Claims = Mapping[tuple[Subject, str], str]
"""(workload, rule) -> why it is exempt."""


class _Exempt(Rule[Parameters]):
    name = EXEMPTIONS


def read_claims(units: Sequence[Unit], known: Collection[str]) -> tuple[Claims, list[Finding]]:
    """What workloads claim, and what is wrong with that."""
    claims: dict[tuple[Subject, str], str] = {}
    wrong: list[Finding] = []
    for unit in units:
        for rule, reason in _said(unit):
            problem = _problem(rule, reason, known)
            if problem:
                wrong.append(_finding(unit, problem, rule))
            else:
                claims[unit.subject, rule] = reason
    return claims, wrong


def _said(unit: Unit) -> Iterator[tuple[str, str]]:
    """Rule and reason of each entry; of two for a rule, the workload's own comes last."""
    for told in unit.annotations:
        text = told.get(ANNOTATION)
        for entry in re.split(r"[;\n]", text) if isinstance(text, str) else ():
            if entry.strip():
                rule, _, reason = entry.partition(":")
                yield rule.strip(), reason.strip()


def _problem(rule: str, reason: str, known: Collection[str]) -> str:
    if rule not in known:
        return f"no rule is called {rule!r}{did_you_mean(rule, known)}"
    if not reason:
        return f"{rule} is to be ignored, and nobody says why"
    return ""


def _finding(unit: Unit, problem: str, rule: str) -> Finding:
    message = f'{problem}. The annotation {ANNOTATION} is read as "rule: why"; several end with a semicolon or a line.'
    return _Exempt(Parameters()).about(unit, problem, message, about=rule)


def forbidden(units: Sequence[Unit]) -> list[str]:
    """The workloads that claim exemptions which nobody grants, in words."""
    return [
        f"{unit.subject}: {ANNOTATION} is void, since exemptions are forbidden" for unit in units if any(_said(unit))
    ]


def settle(findings: Sequence[Finding], claims: Claims) -> tuple[list[Finding], list[Exemption]]:
    """The findings that count, and those that do not."""
    counted: list[Finding] = []
    exempted: list[Exemption] = []
    for finding in findings:
        reason = None if finding.subject is None else claims.get((finding.subject, finding.rule))
        if reason is None or finding.subject is None:
            counted.append(finding)
        else:
            exempted.append(Exemption(rule=finding.rule, subject=finding.subject, reason=reason, finding=finding))
    return counted, exempted
