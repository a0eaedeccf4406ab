"""Compares answers with recorded decisions about pod groups.

A plugin that is absent from a node's scores counts as 0; the order of a node's reasons does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kwhatif.api.objects import part_of

CYCLE_FIELDS = (
    *("group", "pod", "members", "attempts", "placements", "placementScores", "placement", "preemption", "result"),
    *("condition", "failed", "bound", "deleted", "claims", "again"),
)
STEP_FIELDS = ("nodeOrder", "gated", "pending", "podGroups")


class RecordedStep(msgspec.Struct, rename="camel"):
    """One step: its cycles, as plain values, and how it left the queue."""

    cycles: list[dict[str, Any]] = []
    node_order: list[str] | None = None
    gated: list[str] | None = None
    pending: list[str] | None = None
    pod_groups: dict[str, list[dict[str, Any]]] | None = None


class RecordedGroups(msgspec.Struct):
    steps: list[RecordedStep] = []


def group_differences(expected: RecordedGroups, answer: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """Where (``step 0 cycle 2``), which field, what was recorded, what was answered."""
    wanted, got = part_of(msgspec.to_builtins(expected), "steps"), part_of(answer, "steps")
    if len(wanted) != len(got):
        yield "", "steps", len(wanted), len(got)
        return
    for number, (want, have) in enumerate(zip(wanted, got, strict=True)):
        place = f"step {number}"
        yield from _fields(place, STEP_FIELDS, want, have)
        cycles, others = part_of(want, "cycles"), part_of(have, "cycles")
        if len(cycles) != len(others):
            yield place, "cycles", [_subject(each) for each in cycles], [_subject(each) for each in others]
            continue
        for k, (left, right) in enumerate(zip(cycles, others, strict=True)):
            yield from _fields(f"{place} cycle {k}", CYCLE_FIELDS, left, right)


def _subject(cycle: Mapping[str, Any]) -> str:
    return str(cycle.get("group") or cycle.get("pod"))


def _fields(
    place: str, names: tuple[str, ...], want: Mapping[str, Any], have: Mapping[str, Any]
) -> Iterator[tuple[str, str, Any, Any]]:
    for name in names:
        left, right = _comparable(name, want.get(name)), _comparable(name, have.get(name))
        if left != right:
            yield place, name, left, right


def _comparable(name: str, value: Any) -> Any:
    """The value without what does not count."""
    if name in ("scores", "placementScores"):
        some = {node: {plugin: score for plugin, score in own.items() if score} for node, own in (value or {}).items()}
        return some or None
    if name == "rejected":
        return {node: _sorted_reasons(status) for node, status in (value or {}).items()}
    if name == "preFilter" and value:
        return _sorted_reasons(value)
    if name == "attempts":
        return [_of_attempt(each) for each in value or ()]
    if name == "placements":
        return [{**each, "attempts": _comparable("attempts", each.get("attempts"))} for each in value or ()]
    return value or None


def _sorted_reasons(status: Mapping[str, Any]) -> dict[str, Any]:
    return {**status, "reasons": sorted(status.get("reasons") or ())}


def _of_attempt(attempt: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: _comparable(name, value) for name, value in attempt.items()}
    return {name: value for name, value in found.items() if value not in (None, [], {})}
