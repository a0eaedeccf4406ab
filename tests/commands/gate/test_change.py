"""What counts as a change, and what becomes of what is added, changed and removed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kwhatif.results.gate import Change, GateResult
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import Json, budget, node
from tests.commands.gate.judging import found, judged, new, snapshot_of, workload
from tests.simulation.edits.editing import of

EVERYTHING: dict[str, Any] = {
    **{name: {"level": "error"} for name in ("unschedulable", "rollout-deadlock", "quota", "limits", "single-node")},
    "snapshot-age": {"level": "error", "maxAge": "1s"},
}


def cluster(cpu: str = "1") -> Snapshot:
    """Two nodes, and a deployment with a pod on each."""
    pods = [of("ReplicaSet", "web-x", f"web-x-{n}", f"n{n}", cpu=cpu) for n in (1, 2)]
    whole = [workload("Deployment", "web", 2, cpu=cpu), workload("ReplicaSet", "web-x", 2, owner="web", cpu=cpu)]
    return snapshot_of([node("n1", cpu="2"), node("n2", cpu="2")], pods, whole=whole)


def told(result: GateResult) -> list[tuple[str, str, int, int]]:
    return [(each.what, str(each.subject), each.pods_before, each.pods_after) for each in result.changes]


def reworded(obj: Json) -> Json:
    """The same object with defaults written out and its fields in another order."""
    body = copy.deepcopy(obj)
    body["spec"]["template"]["spec"] |= {"restartPolicy": "Always", "schedulerName": "default-scheduler"}
    body["spec"] |= {"strategy": {"type": "RollingUpdate"}}
    body["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1000m"
    return dict(reversed(body.items()))


def test_a_change_of_nothing_passes_and_says_so() -> None:
    web = new("Deployment", "web", 2, cpu="1")
    result = judged(cluster(), web, base=[web], rules=EVERYTHING)
    assert (result.verdict, result.exit_code, result.findings) == ("pass", 0, ())
    assert result.note.startswith("nothing to judge")
    assert {rule.status for rule in result.rules} == {"not applicable"}
    assert told(result) == [("unchanged", "Deployment shop/web", 2, 2)]


def test_an_object_that_the_api_server_would_store_alike_is_unchanged() -> None:
    web = new("Deployment", "web", 2, cpu="1")
    assert told(judged(cluster(), reworded(web), base=[web])) == [("unchanged", "Deployment shop/web", 2, 2)]


def test_what_git_has_unchanged_is_no_part_of_the_change_even_if_it_would_be_refused() -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpu", "namespace": "elsewhere"},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}},
    }
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    web = new("Deployment", "web", 2, cpu="1")
    there = snapshot_of([node("n1", cpu="2")], [], whole=[shop])
    result = judged(there, template, web, base=[template], rules=EVERYTHING)
    assert [each.message for each in result.findings if "elsewhere" in each.message] == []
    assert told(result)[0] == ("unchanged", "ResourceClaimTemplate elsewhere/gpu", 0, 0)


def test_objects_without_pods_are_a_change_but_nothing_to_judge() -> None:
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "s", "namespace": "shop"},
        "data": {"a": "1"},
    }
    other = {**settings, "data": {"a": "2"}}
    result = judged(cluster(), other, base=[settings])
    assert told(result) == [("changed", "ConfigMap shop/s", 0, 0)]
    assert result.changes[0].details == ("data.a: 1 -> 2",)
    assert result.note.startswith("nothing to judge")


def quota_of(cpu: str) -> Json:
    metadata = {"name": "q", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"requests.cpu": cpu}}}


@pytest.mark.parametrize("base", [None, [quota_of("4")]], ids=["of everything", "of a change"])
def test_a_quota_cut_below_its_use_is_a_finding_though_no_pod_changes(base: list[Json] | None) -> None:
    snapshot = cluster()
    snapshot.whole["ResourceQuota"] = [quota_of("4")]
    result = judged(snapshot, quota_of("1500m"), base=base, rules={"quota": {}})
    assert found(result) == [("quota", "ResourceQuota shop/q", "the quota allows less than is used")]
    assert result.findings[0].message.startswith("pods use 2 requests.cpu of 1500m. Those that run stay")
    assert judged(snapshot, quota_of("2"), base=base, rules={"quota": {}}).verdict == "pass"


def test_without_a_base_objects_without_pods_are_compared_with_those_of_the_cluster() -> None:
    snapshot = cluster()
    snapshot.whole["ResourceQuota"] = [quota_of("4")]
    snapshot.objects.add(budget("web", {}, namespace="shop", allowed=1, least=1))
    metadata = {"name": "web", "namespace": "shop"}
    spec = {"minAvailable": 2}
    least = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
    other = {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": []}}
    changes = judged(snapshot, quota_of("4"), least, other).changes
    assert [(change.what, change.details) for change in changes] == [
        ("unchanged", ()),
        ("changed", ("spec.minAvailable: 1 -> 2",)),
        ("added", ()),
    ]


def test_an_update_of_which_a_quota_lets_no_pod_be_created_is_a_change_all_the_same() -> None:
    snapshot, web = cluster(), new("Deployment", "web", 2, cpu="500m")
    metadata = {"name": "q", "namespace": "shop"}
    spec = {"hard": {"pods": "2"}, "scopes": ["NotTerminating"]}
    snapshot.whole["ResourceQuota"] = [
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}
    ]
    web["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    result = judged(snapshot, web, rules={"quota": {}, "rollout-deadlock": {}})
    assert told(result) == [("changed", "Deployment shop/web", 2, 2)]
    assert {each.rule for each in result.findings} == {"quota", "rollout-deadlock"}


def test_unchanged_workloads_are_not_judged_and_changed_ones_are_rolled_out() -> None:
    base = [new("Deployment", "web", 2, cpu="1"), new("Deployment", "big", 1, cpu="100")]
    head = [new("Deployment", "web", 3, cpu="1"), base[1]]
    result = judged(cluster(), *head, base=base, rules={"unschedulable": {}})
    assert result.findings == ()
    assert told(result) == [("changed", "Deployment shop/web", 2, 3), ("unchanged", "Deployment shop/big", 0, 0)]
    assert result.changes[0].details == ("spec.replicas: 2 -> 3",)
    assert result.judged == "change"


def test_removed_workloads_leave_their_room_first() -> None:
    web, heavy = new("Deployment", "web", 2, cpu="1"), new("Deployment", "heavy", 2, cpu="1500m")
    assert judged(cluster(), web, heavy, base=[web], rules={"unschedulable": {}}).verdict == "fail"
    result = judged(cluster(), heavy, base=[web], rules={"unschedulable": {}})
    assert result.verdict == "pass"
    assert told(result) == [("added", "Deployment shop/heavy", 0, 2), ("removed", "Deployment shop/web", 2, 0)]


def test_a_change_that_only_removes_is_judged() -> None:
    web, other = (
        new("Deployment", "web", 2, cpu="1"),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}},
    )
    result = judged(cluster(), other, base=[web, other], rules={"snapshot-age": {"level": "error"}})
    assert (result.note, result.verdict) == ("", "fail")


def test_quotas_know_that_removed_pods_are_gone() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": {"requests.cpu": "2"}},
    }
    snapshot = cluster()
    snapshot.whole["ResourceQuota"] = [quota]
    web, next_ = new("Deployment", "web", 2, cpu="1"), new("Deployment", "next", 2, cpu="1")
    assert judged(snapshot, web, next_, base=[web], rules={"quota": {}}).verdict == "fail"
    assert judged(snapshot, next_, base=[web], rules={"quota": {}}).verdict == "pass"


def test_without_a_base_everything_is_judged_and_told_by_what_the_cluster_has() -> None:
    same, grown = new("Deployment", "web", 2, cpu="1"), new("Deployment", "web", 3, cpu="1")
    result = judged(cluster(), same, new("Deployment", "next", 1), rules={"single-node": {}})
    assert told(result) == [("unchanged", "Deployment shop/web", 2, 2), ("added", "Deployment shop/next", 0, 1)]
    assert (result.judged, result.rules[0].checked) == ("everything", 2)
    assert told(judged(cluster(), grown)) == [("changed", "Deployment shop/web", 2, 3)]


def test_a_workload_whose_pods_run_but_which_the_snapshot_lacks_is_told() -> None:
    snapshot = cluster()
    del snapshot.whole["Deployment"]
    result = judged(snapshot, new("Deployment", "web", 2, cpu="100m"))
    assert told(result) == [("added", "Deployment shop/web", 2, 4)]
    (text,) = result.warnings
    assert text.startswith("Deployment shop/web is not in the snapshot, though 2 pods of it are")


def test_a_workload_that_the_base_has_and_the_snapshot_lacks_is_told_to_be_new() -> None:
    old, changed = new("Deployment", "next", 2, cpu="100m"), new("Deployment", "next", 3, cpu="100m")
    result = judged(cluster(), changed, base=[old])
    assert told(result) == [("changed", "Deployment shop/next", 0, 3)]
    assert result.warnings == (
        "Deployment shop/next is changed by the manifests, but not in the snapshot: 3 pods of it are taken to be new",
    )


def test_what_the_pods_need_is_applied_before_them_wherever_it_stands() -> None:
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    head = new("Deployment", "web", 1, pod={"priorityClassName": "high"})
    snapshot = snapshot_of([node("n1")])
    result = judged(snapshot, head, priority, rules={"limits": {}})
    assert result.verdict == "pass"
    assert {placement.priority for placement in result.placements} == {7}


def test_the_snapshot_is_left_as_it_is() -> None:
    snapshot, other = cluster(), cluster()
    web = new("Deployment", "web", 2, cpu="1")
    judged(snapshot, new("Deployment", "next", 9), base=[web], rules=EVERYTHING)
    assert list(snapshot.objects) == list(other.objects)
    assert snapshot.whole == other.whole


def test_pending_pods_of_the_snapshot_compete_if_they_are_asked_to() -> None:
    waiting = of("ReplicaSet", "old", "old-1", None, cpu="2", priority=5)
    snapshot = snapshot_of([node("n1", cpu="2")], [waiting])
    head = new("Deployment", "web", 1, cpu="1")
    assert judged(snapshot, head, rules={"unschedulable": {}}).verdict == "pass"
    result = judged(snapshot, head, rules={"unschedulable": {}}, with_pending=True)
    assert found(result) == [("unschedulable", "Deployment shop/web", "1 of 1 new pod finds no node")]


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_sets_that_are_changed_are_rolled_out_as_well(kind: str) -> None:
    replicas = None if kind == "DaemonSet" else 2
    pods = [of(kind, "db", f"db-{n - 1}", f"n{n}") for n in (1, 2)]
    snapshot = snapshot_of([node("n1"), node("n2")], pods, whole=[workload(kind, "db", replicas)])
    old, head = (new(kind, "db", replicas, cpu=cpu) for cpu in ("100m", "200m"))
    result = judged(snapshot, head, base=[old], rules={"rollout-deadlock": {}})
    assert (result.verdict, told(result)) == ("pass", [("changed", f"{kind} shop/db", 2, 2)])
    assert isinstance(result.changes[0], Change)
