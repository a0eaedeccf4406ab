"""What if the cluster were different? What edits do to it, and what controllers do about them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.devices import ResourceSlice
from kwhatif.api.kinds import KINDS
from kwhatif.api.workloads_and_storage import CSINode, PersistentVolumeClaim, ReplicaSet, VolumeAttachment
from kwhatif.errors import InputError
from kwhatif.simulation.edits.document import EditedSnapshot, apply_edits
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import ZONE, Json, node, pod
from tests.simulation.edits.editing import after, of, running, shop, snapshot_of, told, waiting, workload
from tests.storage_builders import attachment, claim, claiming, csi_node


def dumped(snapshot: Snapshot) -> Any:
    """All that is known of the cluster, as plain values, by kind."""
    objects = {kind: list(snapshot.objects.list_all(KINDS[kind])) for kind in sorted(snapshot.objects.known_kinds())}
    return msgspec.to_builtins([objects, snapshot.whole], enc_hook=str)


def names(result: EditedSnapshot) -> list[str]:
    return [each.name for each in result.snapshot.objects.list_all(Node)]


def node_of(result: EditedSnapshot, name: str) -> Node:
    return next(each for each in result.snapshot.objects.list_all(Node) if each.name == name)


# --- what is edited, in words

WORDS: dict[str, Json] = {
    "cordon node n1": {"cordon": "n1"},
    "cordon nodes pool=web (2)": {"cordon": "pool=web"},
    "uncordon node n1": {"uncordon": "n1"},
    "taint node n1 with a=b:NoSchedule": {"taint": {"nodes": "n1", "key": "a", "value": "b", "effect": "NoSchedule"}},
    "taint nodes [pool] (3) with a:NoExecute": {"taint": {"nodes": "[pool]", "key": "a", "effect": "NoExecute"}},
    "label node n1 with a=b,pool-": {"label": {"nodes": "n1", "labels": {"a": "b", "pool": None}}},
    "set allocatable cpu to 8, capacity memory to 9Gi on node n1": {
        "set": {"nodes": "n1", "allocatable": {"cpu": "8"}, "capacity": {"memory": "9Gi"}}
    },
    "add 1 node like n1": {"addNodes": {"count": 1, "like": "n1"}},
    "add 2 nodes like n1 in zone=c, labelled x=y, tainted a:NoSchedule": {
        "addNodes": {
            "count": 2,
            "like": "n1",
            "in": {"zone": "c"},
            "labels": {"x": "y"},
            "taints": [{"key": "a", "effect": "NoSchedule"}],
        }
    },
    "remove node n1": {"removeNodes": "n1"},
    "remove nodes pool=web (2)": {"removeNodes": "pool=web"},
    "scale Deployment shop/web from 2 to 5": {"scale": {"kind": "deploy", "name": "web", "replicas": 5}},
    "delete pod shop/bare": {"deletePods": "bare"},
    "delete pods app=db (2)": {"deletePods": "app=db"},
}


@pytest.mark.parametrize("text", WORDS)
def test_an_edit_is_told_in_words(text: str) -> None:
    assert after(shop(), WORDS[text]).snapshot.edits == [text]


def test_a_taint_that_is_removed_is_told_too_and_edits_add_up() -> None:
    taint = {"nodes": "n1", "key": "a", "effect": "NoSchedule"}
    once = after(shop(), {"taint": taint}, {"untaint": taint})
    assert once.snapshot.edits == ["taint node n1 with a:NoSchedule", "remove taint a:NoSchedule from node n1"]
    assert after(once.snapshot, {"cordon": "n2"}).snapshot.edits[-1] == "cordon node n2"
    assert node_of(once, "n1").spec.taints is None


# --- pods that go, and those that come in their place

NODE_GONE = (
    "10 pods lost their node: 3 recreated by their controllers and to be placed, "
    "1 finished before (shop/report-0), "
    "1 of unknown controllers (Rocket) and not recreated (shop/moon-1), "
    "1 replaced before, since they were being deleted (shop/web-x-0), "
    "1 of daemon sets, which do not run there (shop/agent-1), "
    "1 lost, since no controller owns them (shop/bare), "
    "1 static (shop/static-n1)"
)


def test_a_node_goes_with_its_pods_and_their_controllers_make_them_again() -> None:
    result = after(shop(), {"removeNodes": "n1"})
    assert names(result) == ["n2", "n3"]
    assert waiting(result) == ["web-x-r1", "db-0", "report-r1"]
    assert [asked.owner for asked in result.waiting_pods] == [
        "ReplicaSet shop/web-x",
        "StatefulSet shop/db",
        "Job shop/report",
    ]
    assert running(result, "n1") == []
    assert told(result.notes) == [NODE_GONE.replace("10", "9")]
    assert {asked.origin for asked in result.waiting_pods} == {"edits.yaml $.edits[0]"}
    assert all(asked.pod in result.snapshot.objects.list_all(Pod) for asked in result.waiting_pods)
    assert all(asked.pod.status.phase == "Pending" and not asked.pod.spec.node_name for asked in result.waiting_pods)


def test_what_drivers_said_of_a_node_goes_with_it() -> None:
    objects = [csi_node("n1", {"d": 3}), csi_node("n2", {"d": 3}), attachment("pv", "n1"), devices("n1"), devices("n2")]
    found = after(shop(objects=objects), {"removeNodes": "n1"}).snapshot.objects
    assert [each.name for each in found.list_all(CSINode)] == ["n2"]
    assert found.list_all(VolumeAttachment) == []
    assert [each.spec.node_name for each in found.list_all(ResourceSlice)] == ["n2"]


def devices(node_name: str) -> ResourceSlice:
    spec = {"driver": "gpu.example.com", "pool": {"name": node_name}, "nodeName": node_name}
    return convert({"metadata": {"name": f"{node_name}-gpu"}, "spec": spec}, ResourceSlice)


def test_pods_that_are_deleted_are_made_again_even_by_daemon_sets_and_kubelets() -> None:
    result = after(shop(), {"deletePods": "app=web-x"}, {"deletePods": "app=agent"}, {"deletePods": "static-n1"})
    assert waiting(result) == ["web-x-r1", "web-x-r2", "agent-1", "agent-2", "agent-3"]
    assert "static-n1" in running(result, "n1")
    assert told(result.notes)[-1] == "1 pod deleted: 1 recreated there by the kubelet at once (shop/static-n1)"


def test_a_pod_that_no_controller_made_is_gone_once_it_is_deleted() -> None:
    result = after(shop(), {"deletePods": "shop/bare"})
    assert (waiting(result), result.has_moved_pods) == ([], True)
    assert told(result.notes) == ["1 pod deleted: 1 lost, since no controller owns them (shop/bare)"]


def test_a_pod_made_again_can_be_deleted_again_and_takes_no_name_that_is_taken() -> None:
    taken = of("ReplicaSet", "web-x", "web-x-r1", "n3")
    result = after(shop(pods=[taken]), {"deletePods": "web-x-1"}, {"deletePods": "web-x-r2"})
    assert waiting(result) == ["web-x-r3"]


def job(limit: int | None = None, failed: int = 0, **spec: Any) -> Json:
    limits = {} if limit is None else {"backoffLimit": limit}
    metadata = {"name": "report", "namespace": "shop"}
    status = {"failed": failed}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**limits, **spec}, "status": status}


JOBS: dict[str, tuple[Json, list[str]]] = {
    "as many failures as are allowed": (job(1), ["report-r1"]),
    "one too many": (job(0), []),
    "one too many, with those before": (job(2, failed=2), []),
    "the usual limit": (job(None, failed=5), ["report-r1"]),
    "beyond the usual limit": (job(None, failed=6), []),
    "a policy that may think otherwise": (job(0, podFailurePolicy={"rules": []}), ["report-r1"]),
    "a limit of each index": (job(0, backoffLimitPerIndex=1), ["report-r1"]),
}


@pytest.mark.parametrize("case", JOBS)
def test_a_job_makes_pods_again_until_it_has_failed_too_often(case: str) -> None:
    body, made = JOBS[case]
    other = of("Job", "report", "report-2", "n2")
    result = after(shop(pods=[other], whole=[body]), {"deletePods": "report-1"})
    assert waiting(result) == made
    assert ("report-2" in running(result, "n2")) == bool(made)
    assert ("1 more of the same jobs are removed, too (shop/report-2)" in result.notes[0]) != bool(made)


def test_failures_of_a_job_add_up_over_edits() -> None:
    there = shop(whole=[job(1)])
    assert waiting(after(there, {"deletePods": "report-1"}, {"deletePods": "report-r1"})) == []


def test_the_claims_of_a_pods_ephemeral_volumes_go_with_it() -> None:
    owner = [{"kind": "Pod", "name": "db-0", "uid": "uid-shop-db-0"}]
    claims = [
        convert({"metadata": {"name": name, "namespace": "shop", "ownerReferences": owners}}, PersistentVolumeClaim)
        for name, owners in (("db-0-scratch", owner), ("data-db-0", []))
    ]
    result = after(shop(objects=claims), {"deletePods": "db-0"})
    assert [claim.name for claim in result.snapshot.objects.list_all(PersistentVolumeClaim)] == ["data-db-0"]


def test_volumes_that_no_pod_of_a_node_uses_any_more_leave_it() -> None:
    uses = {"a": "own", "b": "shared", "c": "shared"}
    users = [claiming(used, name=name, on="n1", namespace="shop") for name, used in uses.items()]
    bound = [claim(name, bound_to=f"pv-{name}", namespace="shop") for name in ("own", "shared")]
    attached = [attachment(f"pv-{name}", "n1") for name in ("own", "shared", "other")]
    there = snapshot_of([node("n1")], users, [*bound, *attached])
    result = after(there, {"deletePods": "a"}, {"deletePods": "b"})
    volumes = [each.spec.source.persistent_volume_name for each in result.snapshot.objects.list_all(VolumeAttachment)]
    assert volumes == ["pv-shared", "pv-other"]


def test_a_taint_of_effect_no_execute_drives_off_all_that_do_not_tolerate_it_for_good() -> None:
    patient = of(
        "ReplicaSet", "api", "api-1", "n1", tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 60}]
    )
    staying = of("ReplicaSet", "api", "api-2", "n1", tolerations=["a"])
    taint = {"nodes": "n1", "key": "a", "effect": "NoExecute"}
    result = after(shop(pods=[patient, staying]), {"taint": taint})
    assert waiting(result) == ["web-x-r1", "db-0", "report-r1", "api-r1"]
    assert running(result, "n1") == ["agent-1", "api-2", "static-n1"]
    again = after(result.snapshot, {"taint": taint})
    assert (waiting(again), again.notes) == ([], ())


def test_other_taints_and_cordons_leave_pods_where_they_are() -> None:
    taint = {"nodes": "n1", "key": "a", "effect": "NoSchedule"}
    result = after(shop(), {"taint": taint}, {"cordon": "n2"})
    assert (result.waiting_pods, result.has_moved_pods, result.notes) == ((), False, ())


# --- new nodes


def test_new_nodes_come_with_the_pods_of_the_daemon_sets_that_want_them() -> None:
    result = after(shop(), {"addNodes": {"count": 2, "like": "n3", "in": {"zone": "a"}}})
    assert names(result)[3:] == ["n3-new-1", "n3-new-2"]
    assert (node_of(result, "n3-new-1").metadata.labels or {})[ZONE] == "a"
    made = [each for each in result.snapshot.objects.list_all(Pod) if each.spec.node_name == "n3-new-1"]
    assert sorted((each.metadata.labels or {})["app"] for each in made) == ["agent", "batch-agent"]
    assert all(each.status.phase == "Running" for each in made)
    assert told(result.notes) == ["new nodes n3-new-1 to n3-new-2, with 4 daemon pods"]
    assert result.waiting_pods == ()


def test_without_daemon_sets_new_nodes_get_the_daemon_pods_of_the_node_they_are_like() -> None:
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    agent = of("DaemonSet", "agent", "agent-1", "n1", nodes=[field], cpu="1")
    leaving = of("DaemonSet", "other", "other-1", "n1", terminating=True)
    result = after(
        snapshot_of([node("n1")], [agent, leaving, pod("p", on="n1")]), {"addNodes": {"count": 1, "like": "n1"}}
    )
    (made,) = (each for each in result.snapshot.objects.list_all(Pod) if each.spec.node_name == "n1-new-1")
    assert (made.name, made.metadata.uid) == ("agent-n1-new-1", "uid-shop-agent-1-n1-new-1")
    assert "n1-new-1" in msgspec.json.encode(made.spec.affinity).decode()
    assert '"n1"' not in msgspec.json.encode(made.spec.affinity).decode()
    assert told(result.notes) == ["new node n1-new-1, with 1 daemon pod like those of n1"]


def test_names_of_new_nodes_are_free() -> None:
    result = after(snapshot_of([node("n"), node("n-new-1")]), {"addNodes": {"count": 2, "like": "n"}})
    assert names(result) == ["n", "n-new-1", "n-new-2", "n-new-3"]


def test_volume_limits_and_devices_of_a_node_hold_for_those_like_it() -> None:
    result = after(shop(objects=[csi_node("n1", {"d": 3}), devices("n1")]), {"addNodes": {"count": 1, "like": "n1"}})
    old, new = result.snapshot.objects.list_all(CSINode)
    assert new.name == "n1-new-1"
    assert [(d.name, d.allocatable) for d in new.spec.drivers or ()] == [
        (d.name, d.allocatable) for d in old.spec.drivers or ()
    ]
    pieces = result.snapshot.objects.list_all(ResourceSlice)
    assert [(each.name, each.spec.node_name, each.spec.pool.name) for each in pieces] == [
        ("n1-gpu", "n1", "n1"),
        ("n1-gpu-n1-new-1", "n1-new-1", "n1-new-1"),
    ]


def test_a_zone_where_no_node_was_before_is_noted() -> None:
    notes = after(shop(), {"addNodes": {"count": 1, "like": "n1", "in": {"zone": "c"}}}).notes
    assert notes[0] == "no node was in zone c before: there are a, b"


def test_later_edits_see_new_nodes() -> None:
    result = after(
        shop(), {"addNodes": {"count": 1, "like": "n1"}}, {"cordon": "n1-new-1"}, {"removeNodes": "pool=web"}
    )
    assert names(result) == ["n3"]
    assert result.snapshot.edits[-1] == "remove nodes pool=web (3)"


# --- daemon sets and nodes that change


def test_a_label_brings_the_pod_of_a_daemon_set_that_selects_it_and_drives_it_off_again() -> None:
    to_batch, to_web = ({"label": {"nodes": "n1", "labels": {"pool": pool}}} for pool in ("batch", "web"))
    result = after(shop(), to_batch)
    assert told(result.notes) == ["1 daemon pod started"]
    back = after(result.snapshot, to_web)
    assert told(back.notes) == ["1 daemon pod left"]
    assert running(back, "n1") == running(after(shop()), "n1")


def test_what_daemon_sets_lacked_before_is_none_of_an_edits_business() -> None:
    assert after(shop(), {"label": {"nodes": "n3", "labels": {"x": "y"}}}).notes == ()


# --- sizes


def sized(result: EditedSnapshot, kind: str, name: str) -> int:
    (found,) = (obj for obj in result.snapshot.whole[kind] if obj["metadata"]["name"] == name)
    size: int = found["spec"]["replicas"]
    return size


def test_a_deployment_grows_by_its_replica_set() -> None:
    result = after(shop(), {"scale": {"kind": "Deployment", "name": "web", "namespace": "shop", "replicas": 4}})
    assert waiting(result) == ["web-x-3", "web-x-4"]
    assert {asked.owner for asked in result.waiting_pods} == {"Deployment shop/web"}
    assert (sized(result, "Deployment", "web"), sized(result, "ReplicaSet", "web-x")) == (4, 4)
    assert [each.spec.replicas for each in result.snapshot.objects.list_all(ReplicaSet)] == [4]
    asked = result.waiting_pods[0].pod
    assert [c.resources.requests for c in asked.spec.containers or () if c.resources] != []
    assert asked.metadata.uid


def test_a_deployment_shrinks_by_the_pods_that_its_controller_would_choose() -> None:
    waits = of("ReplicaSet", "web-x", "web-x-9", None)
    result = after(shop(pods=[waits], whole=[]), {"scale": {"kind": "deploy", "name": "web", "replicas": 1}})
    kept = [each.name for each in result.snapshot.objects.list_all(Pod) if each.metadata.labels == {"app": "web-x"}]
    assert "web-x-9" not in kept
    assert len([name for name in kept if name != "web-x-0"]) == 1
    assert result.waiting_pods == ()


def test_a_stateful_set_grows_and_shrinks_at_its_end_and_makes_its_claims() -> None:
    claims = [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
    ]
    db = workload("StatefulSet", "cache", 1, volumeClaimTemplates=claims)
    there = shop(pods=[of("StatefulSet", "cache", "cache-0", "n1")], whole=[db])
    grown = after(there, {"scale": {"kind": "sts", "name": "cache", "replicas": 3}})
    assert waiting(grown) == ["cache-1", "cache-2"]
    assert [claim.name for claim in grown.snapshot.objects.list_all(PersistentVolumeClaim)] == [
        "data-cache-1",
        "data-cache-2",
    ]
    assert "PersistentVolumeClaim" not in grown.covered
    cached = [of("StatefulSet", "cache", f"cache-{i}", "n1") for i in range(3)]
    larger = shop(pods=cached, whole=[workload("StatefulSet", "cache", 3)])
    shrunk = after(larger, {"scale": {"kind": "sts", "name": "cache", "replicas": 1}})
    assert [each.name for each in shrunk.snapshot.objects.list_all(Pod) if each.name.startswith("cache")] == ["cache-0"]
    assert shrunk.notes == ()


def test_an_update_of_a_stateful_set_under_way_stands_still() -> None:
    labels = {"app": "db", "controller-revision-hash": "db-old"}
    pods = [
        pod(f"db-{i}", namespace="shop", on="n1", labels=labels, owner=("apps/v1", "StatefulSet", "db")) for i in (0, 1)
    ]
    db = {**workload("StatefulSet", "db", 2), "status": {"currentRevision": "db-old", "updateRevision": "db-new"}}
    there = snapshot_of([node("n1")], pods, whole=[db])
    result = after(there, {"scale": {"kind": "sts", "name": "db", "replicas": 3}})
    assert waiting(result) == ["db-2"]
    assert (result.waiting_pods[0].pod.metadata.labels or {})["controller-revision-hash"] == "db-new"
    assert running(result, "n1") == ["db-0", "db-1"]


def test_a_stateful_set_whose_pods_are_not_ready_does_not_grow_and_that_is_noted() -> None:
    broken = of("StatefulSet", "db", "db-0", "n1", status={"conditions": [{"type": "Ready", "status": "False"}]})
    there = snapshot_of([node("n1")], [broken], whole=[workload("StatefulSet", "db", 1)])
    result = after(there, {"scale": {"kind": "sts", "name": "db", "replicas": 2}})
    assert waiting(result) == []
    assert result.notes == ("StatefulSet shop/db does not get to its size: not updated and available: db-0, db-1",)


def test_pods_made_by_earlier_edits_hold_up_nobody() -> None:
    scaled = {"scale": {"kind": "sts", "name": "db", "replicas": 3}}
    assert waiting(after(shop(), {"removeNodes": "n1"}, scaled)) == ["web-x-r1", "db-0", "report-r1", "db-2"]
    more = {"scale": {"kind": "sts", "name": "db", "replicas": 4}}
    assert waiting(after(shop(), scaled, more)) == ["db-2", "db-3"]
    fewer = {"scale": {"kind": "sts", "name": "db", "replicas": 2}}
    assert waiting(after(shop(), more, fewer)) == []


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_replica_sets_of_nobody_are_scaled_by_themselves(kind: str) -> None:
    there = shop(whole=[workload(kind, "api", 0)])
    result = after(there, {"scale": {"kind": kind.lower(), "name": "api", "replicas": 2}})
    assert waiting(result) == ["api-1", "api-2"]


def test_without_the_deployment_its_one_replica_set_is_scaled() -> None:
    there = snapshot_of([node("n1")], whole=[workload("ReplicaSet", "web-x", 2, owner="web")])
    result = after(there, {"scale": {"kind": "deployment", "name": "web", "namespace": "shop", "replicas": 4}})
    assert waiting(result) == ["web-x-1", "web-x-2", "web-x-3", "web-x-4"]
    assert result.notes == ("the snapshot lacks Deployment web: its replica set web-x is scaled",)


def test_the_present_size_changes_nothing() -> None:
    there = shop()
    result = after(there, {"scale": {"kind": "deploy", "name": "web", "replicas": 2}})
    assert dumped(result.snapshot) == dumped(there)
    assert result.waiting_pods == ()


def test_pods_that_the_api_server_refuses_are_told() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "shop"},
        "spec": {"hard": {"requests.cpu": "250m"}},
        "status": {"hard": {"requests.cpu": "250m"}, "used": {"requests.cpu": "0"}},
    }
    result = after(shop(whole=[quota]), {"scale": {"kind": "deploy", "name": "web", "replicas": 7}})
    (failed,) = result.failed
    assert (failed.owner, failed.pods, failed.origin) == ("Deployment shop/web", 3, "edits.yaml $.edits[0]")
    assert len(result.waiting_pods) == 2
    assert failed.message.startswith("Error creating: ")
    assert "exceeded quota: small" in failed.message


# --- what cannot be done

REFUSED: dict[str, tuple[Json, str]] = {
    "a node that is not there": ({"cordon": "n4"}, '.cordon: there is no node "n4"'),
    "a selector that matches nothing": ({"removeNodes": "pool=x"}, '.removeNodes: no node matches "pool=x"'),
    "a node to be like that is not there": (
        {"addNodes": {"count": 1, "like": "pool=web"}},
        '.addNodes.like: there is no node "pool=web"',
    ),
    "a taint that is not there": (
        {"untaint": {"nodes": "n1", "key": "a"}},
        ".untaint.key: no taint a is on node n1",
    ),
    "a label that is not there": (
        {"label": {"nodes": "pool=web", "labels": {"a": None}}},
        ".label.labels: no label a is on nodes pool=web (2)",
    ),
    "nodes of an edit with several fields": (
        {"set": {"nodes": "n7", "allocatable": {"cpu": 1}}},
        '.set.nodes: there is no node "n7"',
    ),
    "a pod that is not there": ({"deletePods": "web"}, '.deletePods: there is no pod "web"'),
    "a kind that has no size": (
        {"scale": {"kind": "DaemonSet", "name": "agent", "replicas": 1}},
        '.scale.kind: expected one of Deployment, ReplicaSet, StatefulSet, ReplicationController, found "DaemonSet"',
    ),
    "a workload that is not there": (
        {"scale": {"kind": "Deployment", "name": "wep", "replicas": 1}},
        ".scale.name: there is no Deployment wep; did you mean web?",
    ),
    "a workload in a namespace where it is not": (
        {"scale": {"kind": "Deployment", "namespace": "shot", "name": "web", "replicas": 1}},
        ".scale.name: there is no Deployment shot/web; did you mean shop/web?",
    ),
    "a workload of which the snapshot has none": (
        {"scale": {"kind": "rc", "name": "web", "replicas": 1}},
        ".scale.name: there is no ReplicationController web: the snapshot holds no ReplicationController at all",
    ),
    "a replica set whose size a deployment gives": (
        {"scale": {"kind": "rs", "name": "web-x", "replicas": 1}},
        ".scale.name: ReplicaSet shop/web-x has the size that Deployment shop/web gives it: scale that",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_refused_with_its_place(case: str) -> None:
    edit, problem = REFUSED[case]
    with pytest.raises(InputError) as refused:
        after(shop(), {"cordon": "n1"}, edit)
    assert str(refused.value) == f"edits.yaml: $.edits[1]{problem}"


@pytest.mark.long
def test_a_workload_of_several_namespaces_needs_one() -> None:
    other: Json = workload("Deployment", "web", 1)
    other = {**other, "metadata": {**other["metadata"], "namespace": "test"}}
    with pytest.raises(InputError, match=r"Deployment web is in several namespaces \(shop, test\): name one"):
        after(shop(whole=[other]), {"scale": {"kind": "deploy", "name": "web", "replicas": 1}})


def test_a_workload_without_a_template_cannot_grow() -> None:
    bare: Json = workload("StatefulSet", "cut", 1)
    bare = {**bare, "spec": {"replicas": 1}}
    with pytest.raises(InputError, match=r"StatefulSet shop/cut has no pod template in the snapshot"):
        after(shop(whole=[bare]), {"scale": {"kind": "sts", "name": "cut", "replicas": 2}})


def test_without_edits_the_snapshot_is_the_one_that_was_given() -> None:
    there = shop()
    result = apply_edits(there, [])
    assert result.snapshot is there
    assert result.covered == there.covered_kinds()


@pytest.mark.parametrize("text", WORDS)
def test_what_was_loaded_stays_as_it_is(text: str) -> None:
    there = shop(objects=[csi_node("n1", {"d": 3})])
    before = dumped(there)
    after(there, WORDS[text])
    assert dumped(there) == before
    assert there.edits == []
