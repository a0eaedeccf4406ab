"""Replays scenarios recorded with the descheduler, with answers in the form of the recording.

The format is described in ``docs/contributing/conformance.md``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.core import Namespace, Node, Pod
from kwhatif.api.objects import part_of, section
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, PodDisruptionBudget, PriorityClass
from kwhatif.cluster.shapes import start_time
from kwhatif.commands.conformance.scenario import read_objects
from kwhatif.descheduling.descheduler import ClusterObjects, Cycle, Descheduler
from kwhatif.descheduling.framework.measured_usage import usage_data
from kwhatif.descheduling.framework.plugin import Utilization
from kwhatif.descheduling.framework.pod_evictor import Eviction
from kwhatif.descheduling.policy_reading import DeschedulerPolicyError, read_policy
from kwhatif.versions import features_of

KUBERNETES_MINOR = "1.35"
"""Descheduler 0.35 is built with the types of this Kubernetes."""


class RecordedDescheduler(msgspec.Struct, rename="camel"):
    """What the descheduler did. The parts are kept as they were recorded."""

    evictions: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    protected: dict[str, dict[str, list[str]]] = {}
    utilization: list[dict[str, Any]] = []
    totals: dict[str, Any] = {}
    errors: list[dict[str, Any]] = []
    skipped: bool = False
    error: str = ""


class DeschedulerScenario(msgspec.Struct, rename="camel"):
    """One line of a file of such scenarios. ``expected`` may be absent; ``varies`` and ``lags`` tell what is chance."""

    name: str
    now: str
    policy: dict[str, Any]
    objects: list[msgspec.Raw]
    metrics: dict[str, Any] | None = None
    expected: RecordedDescheduler | None = None
    varies: list[str] = []
    lags: list[str] = []


def descheduler_answer(scenario: DeschedulerScenario) -> dict[str, Any]:
    """The scenario's outcome, in the shape of ``expected`` with the scenario's name."""
    objects = read_objects(scenario.objects)
    classes = {priority_class.name: priority_class.value for priority_class in objects.list_all(PriorityClass)}
    try:
        policy = read_policy(scenario.policy, classes)
    except DeschedulerPolicyError as error:
        return {"name": scenario.name, "error": error.problem}
    world = ClusterObjects(
        nodes=list(objects.list_all(Node)),
        pods=objects.list_all(Pod),
        now=start_time(scenario.now),
        features=features_of(KUBERNETES_MINOR),
        namespaces=list(objects.list_all(Namespace)),
        budgets=list(objects.list_all(PodDisruptionBudget)),
        claims=list(objects.list_all(PersistentVolumeClaim)),
        usage=usage_data(scenario.metrics or {}),
    )
    return {"name": scenario.name, **answer_of(Descheduler(policy, world).cycle())}


def answer_of(cycle: Cycle) -> dict[str, Any]:
    """A cycle in the shape in which cycles are recorded."""
    answer: dict[str, Any] = {
        "evictions": [_eviction(eviction) for eviction in cycle.evictions],
        "protected": cycle.protected,
        "totals": {"total": len(cycle.evictions), "nodes": cycle.by_node, "namespaces": cycle.by_namespace},
    }
    if cycle.refused:
        answer["refused"] = [{**_eviction(eviction), "limit": eviction.limit} for eviction in cycle.refused]
    if cycle.utilization:
        answer["utilization"] = [_utilization(utilization) for utilization in cycle.utilization]
    if cycle.errors:
        answer["errors"] = [{"profile": error.profile, "text": error.text} for error in cycle.errors]
    if cycle.skipped:
        answer["skipped"] = True
    return answer


def _eviction(eviction: Eviction) -> dict[str, Any]:
    return {
        "pod": eviction.pod.key,
        "node": eviction.node,
        "profile": eviction.profile,
        "plugin": eviction.plugin,
    }


def _utilization(utilization: Utilization) -> dict[str, Any]:
    shares: dict[str, Any] = {
        "profile": utilization.profile,
        "plugin": utilization.plugin,
        "nodes": {
            name: {
                "class": use.category,
                "usage": dict(use.usage),
                "percent": {resource: _round_half_up(percent) for resource, percent in use.percent.items()},
            }
            for name, use in utilization.nodes.items()
        },
    }
    if utilization.thresholds is not None:
        shares["thresholds"] = {name: dict(values) for name, values in utilization.thresholds.items()}
    if utilization.to_move is not None:
        shares["toMove"] = dict(utilization.to_move)
    if utilization.stopped:
        shares["stopped"] = utilization.stopped
    return shares


def _round_half_up(percent: float) -> int:
    """Half goes away from zero, and percentages are never below it."""
    return math.floor(percent + 0.5)


_REPLICAS = re.compile(r"^owner has \d+ replicas which is less than minReplicas of \d+$")
_DETAILS = re.compile(r': | "')
_WHO, _WHERE = ("profile", "plugin"), ("profile", "plugin", "node")


def descheduling_differences(recorded: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ, with what was recorded and what was answered."""
    left, right = _fields(recorded), _fields(got)
    for field in {**left, **right}:
        within = 0.006 if field == "utilization.thresholds" else 1e-6
        if not _same(left.get(field), right.get(field), within):
            yield field, left.get(field), right.get(field)


def _fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    evictions, refused = answer.get("evictions") or [], answer.get("refused") or []
    totals = section(answer, "totals")
    fields = {
        "error": bool(answer.get("error")),
        "errors": sorted({part_of(error, "profile") for error in answer.get("errors") or ()}),
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
    runs = {f"{part_of(use, 'profile')}/{part_of(use, 'plugin')}": use for use in answer.get("utilization") or ()}
    for part in ("class", "usage", "percent") if runs else ():
        fields[f"utilization.{part}"] = {
            run: {node: use.get(part) for node, use in section(pods, "nodes").items()} for run, pods in runs.items()
        }
    for part in ("thresholds", "toMove", "stopped") if runs else ():
        fields[f"utilization.{part}"] = {run: pods[part] for run, pods in runs.items() if pods.get(part)}
    return fields


def _rows(attempts: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[list[str]]:
    return [[attempt[key] for key in keys] for attempt in attempts]


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
