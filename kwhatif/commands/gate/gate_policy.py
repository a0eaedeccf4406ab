"""The gate's use of a GatePolicy: the rules to run, and the exemptions of workloads.

With a file only the rules that it names are run; without one, or if it has no ``rules``, those of ``DEFAULT_RULES``. A
workload declares exemptions from findings, with reasons:

    metadata:
      annotations:
        kwhatif.dev/ignore: "single-node: a cache, which may be cold for a while"

Several stand on lines of their own or behind a semicolon. One without a reason, or for an unknown rule, is a finding
itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.api.decode import describe_value, step
from kwhatif.api.json_schema import convert_strictly
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.commands.gate.rule import LEVELS, Parameters, Rule, RuleClass
from kwhatif.commands.gate.units import Unit
from kwhatif.errors import InputError, UsageError
from kwhatif.results.gate import Exemption, Finding, Subject
from kwhatif.simulation.repository_policy import ReadPolicy
from kwhatif.snapshot.read.objects import inside

DEFAULT_RULES = (
    *("blocking-budget", "fidelity", "limits", "preempts", "quota", "replicas-at-once"),
    *("rollout-deadlock", "single-node", "unschedulable"),
)
"""What is looked at by default."""


def rules_of(
    read: ReadPolicy, rules: Mapping[str, RuleClass], levels: Sequence[str] = ()
) -> tuple[Rule[Parameters], ...]:
    """The rules to run, by name. ``levels`` are ``NAME=error|warn|off`` of the command line.

    Raises InputError with the place of a mistake in the file, UsageError for a level that makes no sense.
    """
    if read.policy.rules is None:
        fields: dict[str, Any] = {name: {} for name in DEFAULT_RULES}
    else:
        fields = read.policy.rules
    chosen: dict[str, list[Parameters]] = {}
    for name, settings in fields.items():
        try:
            chosen[name] = [_with_files(setting, read) for setting in _settings(name, settings, rules)]
        except InputError as error:
            raise inside(error, read.source, f"$.rules{step(name)}") from None
    for text in levels:
        name, level = _level(text, rules)
        before = chosen.get(name) or [rules[name].parameters()]
        chosen[name] = [replace(parameters, level=level) for parameters in before]
    return tuple(rules[name](given) for name in sorted(chosen) for given in chosen[name])


def _settings(name: str, settings: Any, rules: Mapping[str, RuleClass]) -> Iterable[Parameters]:
    if name not in rules:
        hint = suggest_spelling(name, rules) or f"; there are {', '.join(sorted(rules))}"
        raise InputError(f"unknown rule {describe_value(name)}{hint}", place="$")
    listed = isinstance(settings, list)
    if listed and not settings:
        raise InputError("expected settings, found an empty list", place="$")
    for i, setting in enumerate(settings if listed else [settings]):
        place = f"$[{i}]" if listed else "$"
        try:
            yield _parameters({} if setting is None else setting, rules[name].parameters)
        except InputError as error:
            raise inside(error, "", place) from None


def _parameters(value: Any, type_: type[Parameters]) -> Parameters:
    # YAML as Kubernetes has it takes a plain off for false.
    if value is False or (isinstance(value, str) and value in LEVELS):
        value = {"level": value}
    if isinstance(value, dict) and value.get("level") is False:
        value = {**value, "level": "off"}
    if not isinstance(value, dict):
        raise InputError(f"expected settings, or a level: error, warn or off; found {describe_value(value)}", place="$")
    parameters = convert_strictly(value, type_)
    parameters.verify()
    return parameters


def _with_files(parameters: Parameters, read: ReadPolicy) -> Parameters:
    """The parameters with their files as these are seen from here. Raises InputError for one of elsewhere."""
    named: dict[str, Any] = {}
    for field in parameters.files:
        value, place = getattr(parameters, field), f"${step(field)}"
        if isinstance(value, str):
            named[field] = value and read.path_beside(value, place)
        else:
            named[field] = tuple(read.path_beside(element, f"{place}[{i}]") for i, element in enumerate(value))
    return replace(parameters, **named) if named else parameters


def _level(text: str, rules: Mapping[str, RuleClass]) -> tuple[str, str]:
    name, _, level = text.partition("=")
    if name not in rules:
        hint = suggest_spelling(name, rules) or f"; there are {', '.join(sorted(rules))}"
        raise UsageError(f"--rule {text}: unknown rule {describe_value(name)}{hint}")
    if level not in LEVELS:
        raise UsageError(f"--rule {text}: expected {name}=error, warn or off, found {describe_value(level)}")
    return name, level


ANNOTATION = "kwhatif.dev/ignore"
EXEMPTIONS = "exemptions"
"""What findings about exemptions go by."""

Claims = Mapping[tuple[Subject, str], str]
"""(workload, rule) -> why it is exempt."""


class _Exempt(Rule[Parameters]):
    name = EXEMPTIONS


def read_exemptions(units: Sequence[Unit], names: Collection[str]) -> tuple[Claims, list[Finding]]:
    """What workloads claim, and what is wrong with that."""
    exemptions: dict[tuple[Subject, str], str] = {}
    invalid: list[Finding] = []
    for unit in units:
        for rule, reason in _exemptions_of(unit):
            problem = _problem(rule, reason, names)
            if problem:
                invalid.append(_finding(unit, problem, rule))
            else:
                exemptions[unit.subject, rule] = reason
    return exemptions, invalid


def _exemptions_of(unit: Unit) -> Iterator[tuple[str, str]]:
    """Rule and reason of each entry; of two for a rule, the workload's own comes last."""
    for written in unit.annotations:
        text = written.get(ANNOTATION)
        for entry in re.split(r"[;\n]", text) if isinstance(text, str) else ():
            if entry.strip():
                rule, _, reason = entry.partition(":")
                yield rule.strip(), reason.strip()


def _problem(rule: str, reason: str, names: Collection[str]) -> str:
    if rule not in names:
        return f"unknown rule {rule!r}{suggest_spelling(rule, names)}"
    if not reason:
        return f"{rule} is to be ignored without a reason"
    return ""


def _finding(unit: Unit, problem: str, rule: str) -> Finding:
    message = f'{problem}. The annotation {ANNOTATION} is read as "rule: why"; several end with a semicolon or a line.'
    return _Exempt(Parameters()).finding_about(unit, problem, message, about=rule)


def find_forbidden(units: Sequence[Unit]) -> list[str]:
    """The workloads that claim exemptions which are not granted, in words."""
    return [
        f"{unit.subject}: {ANNOTATION} is ignored: exemptions are forbidden"
        for unit in units
        if any(_exemptions_of(unit))
    ]


def apply_exemptions(findings: Sequence[Finding], exemptions: Claims) -> tuple[list[Finding], list[Exemption]]:
    """The findings that count, and those that do not."""
    counted: list[Finding] = []
    exempted: list[Exemption] = []
    for finding in findings:
        reason = None if finding.subject is None else exemptions.get((finding.subject, finding.rule))
        if reason is None or finding.subject is None:
            counted.append(finding)
        else:
            exempted.append(Exemption(rule=finding.rule, subject=finding.subject, reason=reason, finding=finding))
    return counted, exempted
