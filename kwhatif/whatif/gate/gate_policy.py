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
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from kwhatif.api.alike import did_you_mean
from kwhatif.api.json_schema import strictly
from kwhatif.api.mismatch import described, step
from kwhatif.errors import InputError, UsageError
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.snapshot.format.own_documents import read_only
from kwhatif.snapshot.read.files import STDIN
from kwhatif.snapshot.read.items import inside
from kwhatif.versions import minor_of
from kwhatif.whatif.gate.registry import RuleClass
from kwhatif.whatif.gate.rule import LEVELS, Parameters, Rule

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
    def called(self) -> str:
        """Where the rules come from, in words."""
        if not self.source:
            return "kwhatif's own defaults"
        return self.source if self.policy.rules is not None else f"{self.source} and kwhatif's own defaults"


def find_policy(directory: str) -> str | None:
    """``.kwhatif.yaml`` of this directory or one above, as far as the top of the git repository."""
    here = os.path.abspath(directory)
    while True:
        path = os.path.join(here, FILE_NAME)
        if os.path.isfile(path):
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
    return replace(
        policy,
        autoscale=None if autoscalers is None else [os.path.join(folder, path) for path in autoscalers],
        snapshot=None if policy.snapshot is None else [os.path.join(folder, path) for path in policy.snapshot],
        policy=scheduler if scheduler in (None, "default") else os.path.join(folder, scheduler or ""),
    )


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
        hint = did_you_mean(name, known) or f"; there are {', '.join(sorted(known))}"
        raise InputError(f"no rule is called {described(name)}{hint}", place="$")
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
        raise InputError(f"expected settings, or a level: error, warn or off; found {described(value)}", place="$")
    parameters = strictly(value, type_)
    parameters.verify()
    return parameters


def _level(text: str, known: Mapping[str, RuleClass]) -> tuple[str, str]:
    name, _, level = text.partition("=")
    if name not in known:
        hint = did_you_mean(name, known) or f"; there are {', '.join(sorted(known))}"
        raise UsageError(f"--rule {text}: no rule is called {described(name)}{hint}")
    if level not in LEVELS:
        raise UsageError(f"--rule {text}: expected {name}=error, warn or off, found {described(level)}")
    return name, level
