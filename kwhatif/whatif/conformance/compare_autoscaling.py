"""Compare answers with an autoscaler's recorded decisions, field by field.

Lists are sets but for those whose order is part of a decision; numbers agree within a billionth; of an error only its
type counts; absent, null and empty are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

_UP = (
    *("result", "healthy", "error", "placed", "ignored", "unschedulable", "skippedGroups", "options", "chosen"),
    *("plan", "toMinSize", "triggered", "awaiting", "remaining", "events"),
)
_DOWN = ("result", "candidates", "utilization", "unneeded", "unremovable", "removable", "deleted")
_ORDERED = ("unschedulable", "candidates")


def autoscaling_differences(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ, with what was recorded and what was answered."""
    yield from _differing("", ("templates",), wanted, got)
    yield from _differing("scaleUp.", _UP, wanted.get("scaleUp") or {}, got["scaleUp"])
    nothing: Mapping[str, Any] = {}
    for left, right in zip_longest(wanted.get("scaleDown") or (), got["scaleDown"], fillvalue=nothing):
        yield from _differing("scaleDown.", _DOWN, left, right)


def _differing(
    prefix: str, fields: Sequence[str], wanted: Mapping[str, Any], got: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    for field in fields:
        left, right = (_comparable(field, side.get(field)) for side in (wanted, got))
        if not same(left, right):
            yield prefix + field, left, right


def _comparable(field: str, value: Any) -> Any:
    """The value without what does not count."""
    match field:
        case "error":
            return (value or {}).get("type")
        case "options":
            return {each["group"]: _unordered({**each, "group": None}) for each in value or ()}
        case "plan" | "toMinSize":
            return {each["group"]: [each["from"], each["to"]] for each in value or ()}
        case "templates":
            return {
                group: _unordered({**each, "free": {name: n for name, n in (each.get("free") or {}).items() if n}})
                for group, each in (value or {}).items()
            }
        case "removable" | "deleted":
            return value and {part: value.get(part) or [] for part in ("empty", "drain")}
        case "healthy":
            return value
        case "unneeded":
            return value or None
    return (value if field in _ORDERED else _unordered(value)) or None


def _unordered(value: Any) -> Any:
    """Lists sorted, and what is empty left out."""
    if isinstance(value, Mapping):
        return {key: inner for key, each in value.items() if (inner := _unordered(each)) not in (None, [], {}, "")}
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
