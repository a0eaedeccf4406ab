"""Updates of deployments, told as whole plans."""

from __future__ import annotations

import json

import pytest

from kwhatif.workloads.rollout import plan_rollout
from tests.workloads.builders import Json, Slots, changed, deployment, hash_of, owned, web_pods, workload


def test_a_surge_pod_that_finds_room_lets_one_old_pod_go_after_the_other() -> None:
    old, pods = deployment(replicas=2, surge=1, unavailable=0), web_pods(2)
    slots = Slots(pods, c=1)
    rollout = plan_rollout(old, changed(old), pods, ready=slots.ready)
    assert slots.follow(rollout) == [
        "2 old 1 new: +web-new-1",
        "1 old 2 new (1 old going): +web-new-2 -web-old-2",
        "0 old 2 new (1 old going): -web-old-1",
    ]
    assert not rollout.remaining_work
    assert rollout.removed_pods == ("web-old-2", "web-old-1")
    assert rollout.kept_pods == ()
    assert len(rollout.created_pods) == 2
    assert (rollout.available_before, rollout.least_available) == (2, 2)


def test_a_surge_pod_without_room_deadlocks_a_rollout_that_may_miss_none() -> None:
    old, pods = deployment(replicas=2, surge=1, unavailable=0), web_pods(2)
    slots = Slots(pods)
    rollout = plan_rollout(old, changed(old), pods, ready=slots.ready)
    assert slots.follow(rollout) == ["2 old 1 new: +web-new-1"]
    assert rollout.remaining_work == "0 of 2 updated pods are available, 2 old pods remain"
    assert rollout.waiting == (f"web-{hash_of(changed(old))}-1",)
    assert rollout.kept_pods == ("web-old-1", "web-old-2")


def test_anti_affinity_with_one_pod_a_node_never_finishes_with_max_unavailable_zero() -> None:
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "host"}]}}
    old = workload("Deployment", replicas=3, pod={"affinity": alone})
    old["spec"]["strategy"] = deployment(surge="25%", unavailable=0)["spec"]["strategy"]
    pods = web_pods(3)
    slots = Slots(pods, a=1, b=1, c=1)
    rollout = plan_rollout(old, changed(old), pods, ready=slots.ready)
    assert slots.follow(rollout) == ["3 old 1 new: +web-new-1"]
    assert rollout.remaining_work


def test_the_same_rollout_finishes_when_one_pod_may_be_missing() -> None:
    old, pods = deployment(replicas=3, surge=0, unavailable=1), web_pods(3)
    slots = Slots(pods)
    rollout = plan_rollout(old, changed(old), pods, ready=slots.ready)
    assert slots.follow(rollout) == [
        "2 old 1 new (1 old going): +web-new-1 -web-old-3",
        "1 old 2 new (1 old going): +web-new-2 -web-old-2",
        "0 old 3 new (1 old going): +web-new-3 -web-old-1",
    ]
    assert not rollout.remaining_work
    assert (rollout.available_before, rollout.least_available) == (3, 2)


def test_a_recreated_deployment_waits_until_the_last_old_pod_is_gone() -> None:
    old = workload("Deployment", replicas=2, strategy={"type": "Recreate"})
    pods = web_pods(2)
    slots = Slots(pods)
    rollout = plan_rollout(old, changed(old), pods, ready=slots.ready)
    assert slots.follow(rollout) == [
        "0 old 0 new (2 old going): -web-old-2 -web-old-1",
        "0 old 2 new: +web-new-1 +web-new-2",
    ]
    assert not rollout.remaining_work


def test_a_paused_deployment_keeps_its_pods_whatever_its_template_says() -> None:
    old, pods = deployment(), web_pods(3)
    rollout = plan_rollout(old, changed(old, paused=True), pods)
    assert list(rollout) == []
    assert rollout.remaining_work == "the deployment is paused"


def test_a_paused_deployment_still_changes_its_size_with_old_pods() -> None:
    old, pods = deployment(replicas=2), web_pods(2)
    rollout = plan_rollout(old, changed(old, paused=True, replicas=3), pods)
    assert [(step.live.old, step.live.new) for step in rollout] == [(3, 0)]
    assert rollout.created_pods[0]["spec"]["containers"][0]["image"] == "one"


def test_an_unchanged_deployment_has_nothing_to_do() -> None:
    old, pods = deployment(), web_pods(3)
    rollout = plan_rollout(old, old, pods)
    assert list(rollout) == []
    assert not rollout.remaining_work
    assert rollout.kept_pods == ("web-old-1", "web-old-2", "web-old-3")


def test_fields_that_only_spell_out_defaults_are_no_change() -> None:
    old, pods = deployment(), web_pods(3)
    new = changed(old, "one")
    new["spec"]["template"]["spec"] |= {"dnsPolicy": "ClusterFirst", "securityContext": {}, "restartPolicy": "Always"}
    new["spec"]["template"]["spec"]["containers"][0] |= {
        "imagePullPolicy": "Always",
        "terminationMessagePath": "/dev/termination-log",
    }
    assert list(plan_rollout(old, new, pods)) == []


def test_growing_needs_no_new_replica_set() -> None:
    old, pods = deployment(replicas=1), web_pods(1)
    rollout = plan_rollout(old, deployment(replicas=3), pods)
    assert [step.live.old for step in rollout] == [3]
    assert [pod["metadata"]["generateName"] for pod in rollout.created_pods] == ["web-old-", "web-old-"]


def test_shrinking_takes_pods_without_a_node_before_those_that_run() -> None:
    pods = web_pods(4)
    pods[1]["spec"].pop("nodeName")
    pods[1]["status"] = {"phase": "Pending"}
    rollout = plan_rollout(deployment(replicas=4), deployment(replicas=2), pods)
    assert [step.removes for step in rollout] == [("web-old-2", "web-old-4")]


def test_broken_old_pods_go_first_and_do_not_hold_the_rollout_up() -> None:
    old = deployment(replicas=3, surge=1, unavailable=1)
    pods = [*web_pods(2), owned("ReplicaSet", "web-old", "web-old-3", at="c", ready=False)]
    pods[2]["metadata"]["labels"]["pod-template-hash"] = "old"
    slots = Slots(pods, d=1)
    rollout = plan_rollout(old, changed(old), pods, ready=slots.ready)
    assert slots.follow(rollout) == [
        "2 old 2 new (1 old going): +web-new-1 +web-new-2 -web-old-3",
        "0 old 3 new (2 old going): +web-new-3 -web-old-2 -web-old-1",
    ]


def test_percentages_round_surge_up_and_unavailability_down() -> None:
    old, pods = deployment(replicas=5, surge="30%", unavailable="30%"), web_pods(5)
    first = next(plan_rollout(old, changed(old), pods))
    assert (first.live.old, first.live.new) == (4, 3)


def test_limits_that_both_round_to_zero_let_one_pod_be_missing() -> None:
    old, pods = deployment(replicas=3, surge="0%", unavailable="1%"), web_pods(3)
    first = next(plan_rollout(old, changed(old), pods))
    assert (first.live.old, first.live.new, first.terminating.old) == (2, 1, 1)


def test_the_api_server_may_refuse_the_surge_pod_and_so_stop_the_rollout() -> None:
    old, pods = deployment(replicas=2, surge=1, unavailable=0), web_pods(2)
    rollout = plan_rollout(old, changed(old), pods, admit=lambda pod: None)
    assert list(rollout) == []
    assert rollout.refused_pods == (f"web-{hash_of(changed(old))}-1",)
    assert rollout.remaining_work


def test_quota_that_counts_what_leaves_lets_a_rollout_go_on_without_surge() -> None:
    old, pods = deployment(replicas=2, surge=1, unavailable=1), web_pods(2)
    there = {pod["metadata"]["name"] for pod in pods}

    def admit(pod: Json) -> Json | None:
        if len(there) >= 2:
            return None
        there.add(pod["metadata"]["name"])
        return pod

    rollout = plan_rollout(old, changed(old), pods, admit=admit)
    shapes = []
    for step in rollout:
        shapes.append((step.live.old, step.live.new, len(step.creates)))
        there.difference_update(step.removes)
    assert shapes == [(1, 0, 0), (1, 1, 1), (0, 1, 0), (0, 2, 1)]
    assert not rollout.remaining_work


@pytest.mark.parametrize("kind", ["CronJob", "Pod"])
def test_updates_of_what_runs_once_leave_its_pods_alone(kind: str) -> None:
    group = {"Pod": "v1"}.get(kind, "batch/v1")
    old = {"apiVersion": group, "kind": kind, "metadata": {"name": "x"}, "spec": {"parallelism": 1}}
    assert list(plan_rollout(old, old | {"spec": {"parallelism": 3}}, [])) == []


def test_a_deployment_of_nothing_has_no_pods_left() -> None:
    old, pods = deployment(replicas=3), web_pods(3)
    rollout = plan_rollout(old, changed(old, replicas=0), pods)
    assert [(step.live.old + step.live.new, len(step.removes)) for step in rollout] == [(0, 3)]
    assert not rollout.remaining_work


def test_pods_that_are_terminating_already_are_waited_for_but_not_counted() -> None:
    old = workload("Deployment", replicas=1, strategy={"type": "Recreate"})
    pods = web_pods(2)
    pods[1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    steps = [(step.live.old, step.live.new, step.terminating.old) for step in plan_rollout(old, changed(old), pods)]
    assert steps == [(0, 0, 2), (0, 1, 0)]


def test_a_plan_leaves_the_pods_and_objects_it_was_given_as_they_are() -> None:
    old, pods = deployment(replicas=2), web_pods(2)
    new = changed(old)
    before = json.dumps([old, new, pods])
    list(plan_rollout(old, new, pods))
    assert json.dumps([old, new, pods]) == before
