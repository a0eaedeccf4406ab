"""A change judged: manifests and rules as plain values in, a result out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from kwhatif.api.decode import convert
from kwhatif.api.kinds import KINDS
from kwhatif.api.meta import Resource
from kwhatif.commands.gate.gate_policy import rules_of
from kwhatif.commands.gate.judgement import GateSettings
from kwhatif.commands.gate.question import Gate
from kwhatif.commands.gate.rule import in_tree
from kwhatif.results.gate import Finding, GateResult
from kwhatif.simulation.inputs import Inputs, Notes
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.repository_policy import GatePolicy, ReadPolicy
from kwhatif.simulation.scenario import ReadManifests, Scenario
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.snapshot.read.objects import Origin
from tests.builders import Json
from tests.simulation.edits.editing import snapshot_of, workload

NOON = "2026-03-01T12:00:00+00:00"


def manifests(*objects: Json, file: str = "head.yaml") -> list[Manifest]:
    """Objects as documents of one file, ten lines each."""
    made = []
    for number, raw in enumerate(objects):
        struct = KINDS.get(raw["kind"], Resource)
        obj = convert(raw, struct)
        made.append(Manifest(obj, Origin(file, number + 1, 10 * number + 1), raw))
    return made


def new(kind: str, name: str, replicas: int | None = 1, **more: Any) -> Json:
    """The manifest of a workload, which no API server has seen yet."""
    body = workload(kind, name, replicas, **more)
    del body["metadata"]["uid"]
    return body


def annotated(obj: Json, text: str) -> Json:
    """The same with an exemption."""
    return {**obj, "metadata": {**obj["metadata"], "annotations": {"kwhatif.dev/ignore": text}}}


def judged(
    snapshot: Snapshot,
    *head: Json,
    base: Sequence[Json] | None = None,
    rules: Mapping[str, Any] | None = None,
    exemptions: bool = True,
    now: str = NOON,
    **more: Any,
) -> GateResult:
    """What the gate says; ``rules`` as a rules file has them."""
    read = ReadPolicy(GatePolicy(rules=None if rules is None else dict(rules)), "rules.yaml")
    settings = GateSettings(rules_of(read, in_tree()), frozenset(in_tree()), exemptions, read.description)
    before = None if base is None else manifests(*base, file="base.yaml")
    question = Given(given=settings, head=manifests(*head), before=before, **more)
    return ask(question, Scenario(Inputs(snapshot, now=datetime.fromisoformat(now))))


@dataclass(frozen=True)
class Given(Gate):
    """A gate with rules and manifests that nobody has to read."""

    given: GateSettings = field(default_factory=lambda: GateSettings((), frozenset()))
    head: Sequence[Manifest] = ()
    before: Sequence[Manifest] | None = None

    @cached_property
    def settings(self) -> GateSettings:
        return self.given

    def load(self, case: Scenario, notes: Notes) -> ReadManifests:
        return ReadManifests(self.head, base=self.before)


def found(result: GateResult) -> list[tuple[str, str, str]]:
    """Rule, subject and title of every finding."""
    return [(each.rule, str(each.subject or ""), each.title) for each in result.findings]


def only(findings: Iterable[Finding]) -> Finding:
    """The one finding there is."""
    (one,) = findings
    return one


__all__ = ["NOON", "Given", "annotated", "found", "judged", "manifests", "new", "only", "snapshot_of", "workload"]
