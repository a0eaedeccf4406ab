"""Which pods a replica set deletes first, rule by rule and against each other."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from kwhatif.workloads.objects import is_over, is_ready
from kwhatif.workloads.replica_set import DeletionOrder, node_of
from kwhatif.workloads.rollout import plan_rollout
from tests.workloads.builders import Json, owned, web_pods, workload

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def pod(name: str, at: str = "n", *, ready: bool = True, since: str = "", **more: Any) -> Json:
    made = owned("ReplicaSet", "web", name, at=at, ready=ready)
    if since and ready:
        made["status"]["conditions"][0]["lastTransitionTime"] = since
    made["metadata"] |= {key: more[key] for key in ("creationTimestamp", "annotations", "uid") if key in more}
    made["status"] |= {key: more[key] for key in ("phase", "containerStatuses") if key in more}
    return made


def first(*pods: Json, related: list[Json] | None = None, now: datetime | None = None) -> str:
    crowd = Counter(node_of(pod) for pod in related or () if not is_over(pod))
    (chosen,) = DeletionOrder(list(pods), crowd, lambda pod: pod, is_ready, now).take(1)
    return str(chosen["metadata"]["name"])


def restarts(count: int) -> list[Json]:
    return [{"name": "c", "restartCount": count}]


def cost(value: str) -> Json:
    return {"controller.kubernetes.io/pod-deletion-cost": value}


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        pytest.param(pod("x", at=""), pod("y"), id="one without a node before one that has one"),
        pytest.param(pod("x", phase="Pending", ready=False), pod("y", ready=False), id="pending before running"),
        pytest.param(
            pod("x", phase="Unknown", ready=False), pod("y", ready=False), id="a phase unknown before running"
        ),
        pytest.param(pod("x", ready=False), pod("y"), id="not ready before ready"),
        pytest.param(
            pod("x", ready=False, annotations=cost("9")), pod("y", annotations=cost("1")), id="readiness before cost"
        ),
        pytest.param(pod("x", annotations=cost("-1")), pod("y"), id="the lower deletion cost, none being zero"),
        pytest.param(pod("x"), pod("y", annotations=cost("5")), id="no deletion cost before a positive one"),
        pytest.param(
            pod("x", since="2026-01-09T00:00:00Z"),
            pod("y", since="2026-01-01T00:00:00Z"),
            id="ready for a shorter time",
        ),
        pytest.param(pod("x", containerStatuses=restarts(3)), pod("y", containerStatuses=restarts(1)), id="restarts"),
        pytest.param(
            pod("x", creationTimestamp="2026-01-09T00:00:00Z"),
            pod("y", creationTimestamp="2026-01-01T00:00:00Z"),
            id="made later",
        ),
        pytest.param(pod("x"), pod("y", creationTimestamp="2026-01-01T00:00:00Z"), id="without a time of creation"),
    ],
)
def test_what_goes_first(goes: Json, stays: Json) -> None:
    assert first(goes, stays) == first(stays, goes) == "x"


def test_of_pods_alike_one_goes_that_shares_its_node_with_more_of_the_owners_pods() -> None:
    pods = [pod("x", "a"), pod("y", "b"), pod("z", "a")]
    assert first(pods[1], pods[0], related=pods) == "x"


def test_a_malformed_deletion_cost_counts_as_none() -> None:
    assert first(pod("x", annotations=cost("-1")), pod("y", annotations=cost("-07"))) == "x"


def test_times_of_the_same_power_of_two_are_told_apart_by_uid_alone() -> None:
    one = pod("x", since="2026-01-01T00:00:00Z", uid="b")
    other = pod("y", since="2026-01-01T01:00:00Z", uid="a")
    assert first(one, other) == "y"
    assert first(one, other, now=NOW) == first(other, one, now=NOW) == "y"
    one["metadata"]["uid"], other["metadata"]["uid"] = "a", "b"
    assert first(one, other, now=NOW) == first(other, one, now=NOW) == "x"


@pytest.mark.parametrize(
    ("restarted", "ties"), [(0, [("y", "x")]), (1, [])], ids=["by chance", "told apart by restarts"]
)
def test_a_pod_that_goes_before_an_equal_one_is_a_tie(restarted: int, ties: list[tuple[str, str]]) -> None:
    pods = [pod("x", "a"), pod("y", "b", containerStatuses=restarts(restarted)), pod("z", "c", ready=False)]
    order = DeletionOrder(pods, Counter(), lambda pod: pod, is_ready, None)
    assert [each["metadata"]["name"] for each in order.take(2)] == ["z", "y"]
    assert [tuple(each["metadata"]["name"] for each in pair) for pair in order.ties] == ties


def test_a_replica_set_that_shrinks_removes_the_pods_that_a_real_one_would() -> None:
    pods = [
        pod("steady", "a", since="2026-01-01T00:00:00Z"),
        pod("costly", "b", since="2026-01-09T00:00:00Z", annotations=cost("100")),
        pod("fresh", "c", since="2026-01-09T00:00:00Z"),
        pod("broken", "d", ready=False),
        pod("pending", ""),
    ]
    old, new = (workload("ReplicaSet", replicas=n) for n in (5, 2))
    (step,) = plan_rollout(old, new, pods, now=NOW)
    assert step.removes == ("pending", "broken", "fresh")
    assert (step.live.old, step.terminating.old) == (2, 2)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_a_plan_names_the_pods_that_may_as_well_have_gone_first(kind: str) -> None:
    pods = web_pods(3) if kind == "Deployment" else [pod(name, name) for name in "abc"]
    plan = plan_rollout(workload(kind, replicas=3), workload(kind, replicas=2), pods)
    ((gone,),) = [step.removes for step in plan]
    assert [one["metadata"]["name"] for one, _ in plan.ties] == [gone]


def test_a_deployment_that_shrinks_thins_out_crowded_nodes() -> None:
    old, new = (workload("Deployment", replicas=n) for n in (4, 3))
    assert [step.removes for step in plan_rollout(old, new, web_pods(4, "abcb"))] == [("web-old-4",)]


def test_a_replica_set_with_another_template_makes_new_pods_only_when_it_grows() -> None:
    pods = [pod("x", "a")]
    old, new = workload("ReplicaSet", replicas=1), workload("ReplicaSet", "two", replicas=1)
    assert list(plan_rollout(old, new, pods)) == []
    new["spec"]["replicas"] = 2
    (step,) = plan_rollout(old, new, pods)
    assert (step.live.old, step.live.new) == (1, 1)
