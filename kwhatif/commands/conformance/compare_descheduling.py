"""Compares answers with recorded decisions of the descheduler, field by field.

Numbers agree within a millionth, thresholds, which are logged with two decimals, within 0.006. Of errors only their
presence counts, of reasons the words before the details.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kwhatif.api.objects import part_of, section

_REPLICAS = re.compile(r"^owner has \d+ replicas which is less than minReplicas of \d+$")
_DETAILS = re.compile(r': | "')
_WHO, _WHERE = ("profile", "plugin"), ("profile", "plugin", "node")


def descheduling_differences(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ, with what was recorded and what was answered."""
    left, right = _fields(wanted), _fields(got)
    for field in {**left, **right}:
        within = 0.006 if field == "utilization.thresholds" else 1e-6
        if not _same(left.get(field), right.get(field), within):
            yield field, left.get(field), right.get(field)


def _fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    evictions, refused = answer.get("evictions") or [], answer.get("refused") or []
    totals = section(answer, "totals")
    found = {
        "error": bool(answer.get("error")),
        "errors": sorted({part_of(each, "profile") for each in answer.get("errors") or ()}),
        "skipped": bool(answer.get("skipped")),
        "order": _rows(evictions, (*_WHO, "pod")),
        "pods": sorted(_rows(evictions, (*_WHERE, "pod"))),
        "perNode": _counts(evictions, _WHERE),
        "perPlugin": _counts(evictions, _WHO),
        "refused": sorted(_rows(refused, (*_WHO, "pod", "limit"))),
        "refusedPerLimit": _counts(refused, (*_WHO, "limit")),
        "protected": {
            profile: {pod: sorted({_kind(text) for text in texts}) for pod, texts in pods.items()}
            for profile, pods in section(answer, "protected").items()
        },
        "total": totals.get("total", 0),
        "totals": [_without_zeros(totals.get(part)) for part in ("nodes", "namespaces")],
    }
    runs = {f"{part_of(each, 'profile')}/{part_of(each, 'plugin')}": each for each in answer.get("utilization") or ()}
    for part in ("class", "usage", "percent") if runs else ():
        found[f"utilization.{part}"] = {
            run: {node: use.get(part) for node, use in section(each, "nodes").items()} for run, each in runs.items()
        }
    for part in ("thresholds", "toMove", "stopped") if runs else ():
        found[f"utilization.{part}"] = {run: each[part] for run, each in runs.items() if each.get(part)}
    return found


def _rows(attempts: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[list[str]]:
    return [[each[key] for key in keys] for each in attempts]


def _counts(attempts: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[list[Any]]:
    counts = Counter(tuple(row) for row in _rows(attempts, keys))
    return sorted([*row, count] for row, count in counts.items())


def _without_zeros(counts: Mapping[str, int] | None) -> dict[str, int]:
    return {key: count for key, count in (counts or {}).items() if count}


def _kind(text: str) -> str:
    return _DETAILS.split(_REPLICAS.sub("owner has fewer replicas than minReplicas", text))[0].strip()


def _same(left: Any, right: Any, within: float) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key], within) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_same(a, b, within) for a, b in zip(left, right, strict=True))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return abs(left - right) <= within * max(1.0, abs(left) if within < 0.001 else 1.0)
    return bool(left == right)
