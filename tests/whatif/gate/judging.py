"""A change judged: manifests and rules as plain values in, a result out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kwhatif.api.decode import convert
from kwhatif.api.kinds import KINDS
from kwhatif.api.meta import Resource
from kwhatif.policy.load import load_configuration
from kwhatif.results.gate import Finding, GateResult
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.snapshot.read.documents import Origin
from kwhatif.whatif.gate.policy import GatePolicy, ReadPolicy, rules_of
from kwhatif.whatif.gate.registry import in_tree
from kwhatif.whatif.gate.run import Request, Terms, gate
from tests.builders import FEATURES, Json
from tests.whatif.editing import snapshot_of, workload

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
    request = Request(
        snapshot,
        manifests(*head),
        None if base is None else manifests(*base, file="base.yaml"),
        **more,
    )
    terms = Terms(
        rules_of(read, in_tree()),
        known=frozenset(in_tree()),
        now=datetime.fromisoformat(now),
        exemptions=exemptions,
        policy=read.called,
    )
    return gate(request, Setup(load_configuration(None, source=""), FEATURES), terms)


def found(result: GateResult) -> list[tuple[str, str, str]]:
    """Rule, subject and title of every finding."""
    return [(each.rule, str(each.subject or ""), each.title) for each in result.findings]


def only(findings: Iterable[Finding]) -> Finding:
    """The one finding there is."""
    (one,) = findings
    return one


__all__ = ["NOON", "annotated", "found", "judged", "manifests", "new", "only", "snapshot_of", "workload"]
