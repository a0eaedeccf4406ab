"""Deployments that are changed again in the middle of a rollout."""

from __future__ import annotations

from kwhatif.workloads.rollout import plan_rollout
from tests.workloads.builders import Json, changed, deployment, web_pods, workload


def replica_set(name: str, image: str, replicas: int, desired: int, maximum: int, created: str) -> Json:
    found = workload("ReplicaSet", image, name=name, replicas=replicas)
    found["metadata"] |= {
        "creationTimestamp": created,
        "annotations": {
            "deployment.kubernetes.io/desired-replicas": str(desired),
            "deployment.kubernetes.io/max-replicas": str(maximum),
        },
        "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}],
    }
    return found


def in_the_middle() -> tuple[Json, list[Json], list[Json]]:
    """Ten pods on their way from ``one`` to ``two``, whose pods do not become ready: eight old, five new."""
    old = deployment("two", replicas=10, surge=3, unavailable=2)
    sets = [
        replica_set("web-old", "one", 8, 10, 13, "2026-01-01T00:00:00Z"),
        replica_set("web-next", "two", 5, 10, 13, "2026-01-02T00:00:00Z"),
    ]
    return old, sets, web_pods(8) + web_pods(5, "klmno", set_="next", ready=False)


def test_a_deployment_that_grows_in_the_middle_of_a_rollout_grows_in_proportion() -> None:
    old, sets, pods = in_the_middle()
    new = changed(old, replicas=20)
    step = next(plan_rollout(old, new, pods, replica_sets=sets))
    assert (step.live.old, step.live.new) == (14, 9)
    assert sum(pod["metadata"]["generateName"] == "web-old-" for pod in step.creates) == 6


def test_a_deployment_that_shrinks_in_the_middle_of_a_rollout_shrinks_in_proportion() -> None:
    old, sets, pods = in_the_middle()
    new = changed(old, replicas=5)
    step = next(plan_rollout(old, new, pods, replica_sets=sets))
    # Five and three by proportion; then the rollout itself goes on, with the two that may be missing.
    assert (step.live.old, step.live.new) == (3, 5)
    assert sum(name.startswith("web-next-") for name in step.removes) == 2


def test_going_back_to_a_revision_whose_pods_are_still_there_needs_no_new_replica_set() -> None:
    old, sets, pods = in_the_middle()
    rollout = plan_rollout(old, changed(old, "one"), pods, replica_sets=sets)
    assert [(step.live.old, step.live.new) for step in rollout] == [(0, 10)]
    assert {name.rpartition("-")[0] for name in rollout.removed_pods} == {"web-next"}
    assert [pod["metadata"]["generateName"] for pod in rollout.created_pods] == ["web-old-", "web-old-"]


def test_a_second_change_before_the_first_is_done_replaces_both() -> None:
    old, sets, pods = in_the_middle()
    rollout = plan_rollout(old, changed(old, "three"), pods, replica_sets=sets)
    first = next(rollout)
    assert (first.live.old, first.live.new) == (8, 5)
    assert {name.rpartition("-")[0] for name in first.removes} == {"web-next"}
    *_, last = rollout
    assert (last.live.old, last.live.new) == (0, 10)
