"""Compares answers with recorded decisions of kube-scheduler, cluster-autoscaler and Karpenter, field by field.

Absent, null and empty are the same; numbers agree within a billionth; of an error only its presence, type or first
words count. Autoscalers: lists are sets unless their order is part of a decision. Karpenter: new NodeClaims are
identified by their pods.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from kwhatif.api.objects import part_of, section
from kwhatif.commands.conformance.compare_kueue import kueue_differences
from kwhatif.commands.conformance.compare_scheduler import (
    Recorded,
    RecordedGroups,
    group_differences,
    scheduler_differences,
)
from kwhatif.commands.conformance.descheduler_answers import RecordedDescheduler, descheduling_differences
from kwhatif.commands.conformance.kueue_answers import RecordedKueue
from kwhatif.commands.conformance.result import Difference, FileAgreement
from kwhatif.errors import InputError

_UP = (
    *("result", "healthy", "error", "placed", "ignored", "unschedulable", "skippedGroups", "options", "chosen"),
    *("plan", "toMinSize", "triggered", "awaiting", "remaining", "events"),
)
_DOWN = ("result", "candidates", "utilization", "unneeded", "unremovable", "removable", "deleted")
_ORDERED = ("unschedulable", "candidates")


def autoscaling_differences(recorded: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ, with what was recorded and what was answered."""
    yield from _differing("", ("templates",), recorded, got)
    yield from _differing("scaleUp.", _UP, section(recorded, "scaleUp"), part_of(got, "scaleUp"))
    nothing: Mapping[str, Any] = {}
    for left, right in zip_longest(recorded.get("scaleDown") or (), part_of(got, "scaleDown"), fillvalue=nothing):
        yield from _differing("scaleDown.", _DOWN, left, right)


def _differing(
    prefix: str, fields: Sequence[str], recorded: Mapping[str, Any], got: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    for field in fields:
        left, right = (_comparable(field, side.get(field)) for side in (recorded, got))
        if not same(left, right):
            yield prefix + field, left, right


def _comparable(field: str, value: Any) -> Any:
    """The value without what does not count."""
    match field:
        case "error":
            return (value or {}).get("type")
        case "options":
            return {part_of(element, "group"): _sort_lists({**element, "group": None}) for element in value or ()}
        case "plan" | "toMinSize":
            return {
                part_of(element, "group"): [part_of(element, "from"), part_of(element, "to")] for element in value or ()
            }
        case "templates":
            return {
                group: _sort_lists({**part, "free": {name: n for name, n in section(part, "free").items() if n}})
                for group, part in (value or {}).items()
            }
        case "removable" | "deleted":
            return value and {part: value.get(part) or [] for part in ("empty", "drain")}
        case "healthy":
            return value
        case "unneeded":
            return value or None
    return (value if field in _ORDERED else _sort_lists(value)) or None


def _sort_lists(value: Any) -> Any:
    """Lists sorted, and what is empty left out."""
    if isinstance(value, Mapping):
        return {key: inner for key, part in value.items() if (inner := _sort_lists(part)) not in (None, [], {}, "")}
    return sorted(value) if isinstance(value, list) else value


def same(left: Any, right: Any) -> bool:
    """Whether two plain values are the same, numbers within a billionth."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left or 0, right or 0, rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)


_METHODS = ("empty", "multi", "single")
_DETAILS = re.compile(r", requirements=| \(|, key |, label |; specify ")
_KINDS = ("Not all pods would schedule", 'label "', "key ")


def karpenter_differences(recorded: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ, with what was recorded and what was answered."""
    left, right = _fields(recorded), _fields(got)
    for field in {**left, **right}:
        if not same(left.get(field), right.get(field)):
            yield field, left.get(field), right.get(field)


def _fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "error": bool(answer.get("error")),
        "placed": section(answer, "placed"),
        "notPending": sorted(answer.get("notPending") or ()),
        "skippedPools": sorted(answer.get("skippedPools") or ()),
        "relaxed": section(answer, "relaxed"),
        **{name: _kinds(answer.get(name) or {}) for name in ("ignored", "errors")},
        **_claims("nodeClaims.", answer.get("nodeClaims") or ()),
    }
    for method in _METHODS:
        decision = section(answer, "disruption").get(method)
        if decision is None:
            continue
        command, prefix = section(decision, "command"), f"disruption.{method}."
        fields |= {
            f"{prefix}candidates": section(decision, "candidates"),
            f"{prefix}budgets": section(decision, "budgets"),
            f"{prefix}command": [command.get("decision") or "", command.get("nodes") or []],
            f"{prefix}savings": command.get("savings") or 0,
            f"{prefix}placed": section(command, "placed"),
            f"{prefix}reasons": {
                node: sorted(set(said)) for node, said in _kinds(section(decision, "reasons")).items()
            },
            **_claims(f"{prefix}replacements.", command.get("replacements") or ()),
        }
    return fields


def _kinds(texts: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {key: sorted(map(_kind, said)) for key, said in texts.items()}


def _kind(text: str) -> str:
    return next((kind for kind in _KINDS if text.startswith(kind)), _DETAILS.split(text)[0].strip())


def _claims(prefix: str, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    by_pod = {
        "order": [[part_of(claim, "nodePool"), part_of(claim, "pods")] for claim in claims],
        "pods": sorted([part_of(claim, "nodePool"), sorted(part_of(claim, "pods"))] for claim in claims),
        "priceOrder": {_name(claim): part_of(claim, "instanceTypes") for claim in claims},
        "requirements": {_name(claim): sorted(map(_requirement, part_of(claim, "requirements"))) for claim in claims},
        "taints": {_name(claim): [sorted(claim.get(k) or ()) for k in ("taints", "startupTaints")] for claim in claims},
        "labels": {_name(claim): [part_of(claim, "labels"), bool(claim.get("minValuesRelaxed"))] for claim in claims},
        "requests": {_name(claim): {k: n for k, n in part_of(claim, "requests").items() if n} for claim in claims},
        "cheapest": {_name(claim): part_of(claim, "cheapest") for claim in claims},
    }
    return {prefix + name: value for name, value in by_pod.items()}


def _name(claim: Mapping[str, Any]) -> str:
    return " ".join(sorted(part_of(claim, "pods")))


def _requirement(requirement: Mapping[str, Any]) -> list[Any]:
    values = sorted(requirement.get("values") or ())
    return [part_of(requirement, "key"), part_of(requirement, "operator"), values, requirement.get("minValues") or 0]


MOST_KEYS = 3
MOST_CHARACTERS = 300


AnyRecording = Recorded | RecordedGroups | RecordedDescheduler | RecordedKueue | dict[str, Any]
"""What a real program was recorded to do; that of autoscalers is a plain value."""


class Tally:
    """How far the scenarios of one file agree, so far.

    Of at most ``show`` scenarios the first difference is kept: what follows in a scenario often follows from it.
    """

    def __init__(self, file: str, show: int) -> None:
        self._file, self._show = file, show
        self._scenarios = self._compared = self._agreeing = self._pods = 0
        self._differing: Counter[str] = Counter()
        self._differences: list[Difference] = []

    def add(
        self,
        name: str,
        expected: AnyRecording | None,
        answer: Mapping[str, Any],
        *,
        pods: int,
        partly: bool = False,
    ) -> None:
        """Count a scenario, and compare its answer if something was expected."""
        self._scenarios += 1
        self._pods += pods
        if expected is None:
            return
        self._compared += 1
        if isinstance(expected, Recorded):
            unlike = list(scheduler_differences(expected, msgspec.convert(answer, Recorded), partly=partly))
        elif isinstance(expected, RecordedGroups):
            unlike = list(group_differences(expected, answer))
        elif isinstance(expected, RecordedKueue):
            unlike = list(kueue_differences(expected, answer))
        elif isinstance(expected, RecordedDescheduler):
            recorded = msgspec.to_builtins(expected)
            unlike = [("", *difference) for difference in descheduling_differences(recorded, answer)]
        else:
            differences = karpenter_differences if "nodeClaims" in answer else autoscaling_differences
            try:
                unlike = [("", *difference) for difference in differences(expected, answer)]
            except (AttributeError, KeyError, TypeError, ValueError):
                # Values of a stranger, compared as they are: whatever has another form than an answer ends up here.
                problem = f"scenario {name}: expected the form of an answer, as --answers writes it"
                raise InputError(problem, source=self._file, place="$.expected") from None
        self._agreeing += not unlike
        self._differing.update(field for _, field in {(pod, field) for pod, field, _, _ in unlike})
        if len(self._differences) < self._show:
            self._differences += [_difference(name, *unlike[0])] if unlike else []

    def result(self) -> FileAgreement:
        """The agreement so far."""
        most_first = sorted(self._differing.items(), key=lambda item: (-item[1], item[0]))
        return FileAgreement(
            file=self._file,
            scenarios=self._scenarios,
            compared=self._compared,
            agreeing=self._agreeing,
            pods=self._pods,
            differing=dict(most_first),
            differences=tuple(self._differences),
        )


def _difference(scenario: str, pod: str, field: str, recorded: Any, got: Any) -> Difference:
    return Difference(scenario=scenario, pod=pod, field=field, text=_brief(recorded, got))


def _brief(recorded: Any, got: Any) -> str:
    """The two values; of two mappings the first keys where they differ."""
    if isinstance(recorded, dict) and isinstance(got, dict):
        keys = sorted(key for key in {*recorded, *got} if recorded.get(key) != got.get(key))
        return "; ".join(f"{key}: {_brief(recorded.get(key), got.get(key))}" for key in keys[:MOST_KEYS])
    left, right = (json.dumps(value, sort_keys=True) for value in (recorded, got))
    if max(len(left), len(right)) > MOST_CHARACTERS:
        # Show where they part, not how they begin.
        same = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
        start = max(0, same - 40)
        left, right = (f"...{text[start : start + MOST_CHARACTERS]}" for text in (left, right))
    return f"recorded {left}, got {right}"
