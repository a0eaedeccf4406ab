"""The rules file of a repository: a GatePolicy document, ``.kwhatif.yaml`` by name.

    apiVersion: kwhatif.dev/v1
    kind: GatePolicy
    snapshot: [cluster.json.zst]
    rules:
      unschedulable: {level: error}
      headroom: {level: warn, percent: 15}
      single-node:
      - {level: error, namespaces: [shop]}
      - {level: warn, namespaces: ["team-*"]}

With a file only the rules that it names are run; without one, or if it says nothing of ``rules``, those of
``DEFAULT_RULES``. The schema of the format is ``schemas/gate-policy.schema.json``.

Exemptions: a workload says of itself which findings do not count, and why.

    metadata:
      annotations:
        kwhatif.dev/ignore: "single-node: a cache, which may be cold for a while"

Several stand on lines of their own or behind a semicolon. One without a reason, or for a rule that nobody knows, is
a finding itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from kwhatif.api.decode import describe_value, step
from kwhatif.api.json_schema import convert_strictly
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.commands.gate.named_files import check_named_files, checkout_of
from kwhatif.commands.gate.rule import LEVELS, Parameters, Rule, RuleClass
from kwhatif.commands.gate.units import Unit
from kwhatif.errors import InputError, UsageError
from kwhatif.results.gate import Exemption, Finding, Subject
from kwhatif.snapshot.format.documents import read_only
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.snapshot.read.files import STDIN
from kwhatif.snapshot.read.objects import inside
from kwhatif.versions import minor_of

KIND = "GatePolicy"
FILE_NAME = ".kwhatif.yaml"

DEFAULT_RULES = ("fidelity", "limits", "preempts", "quota", "rollout-deadlock", "single-node", "unschedulable")
"""What is looked at where nobody says what to look at."""


class GatePolicy(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file may say. Paths in it are relative to its directory."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: dict[str, Any] | None = None
    snapshot: Annotated[list[str] | None, Meta(description="What --snapshot names.")] = None
    policy: Annotated[str | None, Meta(description="What --policy names: a KubeSchedulerConfiguration.")] = None
    autoscale: Annotated[
        str | list[str] | None, Meta(description="What --autoscale names: NodeGroups, InstanceTypes, or both.")
    ] = None
    kubernetes_version: Annotated[str | None, Meta(description="What --kubernetes-version says.")] = None
    exemptions: Annotated[
        Literal["allowed", "forbidden"], Meta(description="Whether annotations may exempt workloads from rules.")
    ] = "allowed"
    rules: Annotated[dict[str, Any] | None, Meta(description="Settings by rule, or a list of them.")] = None


@dataclass(frozen=True)
class ReadPolicy:
    """A policy and where it was read: ``source`` is empty if there is no file."""

    policy: GatePolicy
    source: str = ""

    @property
    def description(self) -> str:
        """Where the rules come from, in words."""
        if not self.source:
            return "kwhatif's own defaults"
        return self.source if self.policy.rules is not None else f"{self.source} and kwhatif's own defaults"


def find_policy(directory: str) -> str | None:
    """``.kwhatif.yaml`` of this directory or one above, as far as the top of the git repository.

    Raises InputError for a link that leads out of that.
    """
    here = os.path.abspath(directory)
    while True:
        path = os.path.join(here, FILE_NAME)
        if os.path.isfile(path):
            check_named_files([(path, "")], checkout_of(path), FILE_NAME)
            return os.path.relpath(path, directory)
        above = os.path.dirname(here)
        if above == here or os.path.exists(os.path.join(here, ".git")):
            return None
        here = above


def read_policy(path: str | None) -> ReadPolicy:
    """The policy of a file; of none, one that says nothing. Raises InputError with the place of a mistake."""
    if path is None:
        return ReadPolicy(GatePolicy())
    policy, source = read_only(path, KIND, GatePolicy)
    try:
        if policy.kubernetes_version:
            minor_of(policy.kubernetes_version)
    except UsageError as error:
        raise InputError(str(error), source=source, place="$.kubernetesVersion") from None
    return ReadPolicy(_beside(policy, source), source)


def _beside(policy: GatePolicy, source: str) -> GatePolicy:
    """The policy with its paths seen from here, not from the file."""
    folder = "" if source in (STDIN, "standard input") else os.path.dirname(source)
    scheduler = policy.policy
    autoscalers = [policy.autoscale] if isinstance(policy.autoscale, str) else policy.autoscale
    beside = replace(
        policy,
        autoscale=None if autoscalers is None else [os.path.join(folder, path) for path in autoscalers],
        snapshot=None if policy.snapshot is None else [os.path.join(folder, path) for path in policy.snapshot],
        policy=scheduler if scheduler in (None, "default") else os.path.join(folder, scheduler or ""),
    )
    check_named_files(_named_files(beside), checkout_of(source if folder else ""), source)
    return beside


def _named_files(policy: GatePolicy) -> Iterator[tuple[str, str]]:
    """Every path in a policy, seen from here, and its place."""
    for number, path in enumerate(policy.snapshot or ()):
        yield path, f"$.snapshot[{number}]"
    for number, path in enumerate(policy.autoscale or ()):
        yield path, f"$.autoscale[{number}]"
    if policy.policy not in (None, "default"):
        yield policy.policy or "", "$.policy"


def rules_of(
    read: ReadPolicy, known: Mapping[str, RuleClass], levels: Sequence[str] = ()
) -> tuple[Rule[Parameters], ...]:
    """The rules to run, by name. ``levels`` are ``NAME=error|warn|off`` of the command line.

    Raises InputError with the place of a mistake in the file, UsageError for a level that makes no sense.
    """
    if read.policy.rules is None:
        told: dict[str, Any] = {name: {} for name in DEFAULT_RULES}
    else:
        told = read.policy.rules
    chosen: dict[str, list[Parameters]] = {}
    for name, settings in told.items():
        try:
            chosen[name] = list(_settings(name, settings, known))
        except InputError as error:
            raise inside(error, read.source, f"$.rules{step(name)}") from None
    for text in levels:
        name, level = _level(text, known)
        before = chosen.get(name) or [known[name].parameters()]
        chosen[name] = [replace(each, level=level) for each in before]
    return tuple(known[name](given) for name in sorted(chosen) for given in chosen[name])


def _settings(name: str, settings: Any, known: Mapping[str, RuleClass]) -> Iterable[Parameters]:
    if name not in known:
        hint = suggest_spelling(name, known) or f"; there are {', '.join(sorted(known))}"
        raise InputError(f"no rule is called {describe_value(name)}{hint}", place="$")
    listed = isinstance(settings, list)
    if listed and not settings:
        raise InputError("expected settings, found an empty list", place="$")
    for i, each in enumerate(settings if listed else [settings]):
        place = f"$[{i}]" if listed else "$"
        try:
            yield _parameters({} if each is None else each, known[name].parameters)
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


def _level(text: str, known: Mapping[str, RuleClass]) -> tuple[str, str]:
    name, _, level = text.partition("=")
    if name not in known:
        hint = suggest_spelling(name, known) or f"; there are {', '.join(sorted(known))}"
        raise UsageError(f"--rule {text}: no rule is called {describe_value(name)}{hint}")
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


def read_claims(units: Sequence[Unit], known: Collection[str]) -> tuple[Claims, list[Finding]]:
    """What workloads claim, and what is wrong with that."""
    claims: dict[tuple[Subject, str], str] = {}
    wrong: list[Finding] = []
    for unit in units:
        for rule, reason in _exemptions_of(unit):
            problem = _problem(rule, reason, known)
            if problem:
                wrong.append(_finding(unit, problem, rule))
            else:
                claims[unit.subject, rule] = reason
    return claims, wrong


def _exemptions_of(unit: Unit) -> Iterator[tuple[str, str]]:
    """Rule and reason of each entry; of two for a rule, the workload's own comes last."""
    for told in unit.annotations:
        text = told.get(ANNOTATION)
        for entry in re.split(r"[;\n]", text) if isinstance(text, str) else ():
            if entry.strip():
                rule, _, reason = entry.partition(":")
                yield rule.strip(), reason.strip()


def _problem(rule: str, reason: str, known: Collection[str]) -> str:
    if rule not in known:
        return f"no rule is called {rule!r}{suggest_spelling(rule, known)}"
    if not reason:
        return f"{rule} is to be ignored, and nobody says why"
    return ""


def _finding(unit: Unit, problem: str, rule: str) -> Finding:
    message = f'{problem}. The annotation {ANNOTATION} is read as "rule: why"; several end with a semicolon or a line.'
    return _Exempt(Parameters()).finding_about(unit, problem, message, about=rule)


def find_forbidden(units: Sequence[Unit]) -> list[str]:
    """The workloads that claim exemptions which nobody grants, in words."""
    return [
        f"{unit.subject}: {ANNOTATION} is void, since exemptions are forbidden"
        for unit in units
        if any(_exemptions_of(unit))
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
