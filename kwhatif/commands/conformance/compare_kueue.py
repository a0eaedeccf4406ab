"""Compares answers with recorded decisions of Kueue, field by field.

Quantities count by value. The order of the heads of a cycle counts within a tree of quotas and not otherwise, since the
program takes heads from a map; that of targets does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.commands.conformance.kueue_answers import RecordedKueue

Differing = tuple[str, str, Any, Any]
"""Where, the field, what was recorded and what was answered."""

_HEAD = ("result", "mode", "borrowing", "requeue", "message")
_QUEUE = ("active", "reserving", "admitted", "pending", "queue", "weightedShare")
_WORKLOAD = ("status", "active", "clusterQueue", "conditions", "checks")


def kueue_differences(expected: RecordedKueue, answer: Mapping[str, Any]) -> Iterator[Differing]:
    """The fields that differ, step by step."""
    for part in ("made", "refused"):
        wanted: Mapping[str, Any] = getattr(expected, part) or {}
        yield from _by_key(part, wanted, answer.get(part) or {}, _job_workload if part == "made" else _plain)
    yield from _compare("", "failed", sorted(expected.failed or {}), sorted(section(answer, "failed")))
    yield from _compare("", "steps", len(expected.steps), len(part_of(answer, "steps")))
    for k, (wanted, got) in enumerate(zip(expected.steps, part_of(answer, "steps"), strict=False)):
        for where, field, left, right in _step(wanted, got):
            yield f"step {k} {where}".rstrip(), field, left, right


def _plain(value: Any) -> Any:
    return value


def _by_key(field: str, recorded: Mapping[str, Any], got: Mapping[str, Any], shown: Any) -> Iterator[Differing]:
    for key in sorted(recorded.keys() | got.keys()):
        yield from _compare(key, field, shown(recorded.get(key) or {}), shown(got.get(key) or {}))


def _compare(where: str, field: str, recorded: Any, got: Any) -> Iterator[Differing]:
    if recorded != got:
        yield where, field, recorded, got


def _amount(text: str) -> Quantity | str:
    try:
        return Quantity.parse(text)
    except QuantityError:
        return text


def _amounts(texts: Mapping[str, str] | None) -> dict[str, Quantity | str]:
    """Those that are not zero."""
    amounts = {name: _amount(text) for name, text in (texts or {}).items()}
    return {name: amount for name, amount in amounts.items() if amount != Quantity.from_units(0)}


def _job_workload(workload: Mapping[str, Any]) -> Any:
    sets = [{**pod_set, "requests": _amounts(pod_set.get("requests"))} for pod_set in workload.get("podSets") or ()]
    return {**workload, "podSets": sets}


def _pod_sets(sets: Sequence[Mapping[str, Any]] | None) -> list[Any]:
    return [
        (
            part_of(pod_set, "name"),
            pod_set.get("count"),
            section(pod_set, "flavors"),
            _amounts(pod_set.get("usage")),
            pod_set.get("topology"),
        )
        for pod_set in sets or ()
    ]


def _step(recorded: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[Differing]:
    for key in sorted(part_of(recorded, "workloads").keys() | part_of(got, "workloads").keys()):
        left, right = part_of(recorded, "workloads").get(key) or {}, part_of(got, "workloads").get(key) or {}
        for field in _WORKLOAD:
            yield from _compare(key, field, left.get(field), right.get(field))
        yield from _compare(key, "podSets", _pod_sets(left.get("podSets")), _pod_sets(right.get("podSets")))
    for key in sorted(part_of(recorded, "clusterQueues").keys() | part_of(got, "clusterQueues").keys()):
        left, right = part_of(recorded, "clusterQueues").get(key) or {}, part_of(got, "clusterQueues").get(key) or {}
        for field in _QUEUE:
            yield from _compare(key, field, left.get(field), right.get(field))
        aside = [sorted(side.get("inadmissible") or ()) for side in (left, right)]
        yield from _compare(key, "inadmissible", *aside)
        yield from _compare(key, "usage", _queue_usage(left.get("usage")), _queue_usage(right.get("usage")))
    yield from _by_key("cohorts", section(recorded, "cohorts"), section(got, "cohorts"), _cohort)
    yield from _by_key("localQueues", part_of(recorded, "localQueues"), part_of(got, "localQueues"), _plain)
    yield from _compare("", "cycles", _heads(part_of(recorded, "cycles")), _heads(part_of(got, "cycles")))
    for k, (left, right) in enumerate(zip(part_of(recorded, "cycles"), part_of(got, "cycles"), strict=False)):
        for where, field, *values in _cycle(left, right):
            yield f"cycle {k} {where}".rstrip(), field, values[0], values[1]


def _queue_usage(usage: Mapping[str, Mapping[str, Mapping[str, str]]] | None) -> Any:
    by_queue = {
        (flavor, resource): _amounts(amounts)
        for flavor, of_flavor in (usage or {}).items()
        for resource, amounts in of_flavor.items()
    }
    return {key: amounts for key, amounts in by_queue.items() if amounts}


def _cohort(cohort: Mapping[str, Any]) -> Any:
    usage = {
        (flavor, resource): tuple(map(_amount, text.split("/")))
        for flavor, of_flavor in section(cohort, "usage").items()
        for resource, text in of_flavor.items()
    }
    return usage, cohort.get("weightedShare")


def _heads(cycles: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Who was tried, cycle by cycle."""
    return [sorted(part_of(head, "workload") for head in cycle.get("heads") or ()) for cycle in cycles]


def _cycle(recorded: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[Differing]:
    right = {part_of(head, "workload"): head for head in got.get("heads") or ()}
    for head in recorded.get("heads") or ():
        other = right.get(part_of(head, "workload"))
        if other is None:
            continue
        key = part_of(head, "workload")
        for field in _HEAD:
            yield from _compare(key, field, head.get(field) or None, other.get(field) or None)
        yield from _compare(key, "assignment", _pod_sets(head.get("podSets")), _pod_sets(other.get("podSets")))
        yield from _compare(key, "targets", _targets(head), _targets(other))
    for field in ("evicted", "requeued"):
        yield from _compare("", field, recorded.get(field) or None, got.get(field) or None)


def _targets(head: Mapping[str, Any]) -> list[Any]:
    return sorted(msgspec.json.encode(target, order="sorted") for target in head.get("targets") or ())
