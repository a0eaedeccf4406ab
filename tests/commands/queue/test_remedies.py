"""Whose end lets a waiting workload start, and which changes do: each was seen to help in a run of its own."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

import kwhatif
from kwhatif.commands.queue.result import QueuedWorkload
from tests.commands.queue.test_queue import cluster_queue, kueue, only, queues, there, workload


def running(name: str, queue: str, cpu: str, since: str, **spec: Any) -> dict[str, Any]:
    """A workload that has been admitted at an hour of the day."""
    made = workload(name, queue, cpu, **spec)
    time = f"2026-01-01T{since}:00:00Z"
    made["metadata"]["creationTimestamp"] = time
    assigned = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": cpu}}
    states = ("QuotaReserved", "Admitted")
    conditions = [{"type": each, "status": "True", "reason": each, "lastTransitionTime": time} for each in states]
    admission = {"clusterQueue": queue, "podSetAssignments": [assigned]}
    return {**made, "status": {"admission": admission, "conditions": conditions}}


def ask(asked: dict[str, Any], *objects: dict[str, Any]) -> QueuedWorkload:
    return only(kwhatif.queue([asked], snapshot=there(*objects)))


def changes(found: QueuedWorkload) -> list[str]:
    return [each.change for each in found.fixes]


def pods(asked: dict[str, Any], count: int) -> dict[str, Any]:
    asked["spec"]["podSets"][0]["count"] = count
    return asked


@pytest.mark.parametrize(
    ("cpu", "freeing"),
    [("1", ["ml/old"]), ("3", ["ml/new"]), ("4", ["ml/old", "ml/new"]), ("9", [])],
    ids=["the longest running goes first", "only who is needed", "both of them", "nobody has so much"],
)
def test_the_fewest_who_free_enough_are_named(cpu: str, freeing: list[str]) -> None:
    made = queues(cluster_queue("a", "4"))
    there_ = (running("old", "a", "1", "01"), running("new", "a", "3", "02"))
    assert [each.workload for each in ask(workload("asked", "a", cpu), *made, *there_).freed_by] == freeing


def test_one_with_a_time_limit_ends_before_one_without() -> None:
    made = queues(cluster_queue("a", "2"))
    limited = running("limited", "a", "1", "05", maximumExecutionTimeSeconds=3600)
    (found,) = ask(workload("asked", "a", "1"), *made, running("old", "a", "1", "01"), limited).freed_by
    assert (found.workload, found.since, found.ends_within) == ("ml/limited", "2026-01-01T05:00:00Z", 3600)


def test_another_queue_of_the_namespace() -> None:
    found = ask(workload("asked", "a", "2"), *queues(cluster_queue("a", "1"), cluster_queue("b", "2")))
    assert changes(found)[0] == "LocalQueue b instead of a"
    assert found.fixes[0].cluster_queue == "b"


def test_fewer_pods_and_partial_admission_find_the_most_that_fit() -> None:
    found = ask(pods(workload("asked", "a", "1"), 9), *queues(cluster_queue("a", "7")))
    assert changes(found) == [
        "partial admission: 7 of 9 pods",
        "7 pods instead of 9",
        "2 more cpu of default in ClusterQueue a",
    ]


def test_the_lowest_class_that_preempts_enough() -> None:
    made = queues(cluster_queue("a", "2", preemption={"withinClusterQueue": "LowerPriority"}))
    classes = [kueue("WorkloadPriorityClass", name, value=value) for name, value in (("high", 100), ("mid", 6))]
    found = ask(workload("asked", "a", "2"), *made, *classes, running("low", "a", "2", "01", priority=5))
    assert changes(found) == ["priority class mid (6)", "2 more cpu of default in ClusterQueue a"]
    assert found.fixes[0].preempts == ("ml/low",)


def test_a_toleration_opens_another_flavor() -> None:
    made = queues(cluster_queue("a", "1"))
    group = made[1]["spec"]["resourceGroups"][0]
    group["flavors"].append({"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "8"}]})
    taints = [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]
    found = ask(workload("asked", "a", "2"), *made, kueue("ResourceFlavor", "spot", spec={"nodeTaints": taints}))
    assert "tolerate spot=yes:NoSchedule of flavor spot" in changes(found)


def test_quota_is_raised_by_what_those_before_it_take_too() -> None:
    first = workload("first", "a", "2")
    first["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    found = ask(workload("asked", "a", "2"), *queues(cluster_queue("a", "1", queueingStrategy="StrictFIFO")), first)
    # 1 is there: the first takes 2, and so does the one that was asked about.
    assert changes(found) == ["3 more cpu of default in ClusterQueue a"]


def test_of_those_whose_changes_were_not_tried_it_is_said() -> None:
    """Three of five are tried, and none where the cluster has many workloads."""
    asked = [workload(f"train-{number}", "a", "4") for number in range(5)]
    result = kwhatif.queue(asked, snapshot=there(*queues(cluster_queue("a", "2"))))
    (gap,) = [gap for gap in result.gaps if "no change was tried" in gap.what]
    assert (gap.what, len(gap.pods)) == ("no change was tried for 2 waiting workloads", 2)
    with patch("kwhatif.commands.queue.remedies.MOST_WORKLOADS", -1):
        result = kwhatif.queue(asked[:1], snapshot=there(*queues(cluster_queue("a", "2"))))
    assert [gap.what for gap in result.gaps if gap.pods] == ["no change was tried for 1 waiting workload"]
    assert not only(result).fixes
