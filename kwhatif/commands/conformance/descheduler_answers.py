"""Replays scenarios recorded with the descheduler, with answers in the form of the recording.

The format is described in ``docs/contributing/conformance.md``.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from kwhatif.api.core import Namespace, Node, Pod
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, PodDisruptionBudget, PriorityClass
from kwhatif.cluster.shapes import start_time
from kwhatif.commands.conformance.scenario import read_objects
from kwhatif.descheduling.descheduler import ClusterObjects, Cycle, Descheduler
from kwhatif.descheduling.framework.classified_nodes import Utilization
from kwhatif.descheduling.framework.measured_usage import usage_data
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
    classes = {each.name: each.value for each in objects.list_all(PriorityClass)}
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
    found: dict[str, Any] = {
        "evictions": [_eviction(each) for each in cycle.evictions],
        "protected": cycle.protected,
        "totals": {"total": len(cycle.evictions), "nodes": cycle.by_node, "namespaces": cycle.by_namespace},
    }
    if cycle.refused:
        found["refused"] = [{**_eviction(each), "limit": each.limit} for each in cycle.refused]
    if cycle.utilization:
        found["utilization"] = [_utilization(each) for each in cycle.utilization]
    if cycle.errors:
        found["errors"] = [{"profile": each.profile, "text": each.text} for each in cycle.errors]
    if cycle.skipped:
        found["skipped"] = True
    return found


def _eviction(eviction: Eviction) -> dict[str, Any]:
    return {
        "pod": eviction.pod.key,
        "node": eviction.node,
        "profile": eviction.profile,
        "plugin": eviction.plugin,
    }


def _utilization(utilization: Utilization) -> dict[str, Any]:
    found: dict[str, Any] = {
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
        found["thresholds"] = {name: dict(values) for name, values in utilization.thresholds.items()}
    if utilization.to_move is not None:
        found["toMove"] = dict(utilization.to_move)
    if utilization.stopped:
        found["stopped"] = utilization.stopped
    return found


def _round_half_up(percent: float) -> int:
    """Half goes away from zero, and percentages are never below it."""
    return math.floor(percent + 0.5)
