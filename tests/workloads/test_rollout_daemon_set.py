"""Updates of daemon sets, told as whole plans."""

from __future__ import annotations

from typing import Any

from kwhatif.workloads.rollout import plan_rollout
from tests.workloads.builders import Json, Slots, changed, hash_of, names, node, owned, workload


def daemon_set(image: str = "one", surge: int | str = 0, unavailable: int | str = 1, **spec: Any) -> Json:
    limits = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return workload("DaemonSet", image, name="ds", **{"updateStrategy": limits, **spec})


def ds_pods(of: Json, nodes: str, *, unready: str = "") -> list[Json]:
    labels = {"controller-revision-hash": hash_of(of), "pod-template-generation": "1"}
    return [owned("DaemonSet", "ds", f"ds-old-{n}", at=n, ready=n not in unready, labels=labels) for n in nodes]


NODES = [node(name) for name in "abc"]


def test_one_node_after_the_other_loses_its_pod_and_gets_a_new_one() -> None:
    old = daemon_set()
    pods = ds_pods(old, "abc")
    slots = Slots(pods)
    rollout = plan_rollout(old, changed(old), pods, NODES, ready=slots.ready)
    assert slots.follow(rollout) == [
        "2 old 0 new (1 old going): -ds-old-a",
        "2 old 1 new: +ds-1",
        "1 old 1 new (1 old going): -ds-old-b",
        "1 old 2 new: +ds-2",
        "0 old 2 new (1 old going): -ds-old-c",
        "0 old 3 new: +ds-3",
    ]
    assert not rollout.remaining_work


def test_a_surge_makes_the_new_pod_beside_the_old_one() -> None:
    old = daemon_set(surge=1, unavailable=0)
    pods = ds_pods(old, "ab")
    slots = Slots(pods, a=2, b=2)
    rollout = plan_rollout(old, changed(old), pods, NODES[:2], ready=slots.ready)
    assert slots.follow(rollout) == [
        "2 old 1 new: +ds-1",
        "1 old 2 new (1 old going): +ds-2 -ds-old-a",
        "0 old 2 new (1 old going): -ds-old-b",
    ]


def test_a_surge_without_room_on_the_first_node_deadlocks() -> None:
    old = daemon_set(surge=1, unavailable=0)
    pods = ds_pods(old, "ab")
    slots = Slots(pods)
    rollout = plan_rollout(old, changed(old), pods, NODES[:2], ready=slots.ready)
    assert slots.follow(rollout) == ["2 old 1 new: +ds-1"]
    assert rollout.remaining_work == "no updated and available pod on: a, b"


def test_a_new_pod_that_never_gets_ready_stops_the_update_after_its_node() -> None:
    old = daemon_set()
    pods = ds_pods(old, "abc")
    rollout = plan_rollout(old, changed(old), pods, NODES, ready=lambda pod: False)
    assert [(step.live.old, step.live.new) for step in rollout] == [(2, 0), (2, 1)]
    assert rollout.kept_pods == ("ds-old-b", "ds-old-c")


def test_percentages_of_unavailability_are_rounded_up() -> None:
    old = daemon_set(unavailable="34%")
    first = next(plan_rollout(old, changed(old), ds_pods(old, "abc"), NODES))
    assert first.removes == ("ds-old-a", "ds-old-b")


def test_old_pods_that_are_not_ready_are_replaced_at_once_and_use_up_the_limit() -> None:
    old = daemon_set()
    first = next(plan_rollout(old, changed(old), ds_pods(old, "abc", unready="c"), NODES))
    assert first.removes == ("ds-old-c",)


def test_tainted_nodes_get_no_pod_and_keep_one_that_tolerates_staying() -> None:
    old = daemon_set()
    nodes = [
        node("a"),
        node("b", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("c", taints=[{"key": "k", "effect": "NoExecute"}]),
    ]
    rollout = plan_rollout(old, old, ds_pods(old, "bc"), nodes)
    (step,) = rollout
    assert step.removes == ("ds-old-c",)
    assert len(step.creates) == 1
    assert rollout.kept_pods == ("ds-old-b",)
    assert not rollout.remaining_work


def test_a_node_selector_that_no_longer_fits_removes_pods_at_once() -> None:
    old = daemon_set()
    new = changed(old)
    new["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    nodes = [node("a", labels={"disk": "ssd"}), node("b")]
    rollout = plan_rollout(old, new, ds_pods(old, "ab"), nodes)
    assert [step.removes for step in rollout if step.removes] == [("ds-old-b",), ("ds-old-a",)]
    assert not rollout.remaining_work


def test_on_delete_only_fills_nodes_without_a_pod() -> None:
    old = daemon_set(updateStrategy={"type": "OnDelete"})
    rollout = plan_rollout(old, changed(old), ds_pods(old, "a"), NODES[:2])
    (step,) = rollout
    assert (names(step.creates), step.removes) == (["ds-1"], ())
    assert not rollout.remaining_work


def test_new_pods_count_the_template_generation_up() -> None:
    old = daemon_set()
    rollout = plan_rollout(old, changed(old), [], NODES[:1])
    labels = next(rollout).creates[0]["metadata"]["labels"]
    assert labels["pod-template-generation"] == "2"
    assert labels["controller-revision-hash"] == hash_of(changed(old))


def test_of_two_pods_on_a_node_the_younger_goes() -> None:
    old = daemon_set()
    pods = ds_pods(old, "a") + ds_pods(old, "a")
    pods[0]["metadata"] |= {"name": "young", "creationTimestamp": "2026-02-01T00:00:00Z"}
    pods[1]["metadata"] |= {"name": "aged", "creationTimestamp": "2026-01-01T00:00:00Z"}
    assert [step.removes for step in plan_rollout(old, old, pods, NODES[:1])] == [("young",)]


def test_a_pod_that_the_api_server_refuses_stops_the_update_and_costs_no_further_pod() -> None:
    old = daemon_set(unavailable=2)
    rollout = plan_rollout(old, changed(old), ds_pods(old, "ab"), NODES, admit=lambda pod: None)
    assert list(rollout) == []
    assert rollout.refused_pods == ("ds-1",)
    assert rollout.kept_pods == ("ds-old-a", "ds-old-b")
