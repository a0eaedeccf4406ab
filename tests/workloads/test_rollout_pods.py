"""Updates of objects whose operators replace pods: told as stories, on nodes with room for so many pods each."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.workloads.objects import name_of
from kwhatif.workloads.rollout import Plan
from kwhatif.workloads.rollout_canary import CanaryRollout, CanaryStep, canary_and_stable, steps_of
from kwhatif.workloads.rollout_operators import operator_pods
from kwhatif.workloads.rollout_pods import PodsRollout, alike
from kwhatif.workloads.workload_kind import UpdateOrder, child_pod
from tests.workloads.builders import Json, Slots, owned, template

OWNER = {"apiVersion": "example.com/v1", "kind": "Store", "metadata": {"name": "db", "namespace": "default"}}


def there(*names: str) -> list[Json]:
    """Pods of the first template, that run."""
    return [owned("Store", "db", name, at=f"n{place}") for place, name in enumerate(names)]


def wanted(image: str, *names: str) -> list[tuple[Json, tuple[Json, ...]]]:
    return [(child_pod(OWNER, template(image, labels={"app": "web"}), name), ()) for name in names]


def story(
    order: UpdateOrder, pods: list[Json], new: list[tuple[Json, tuple[Json, ...]]], together: str = "", **room: int
) -> list[str]:
    slots = Slots(pods, **(room or {f"n{place}": 2 for place in range(len(pods))}))
    plan = Plan(PodsRollout.of("Store db", pods, new, order, lambda pod: pod, together), slots.ready, lambda pod: None)
    told = slots.follow(plan)
    return [*told, *([plan.remaining_work] if plan.remaining_work else [])]


def test_one_goes_and_comes_back_before_the_next_one_goes() -> None:
    assert story(UpdateOrder.one_by_one, there("db-1", "db-2"), wanted("two", "db-1", "db-2")) == [
        "1 old 0 new (1 old going): -db-2",
        "1 old 1 new: +db-2",
        "0 old 1 new (1 old going): -db-1",
        "0 old 2 new: +db-1",
    ]


def test_all_go_at_once_and_come_when_they_have_gone() -> None:
    assert story(UpdateOrder.recreate, there("db-1", "db-2"), wanted("two", "db-1", "db-2")) == [
        "0 old 0 new (2 old going): -db-1 -db-2",
        "0 old 2 new: +db-1 +db-2",
    ]


def test_all_new_ones_come_before_the_old_ones_go() -> None:
    assert story(UpdateOrder.new_first, there("a", "b"), wanted("two", "web-", "web-")) == [
        "2 old 2 new: +web-1 +web-2",
        "0 old 2 new (2 old going): -a -b",
    ]


def test_what_has_no_room_is_told_and_the_old_ones_stay() -> None:
    assert story(UpdateOrder.new_first, there("a"), wanted("two", "web-"), n0=1) == [
        "1 old 1 new: +web-1",
        "0 of 1 pods of Store db are available, 1 old pod remains",
    ]


def test_pods_that_are_as_they_should_be_stay_and_only_more_of_them_come() -> None:
    assert story(UpdateOrder.one_by_one, there("db-1"), wanted("one", "db-1", "db-2")) == ["0 old 2 new: +db-2"]


def test_pods_of_jobs_stay_whatever_changes() -> None:
    assert story(UpdateOrder.left, there("job-0"), wanted("two", "job-0")) == []


def test_pods_of_a_group_are_replaced_together() -> None:
    pods, new = there("llm-0", "llm-0-1", "llm-1", "llm-1-1"), wanted("two", "llm-0", "llm-0-1", "llm-1", "llm-1-1")
    for pod in (*pods, *(body for body, _ in new)):
        pod["metadata"]["labels"]["group"] = name_of(pod)[4]
    assert story(UpdateOrder.one_by_one, pods, new, "group") == [
        "2 old 0 new (2 old going): -llm-1 -llm-1-1",
        "2 old 2 new: +llm-1 +llm-1-1",
        "0 old 2 new (2 old going): -llm-0 -llm-0-1",
        "0 old 4 new: +llm-0 +llm-0-1",
    ]


def test_an_image_makes_another_pod_and_a_hash_does_not() -> None:
    (pod,), ((body, _),) = there("db-1"), wanted("one", "db-1")
    body["metadata"]["labels"]["pod-template-hash"] = "abcde"
    assert alike(pod, body)
    body["spec"]["containers"][0]["image"] = "two"
    assert not alike(pod, body)


def test_pods_are_found_by_their_owners_owners() -> None:
    world = ObjectStore()
    service = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "fruit", "namespace": "default"}}
    reference = {"kind": "RayService", "name": "fruit", "controller": True}
    metadata = {"name": "fruit-x", "namespace": "default", "ownerReferences": [reference]}
    world.put({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata})
    for pod in (owned("RayCluster", "fruit-x", "mine"), owned("RayCluster", "other", "theirs")):
        world.put(pod)
    assert [name_of(pod) for pod in operator_pods(service, [], world)] == ["mine"]


# --- canaries


def rollout(steps: list[Json], *, replicas: int = 4, **canary: Any) -> Json:
    spec = {"replicas": replicas, "strategy": {"canary": {"steps": steps, **canary}}}
    return {"kind": "Rollout", "metadata": {"name": "web", "namespace": "default"}, "spec": spec}


def canary_story(obj: Json, pods: list[Json]) -> list[str]:
    slots = Slots(pods, spare=10, **{f"n{place}": 1 for place in range(len(pods))})
    new = wanted("two", *["web-"] * obj["spec"]["replicas"])
    return slots.follow(Plan(CanaryRollout.of(obj, pods, new, lambda pod: pod), slots.ready, lambda pod: None))


def test_a_canary_goes_by_its_steps() -> None:
    obj = rollout([{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}], maxSurge=1, maxUnavailable=0)
    assert canary_story(obj, there("a", "b", "c", "d")) == [
        "4 old 1 new: +web-1",
        "3 old 2 new (1 old going): +web-2 -a",
        "2 old 3 new (1 old going): +web-3 -b",
        "1 old 4 new (1 old going): +web-4 -c",
        "0 old 4 new (1 old going): -d",
    ]


SHARES = [
    ("the share is exact", (10, 20, 1), (2, 8)),
    ("fewer new pods are closer", (4, 30, 1), (1, 3)),
    ("one more pod comes closest", (3, 50, 1), (2, 2)),
    ("of two as close, more are new", (3, 50, 0), (2, 1)),
    ("there is some of both", (10, 1, 0), (1, 9)),
    ("and so there is of two", (2, 99, 0), (1, 1)),
    ("unless there is but one", (1, 20, 0), (0, 1)),
    ("which may have another beside it", (1, 20, 1), (1, 1)),
    ("all are new in the end", (5, 100, 1), (5, 0)),
    ("none is at first", (5, 0, 1), (0, 5)),
]


@pytest.mark.parametrize(("asked", "counts"), [row[1:] for row in SHARES], ids=[row[0] for row in SHARES])
def test_as_many_pods_are_new_as_come_closest_to_the_share(
    asked: tuple[int, int, int], counts: tuple[int, int]
) -> None:
    assert canary_and_stable(*asked) == counts


def test_stable_pods_may_go_as_traffic_does_and_there_are_some_of_each() -> None:
    more = {"dynamicStableScale": True, "minPodsPerReplicaSet": 2, "trafficRouting": {"istio": {}}}
    obj = rollout([{"setWeight": 10}, {"setWeight": 50}], replicas=4, **more)
    assert canary_story(obj, there("a", "b", "c", "d")) == [
        "4 old 2 new: +web-1 +web-2",
        "2 old 4 new (2 old going): +web-3 +web-4 -a -b",
        "0 old 4 new (2 old going): -c -d",
    ]


def test_where_traffic_is_routed_all_stable_pods_stay_until_the_end() -> None:
    obj = rollout([{"setWeight": 50}], replicas=2, trafficRouting={"istio": {}}, maxUnavailable=0, maxSurge=1)
    assert canary_story(obj, there("a", "b")) == [
        "2 old 1 new: +web-1",
        "2 old 2 new: +web-2",
        "0 old 2 new (2 old going): -a -b",
    ]


def test_without_a_change_nothing_is_done_and_a_new_size_needs_no_steps() -> None:
    pods = there("a", "b")
    obj = rollout([{"setWeight": 50}], replicas=3)
    new = wanted("one", *["web-"] * 3)
    slots = Slots(pods, spare=5)
    assert slots.follow(Plan(CanaryRollout.of(obj, pods, new, lambda pod: pod), slots.ready, lambda pod: None)) == [
        "3 old 0 new: +web-1"
    ]


def test_a_step_that_scales_the_canary_itself_counts_until_it_follows_the_weight_again() -> None:
    steps: list[Json] = [
        {"setCanaryScale": {"replicas": 3}},
        {"setWeight": 20},
        {"setCanaryScale": {"matchTrafficWeight": True}},
        {"setWeight": 40},
    ]
    assert steps_of(rollout(steps, replicas=10, trafficRouting={"nginx": {}})) == (
        CanaryStep(0, 3),
        CanaryStep(20, 3),
        CanaryStep(20),
        CanaryStep(40),
    )
    assert steps_of(rollout(steps, replicas=10))[1] == CanaryStep(20)
