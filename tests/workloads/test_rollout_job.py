"""Updates of Jobs: more or fewer pods at a time, suspended and resumed."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.workloads.job import INDEX
from kwhatif.workloads.rollout import Plan, plan_rollout
from tests.workloads.builders import Json, Slots, job, names, owned


def work_pod(number: int, *, at: str = "", index: bool = True) -> Json:
    pod = owned("Job", "work", f"work-{number}", at=at)
    pod["metadata"]["annotations"] = {INDEX: str(number)} if index else {}
    return pod


def plan_update(pods: list[Json], status: Json | None = None, **spec: Any) -> Plan:
    old = job(parallelism=3, completions=6) | {"status": status or {}}
    new = job(**{"parallelism": 3, "completions": 6, **spec})
    return plan_rollout(old, new, pods, ready=Slots.ready)


def indexes_of(plan: Plan) -> list[str]:
    return [pod["metadata"]["annotations"][INDEX] for step in plan for pod in step.creates]


@pytest.mark.parametrize(
    ("parallelism", "status", "made"),
    [(5, {}, 2), (9, {}, 3), (9, {"succeeded": 2}, 1), (3, {}, 0), (9, {"succeeded": 4}, 0)],
)
def test_a_job_that_may_run_more_pods_makes_as_many_as_its_completions_leave(
    parallelism: int, status: Json, made: int
) -> None:
    plan = plan_update([work_pod(number, at="n1") for number in range(3)], status, parallelism=parallelism)
    assert sum(len(step.creates) for step in plan) == made


def test_of_a_job_that_may_run_fewer_pods_those_without_a_node_go_first() -> None:
    plan = plan_update([work_pod(0, at="n1"), work_pod(1), work_pod(2, at="n2")], parallelism=2)
    assert [step.removes for step in plan] == [("work-1",)]
    assert not plan.remaining_work


def test_a_suspended_job_loses_its_pods_and_gets_them_back_once_it_is_resumed() -> None:
    pods = [work_pod(number, at="n1") for number in range(3)]
    assert [len(step.removes) for step in plan_update(pods, suspend=True)] == [3]
    assert [len(step.creates) for step in plan_update([], suspend=False)] == [3]


def test_new_pods_take_the_lowest_indexes_that_are_free_and_have_not_succeeded() -> None:
    status = {"succeeded": 2, "completedIndexes": "0,2"}
    plan = plan_update([work_pod(3, at="n1")], status, completionMode="Indexed", completions=8, parallelism=3)
    assert indexes_of(plan) == ["1", "4"]


def test_indexes_that_a_status_spells_wrongly_are_left_out() -> None:
    status = {"succeeded": 4, "completedIndexes": "x,0-1,3-,5"}
    plan = plan_update([], status, completionMode="Indexed", completions=8, parallelism=3)
    assert indexes_of(plan) == ["2", "3", "4"]


def test_pods_of_indexes_that_an_indexed_job_has_no_more_are_deleted() -> None:
    pods = [work_pod(number, at="n1") for number in range(3)]
    plan = plan_update(pods, completionMode="Indexed", completions=2, parallelism=2)
    assert [step.removes for step in plan] == [("work-2",)]


def test_a_job_that_replaces_failed_pods_only_waits_for_those_that_leave() -> None:
    leaving = work_pod(0, at="n1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    plan = plan_update([leaving], parallelism=2, podReplacementPolicy="Failed")
    assert [len(step.creates) for step in plan] == [1, 1]


@pytest.mark.parametrize(
    ("status", "spec"),
    [
        ({"conditions": [{"type": "Failed", "status": "True"}]}, {}),
        ({"conditions": [{"type": "Complete", "status": "True"}]}, {}),
        ({}, {"managedBy": "example.com/other"}),
    ],
)
def test_a_job_that_has_ended_or_that_others_manage_keeps_its_pods(status: Json, spec: Json) -> None:
    pods = [work_pod(0, at="n1"), work_pod(1, at="n1")]
    plan = plan_update(pods, status, parallelism=1, **spec)
    assert list(plan) == []
    assert not plan.remaining_work


def test_a_job_whose_new_pod_finds_no_node_says_how_many_run() -> None:
    pods = [work_pod(number, at="n1") for number in range(3)]
    plan = plan_update(pods, parallelism=5)
    (step,) = plan
    assert len(names(step.creates)) == 2
    assert plan.remaining_work == "3 of 5 pods run"
