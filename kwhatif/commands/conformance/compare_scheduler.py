"""Compares answers with recorded decisions of kube-scheduler about pods and about groups of pods, field by field.

The order of reasons does not count, a plugin that is absent from a node's scores counts as 0, of an error only its
presence counts, and no plugin is compared where none was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import msgspec

from kwhatif.api.document_numbers import Measure, Number
from kwhatif.api.objects import part_of

_OF_QUEUE = ("queueOrder", "timeouts", "stopped", "final")
_CYCLE = (
    *("group", "pod", "members", "attempts", "placements", "placementScores", "placement", "preemption", "result"),
    *("condition", "failed", "bound", "deleted", "claims", "again"),
)
_STEP = ("nodeOrder", "gated", "pending", "podGroups")
_PARTIAL = frozenset({"rejected", "scores"})
"""Where ties are real, a recording may leave these out."""

Differing = tuple[str, str, Any, Any]
"""Where (a pod, or ``step 0 cycle 2``), which field, what was recorded, what was answered."""


class RecordedStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """A refusal of one node, or of the pod."""

    code: str | None = None
    plugin: str | None = None
    reasons: list[str] | None = None


class RecordedPermit(msgspec.Struct):
    """What Permit plugins answered, if not that the pod may go on."""

    code: str
    seconds: Measure | None = None
    plugin: str | None = None


class RecordedRejection(msgspec.Struct):
    """A waiting pod that was sent back."""

    pod: str
    message: str


class RecordedTimeout(msgspec.Struct):
    """A permit that timed out, and all it dragged along."""

    seconds: Measure
    pod: str
    rejected: list[RecordedRejection] = []


class RecordedAttempt(msgspec.Struct, rename="camel"):
    """One scheduling cycle, as ``docs/contributing/conformance.md`` describes it."""

    pre_filter: RecordedStatus | None = None
    pre_filter_nodes: list[str] | None = None
    rejected: dict[str, RecordedStatus] | None = None
    feasible: list[str] | None = None
    scores: dict[str, dict[str, Number]] | None = None
    totals: dict[str, Number] | None = None
    sampled: list[str] | None = None
    evaluated: Number | None = None
    winners: list[str] | None = None
    selected: str | None = None
    message: str | None = None
    nominated: str | None = None
    victims: list[str] | None = None
    allocations: dict[str, list[str]] | None = None
    hint: str | None = None
    hinted: bool | None = None
    error: str | None = None
    step: Number | None = None
    permit: RecordedPermit | None = None
    outcome: str | None = None
    allowed: list[str] | None = None
    rejected_waiting: list[RecordedRejection] | None = None


class RecordedPod(msgspec.Struct):
    """The attempts of one pod."""

    pod: str
    attempts: list[RecordedAttempt] = []


class Recorded(msgspec.Struct, rename="camel"):
    """What a real scheduler did in a scenario."""

    pods: list[RecordedPod] = []
    node_order: list[str] | None = None
    queue_order: list[str] | None = None
    timeouts: list[RecordedTimeout] | None = None
    stopped: bool | None = None
    final: dict[str, str | None] | None = None


class RecordedStep(msgspec.Struct, rename="camel"):
    """One step with groups: its cycles, as plain values, and how it left the queue."""

    cycles: list[dict[str, Any]] = []
    node_order: list[str] | None = None
    gated: list[str] | None = None
    pending: list[str] | None = None
    pod_groups: dict[str, list[dict[str, Any]]] | None = None


class RecordedGroups(msgspec.Struct):
    steps: list[RecordedStep] = []


def scheduler_differences(expected: Recorded, answer: Recorded, *, partly: bool = False) -> Iterator[Differing]:
    """The fields that differ, pod by pod. ``partly``: ``_PARTIAL`` may be absent."""
    wanted, got = msgspec.to_builtins(expected), msgspec.to_builtins(answer)
    if expected.node_order is not None:
        yield from _fields("", ("nodeOrder",), wanted, got)
    if expected.queue_order is not None:
        yield from _fields("", _OF_QUEUE, wanted, got)
    answered = {recorded_pod.pod: recorded_pod.attempts for recorded_pod in answer.pods}
    for pod in expected.pods:
        name, others = pod.pod, msgspec.to_builtins(answered.get(pod.pod, []))
        attempts = msgspec.to_builtins(pod.attempts)
        if len(attempts) != len(others):
            yield name, "attempts", len(attempts), len(others)
        for want, have in zip(attempts, others, strict=False):
            left_out = {field for field in _PARTIAL if partly and want.get(field) is None}
            yield from _fields(name, [field for field in want if field not in left_out], want, have)


def group_differences(expected: RecordedGroups, answer: Mapping[str, Any]) -> Iterator[Differing]:
    """The fields that differ, cycle by cycle."""
    wanted, got = part_of(msgspec.to_builtins(expected), "steps"), part_of(answer, "steps")
    if len(wanted) != len(got):
        yield "", "steps", len(wanted), len(got)
        return
    for number, (want, have) in enumerate(zip(wanted, got, strict=True)):
        place = f"step {number}"
        yield from _fields(place, _STEP, want, have)
        cycles, others = part_of(want, "cycles"), part_of(have, "cycles")
        if len(cycles) != len(others):
            yield place, "cycles", [_subject(cycle) for cycle in cycles], [_subject(member) for member in others]
            continue
        for k, (left, right) in enumerate(zip(cycles, others, strict=True)):
            yield from _fields(f"{place} cycle {k}", _CYCLE, left, right)


def _subject(cycle: Mapping[str, Any]) -> str:
    return str(cycle.get("group") or cycle.get("pod"))


def _fields(place: str, names: Sequence[str], want: Mapping[str, Any], have: Mapping[str, Any]) -> Iterator[Differing]:
    for name in names:
        recorded = want.get(name)
        if recorded != have.get(name):
            left, right = (_comparable(name, side.get(name), recorded) for side in (want, have))
            if left != right:
                yield place, name, left, right


def _comparable(name: str, value: Any, recorded: Any) -> Any:
    """The value without what does not count, beside what was ``recorded``."""
    match name:
        case "error":
            return bool(value)
        case "scores" | "placementScores":
            scores = {node: {plugin: n for plugin, n in own.items() if n} for node, own in (value or {}).items()}
            return scores or None
        case "rejected":
            of_node = recorded or {}
            return {node: _status(status, of_node.get(node)) for node, status in (value or {}).items()} or None
        case "preFilter":
            return value and _status(value, recorded)
        case "rejectedWaiting":
            return {part_of(element, "pod"): part_of(element, "message") for element in value or ()} or None
        case "attempts" | "placements":
            nothing: Mapping[str, Any] = {}
            return [_parts(*pair) for pair in zip(value or (), chain(recorded or (), repeat(nothing)), strict=False)]
    return value or None


def _parts(value: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    parts = {name: _comparable(name, part, recorded.get(name)) for name, part in value.items()}
    return {name: part for name, part in parts.items() if part}


def _status(status: Mapping[str, Any], recorded: Mapping[str, Any] | None) -> dict[str, Any]:
    """A status with its reasons sorted; without the plugin if none was recorded."""
    plain = {"code": status.get("code") or "", "reasons": sorted(status.get("reasons") or ())}
    named = recorded is None or recorded.get("plugin") is not None
    return {**plain, "plugin": status.get("plugin")} if named else plain
