"""Updates of stateful sets, told as whole plans."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.workloads.rollout import plan_rollout
from kwhatif.workloads.stateful_set import revision_of
from tests.workloads.builders import Json, Slots, changed, owned, workload


def stateful_set(image: str = "one", replicas: int = 3, **spec: Any) -> Json:
    return workload("StatefulSet", image, name="db", replicas=replicas, **spec)


def db_pods(of: Json, ordinals: str, *, unready: str = "") -> list[Json]:
    labels = {"controller-revision-hash": revision_of(of)}
    return [owned("StatefulSet", "db", f"db-{i}", at=f"n{i}", ready=i not in unready, labels=labels) for i in ordinals]


def partitioned(partition: int) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}


def test_pods_are_replaced_one_by_one_from_the_highest_ordinal_down() -> None:
    old = stateful_set()
    pods = db_pods(old, "012")
    slots = Slots(pods)
    rollout = plan_rollout(old, changed(old), pods, ready=slots.ready)
    assert slots.follow(rollout) == [
        "2 old 0 new (1 old going): -db-2",
        "2 old 1 new: +db-2",
        "1 old 1 new (1 old going): -db-1",
        "1 old 2 new: +db-1",
        "0 old 2 new (1 old going): -db-0",
        "0 old 3 new: +db-0",
    ]
    assert not rollout.remaining_work
    assert (rollout.available_before, rollout.least_available) == (3, 2)


def test_pods_below_the_partition_stay_as_they_are() -> None:
    old = stateful_set(updateStrategy=partitioned(2))
    pods = db_pods(old, "012")
    slots = Slots(pods)
    rollout = plan_rollout(old, changed(old), pods, ready=slots.ready)
    assert slots.follow(rollout) == ["2 old 0 new (1 old going): -db-2", "2 old 1 new: +db-2"]
    assert not rollout.remaining_work
    assert rollout.kept_pods == ("db-0", "db-1")


def test_a_pod_below_the_partition_that_is_missing_comes_back_with_the_old_template() -> None:
    old = stateful_set(updateStrategy=partitioned(2))
    rollout = plan_rollout(old, changed(old), db_pods(old, "02"))
    made = next(rollout).creates
    assert [(pod["metadata"]["name"], pod["spec"]["containers"][0]["image"]) for pod in made] == [("db-1", "one")]


def test_an_updated_pod_that_never_gets_ready_stops_the_update_where_it_is() -> None:
    old = stateful_set()
    pods = db_pods(old, "012")
    rollout = plan_rollout(old, changed(old), pods, ready=lambda pod: False)
    assert [step.removes or step.creates[0]["metadata"]["name"] for step in rollout] == [("db-2",), "db-2"]
    assert rollout.remaining_work == "not updated and available: db-0, db-1, db-2"


def test_an_ordered_set_with_a_broken_pod_does_not_even_begin() -> None:
    old = stateful_set()
    rollout = plan_rollout(old, changed(old), db_pods(old, "012", unready="0"))
    assert list(rollout) == []
    assert rollout.remaining_work


def test_an_ordered_set_grows_one_ready_pod_at_a_time() -> None:
    old = stateful_set(replicas=1)
    rollout = plan_rollout(old, stateful_set(replicas=3), db_pods(old, "0"))
    assert [[pod["metadata"]["name"] for pod in step.creates] for step in rollout] == [["db-1"], ["db-2"]]


def test_an_ordered_set_shrinks_from_the_highest_ordinal_and_waits_for_each() -> None:
    old = stateful_set(replicas=3)
    rollout = plan_rollout(old, stateful_set(replicas=1), db_pods(old, "012"))
    assert [step.removes for step in rollout] == [("db-2",), ("db-1",)]
    assert not rollout.remaining_work


def test_a_parallel_set_grows_and_shrinks_at_once() -> None:
    small, large = (stateful_set(replicas=n, podManagementPolicy="Parallel") for n in (1, 3))
    assert [len(step.creates) for step in plan_rollout(small, large, db_pods(small, "0"))] == [2]
    assert [step.removes for step in plan_rollout(large, small, db_pods(large, "012"))] == [("db-2", "db-1")]


@pytest.mark.parametrize("granted", [True, False], ids=["granted", "refused"])
def test_new_ordinals_need_their_claims_first(granted: bool) -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    old = stateful_set(replicas=1, volumeClaimTemplates=[claim])
    claims = []

    def create_claim(body: Any) -> bool:
        claims.append(body["metadata"]["name"])
        return granted

    step = next(plan_rollout(old, changed(old, "one", replicas=2), db_pods(old, "0"), create_claim=create_claim), None)
    assert [pod["metadata"]["name"] for pod in (step.creates if step else ())] == (["db-1"] if granted else [])
    assert claims == ["data-db-1"]


def test_a_parallel_set_makes_no_claims_behind_the_batch_in_which_a_quota_refuses_a_pod() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    old = stateful_set(replicas=1, volumeClaimTemplates=[claim], podManagementPolicy="Parallel")
    claims: dict[str, None] = {}
    plan = plan_rollout(
        old,
        changed(old, "one", replicas=9),
        db_pods(old, "0"),
        admit=lambda pod: pod if pod["metadata"]["name"] in ("db-1", "db-2") else None,
        create_claim=lambda body: claims.setdefault(body["metadata"]["name"]) is None,
    )
    assert [pod["metadata"]["name"] for step in plan for pod in step.creates] == ["db-1", "db-2"]
    assert list(claims) == [f"data-db-{ordinal}" for ordinal in range(1, 7)]


def test_a_smaller_set_deletes_the_claims_of_its_pods_if_it_says_so() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    keeps = {"whenScaled": "Delete", "whenDeleted": "Retain"}
    old = stateful_set(replicas=2, volumeClaimTemplates=[claim], persistentVolumeClaimRetentionPolicy=keeps)
    step = next(plan_rollout(old, changed(old, "one", replicas=1), db_pods(old, "01")))
    assert (step.removes, step.deleted_claims) == (("db-1",), ("data-db-1",))


def test_on_delete_leaves_the_pods_to_whoever_deletes_them() -> None:
    old = stateful_set(updateStrategy={"type": "OnDelete"})
    rollout = plan_rollout(old, changed(old), db_pods(old, "012"))
    assert list(rollout) == []
    assert not rollout.remaining_work


def test_max_unavailable_counts_only_with_its_feature_gate() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 2}}
    old = stateful_set(updateStrategy=strategy, podManagementPolicy="Parallel")
    pods = db_pods(old, "012")
    assert [step.removes for step in plan_rollout(old, changed(old), pods) if step.removes] == [
        ("db-2",),
        ("db-1",),
        ("db-0",),
    ]
    gated = plan_rollout(old, changed(old), pods, max_unavailable_stateful_set=True)
    assert [step.removes for step in gated if step.removes] == [("db-2", "db-1"), ("db-0",)]


def test_a_start_that_moves_condemns_the_pods_outside() -> None:
    old = stateful_set(replicas=2, podManagementPolicy="Parallel")
    new = changed(old, "one", ordinals={"start": 1})
    rollout = plan_rollout(old, new, db_pods(old, "01"))
    steps = list(rollout)
    assert [pod["metadata"]["name"] for pod in rollout.created_pods] == ["db-2"]
    assert rollout.removed_pods == ("db-0",)
    assert len(steps) == 1


def test_an_update_in_the_middle_goes_on_from_where_it_is() -> None:
    old = stateful_set("two")
    old["status"] = {"currentRevision": revision_of(stateful_set("one")), "updateRevision": revision_of(old)}
    pods = db_pods(stateful_set("one"), "01") + db_pods(old, "2")
    rollout = plan_rollout(old, old, pods)
    assert [step.removes for step in rollout if step.removes] == [("db-1",), ("db-0",)]
    assert not rollout.remaining_work


def test_an_api_server_that_hears_which_pods_are_gone_lets_them_back_under_their_names() -> None:
    old = stateful_set(replicas=2)
    pods = db_pods(old, "01")
    server = ApiServer(ObjectStore(pods))

    def admit(pod: Json) -> Json | None:
        answer = server.create(pod)
        return answer.object if isinstance(answer, StoredObject) else None

    def gone(pod: Json) -> None:
        server.world.remove("Pod", "default", pod["metadata"]["name"])

    rollout = plan_rollout(old, changed(old), pods, admit=admit, gone=gone)
    assert [step.live.new for step in rollout] == [0, 1, 1, 2]
    assert not rollout.remaining_work
    images = [pod["spec"]["containers"][0]["image"] for pod in server.world.all("Pod")]
    assert images == ["two", "two"]
    deaf = plan_rollout(old, changed(old), pods, admit=admit)
    assert [step.removes for step in deaf] == [("db-1",)]
    assert deaf.refused_pods == ("db-1",)
