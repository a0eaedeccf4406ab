"""How many more fit, and what ends it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import kwhatif
from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.api.workloads_and_storage import StorageClass
from kwhatif.commands.capacity.result import CapacityResult, QuotaRoom
from kwhatif.commands.capacity.text import capacity_blocks
from kwhatif.errors import UsageError
from kwhatif.policy.configuration_file import default_configuration
from kwhatif.render.tables import text_of
from kwhatif.results.amounts import format_count
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest, Origin
from kwhatif.versions import features_of
from tests.builders import HOSTNAME, ZONE, node, pod
from tests.commands.answers import capacity, place
from tests.storage_builders import storage_class

Json = dict[str, Any]


def workload(kind: str = "Deployment", name: str = "web", cpu: str = "1", replicas: int = 3, **spec: Any) -> Manifest:
    labels = {"app": name}
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    raw: Json = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}},
        },
    }
    if kind == "DaemonSet":
        del raw["spec"]["replicas"]
    return Manifest(convert(raw, Resource), Origin("web.yaml"), raw)


def snapshot_of(nodes: Sequence[Node], pods: Sequence[Pod] = (), quotas: Sequence[Json] = ()) -> Snapshot:
    objects = Objects()
    for obj in (*nodes, *pods):
        objects.add(obj)
    whole = {"ResourceQuota": [quota(hard) for hard in quotas]} if quotas else {}
    return Snapshot(objects=objects, whole=whole)


def quota(hard: Json) -> Json:
    meta = {"name": f"quota-{'-'.join(sorted(hard)).replace('.', '-')}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}}


def ask(snapshot: Snapshot, *manifests: Manifest, as_new: bool = False, **options: Any) -> CapacityResult:
    session = Session(snapshot, Setup(default_configuration(), features_of()))
    return capacity(session, expand(manifests, snapshot, as_new=as_new), **options)


def test_pods_fit_until_every_node_is_full() -> None:
    result = ask(snapshot_of([node("a", cpu="4"), node("b", cpu="2500m")], [pod("old", on="a", cpu="1")]), workload())
    assert (result.unit, result.fits, result.ended, result.exit_code) == (
        "pod of Deployment default/web",
        5,
        "nodes",
        0,
    )
    assert [(each.node, each.pods, each.free, each.reasons) for each in result.nodes] == [
        ("a", 3, {"cpu": 0}, ("Insufficient cpu",)),
        ("b", 2, {"cpu": 500}, ("Insufficient cpu",)),
    ]
    (left,) = result.left_over
    assert (left.resource, left.each, left.free, left.largest, left.on) == ("cpu", 1000, 500, 500, "b")
    assert result.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


TAINTED = node("gpu", cpu="64", taints=["gpu=yes:NoSchedule"])
NAMED: Json = {
    "nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in ("a", "b")
    ]
}
LEFT_OVER: dict[str, tuple[list[Node], Json, int | None, tuple[int, int, str]]] = {
    "a node whose taint the pod does not tolerate": ([TAINTED], {}, None, (500, 500, "b")),
    "such a node where a limit ends the count": ([TAINTED], {}, 2, (4500, 3000, "a")),
    "a cordoned one": ([node("c", cpu="64", cordoned=True)], {}, None, (500, 500, "b")),
    "one that the pod does not name": (
        [node("c", cpu="64")],
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": NAMED}}},
        None,
        (500, 500, "b"),
    ),
    "one with another label": (
        [node("c", cpu="64", hostname=False)],
        {"nodeSelector": {"ours": "yes"}},
        None,
        (500, 500, "b"),
    ),
}


@pytest.mark.parametrize("case", LEFT_OVER)
def test_what_is_left_over_leaves_out(case: str) -> None:
    others, spec, limit, expected = LEFT_OVER[case]
    ours = [node("a", cpu="4", labels={"ours": "yes"}), node("b", cpu="2500m", labels={"ours": "yes"})]
    (left,) = ask(snapshot_of([*ours, *others], []), workload(**spec), limit=limit).left_over
    assert (left.free, left.largest, left.on) == expected


@pytest.mark.parametrize(
    ("spec", "fits", "reason"),
    [
        ({}, 12, "Insufficient cpu"),
        ({"nodeSelector": {HOSTNAME: "n1"}}, 4, "node(s) didn't match Pod's node affinity/selector"),
        (
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": ZONE,
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    }
                ]
            },
            9,
            "node(s) didn't match pod topology spread constraints",
        ),
    ],
    ids=[
        "nothing but room counts for a plain pod",
        "a selector leaves one node",
        "a spread over zones ends when the smaller zone is full",
    ],
)
def test_all_rules_of_the_scheduler_count(spec: Json, fits: int, reason: str) -> None:
    nodes = [node("n0", zone="east", cpu="4"), node("n1", zone="west", cpu="4"), node("n2", zone="east", cpu="4")]
    result = ask(snapshot_of(nodes), workload(**spec))
    assert result.fits == fits
    assert reason in [each.reason for each in result.reasons]


def test_a_release_counts_whole_and_half_of_one_is_taken_back() -> None:
    nodes = [node("a", cpu="8")]
    result = ask(snapshot_of(nodes), workload(replicas=1), workload(name="db", cpu="2", replicas=1))
    assert (result.unit, result.fits, result.pods_each) == ("release of 2 pods", 2, 2)
    # 2 of 8 cpus are left by two releases, and 1 when the third db pod found no room beside the third web pod.
    assert result.nodes[0].pods == 4
    assert (result.nodes[0].free, result.next_fits) == ({"cpu": 1000}, 1)


def test_one_deployment_is_a_release_if_that_is_asked_for() -> None:
    result = ask(snapshot_of([node("a", cpu="8")]), workload(replicas=3), release=True)
    assert (result.unit, result.fits, result.pods_each) == ("release of 3 pods", 2, 3)


def test_a_quota_ends_it_before_the_nodes_do() -> None:
    quotas = [{"requests.cpu": "5500m"}, {"pods": "100"}]
    result = ask(snapshot_of([node("a", cpu="64")], [pod("old", on="a", cpu="1")], quotas), workload(replicas=1))
    assert (result.fits, result.ended) == (4, "quota")
    assert result.quota == QuotaRoom(quota="default/quota-requests-cpu", resource="requests.cpu", fits=4)


def test_what_the_api_server_lets_in_nothing_of_fits_no_time() -> None:
    result = ask(snapshot_of([node("a")], (), [{"pods": "0"}]), workload())
    assert (result.fits, result.ended, result.exit_code) == (0, "", 1)
    assert "exceeded quota" in result.failed[0].message


def test_a_release_of_which_a_quota_lets_in_one_pod_fits_no_time() -> None:
    result = ask(snapshot_of([node("a")], (), [{"pods": "1"}]), workload(replicas=2), release=True)
    assert (result.unit, result.fits, result.exit_code) == ("release of 2 pods", 0, 1)


@pytest.mark.parametrize(
    ("options", "fits", "ended", "exit_code"),
    [
        ({"limit": 2}, 2, "limit", 0),
        ({"limit": 4}, 4, "limit", 0),
        ({"limit": 5}, 4, "nodes", 0),
        ({"at_least": 4}, 4, "nodes", 0),
        ({"at_least": 5}, 4, "nodes", 1),
    ],
    ids=["a limit ends it", "also one that is just reached", "or is of no account", "enough", "too few"],
)
def test_limits(options: Json, fits: int, ended: str, exit_code: int) -> None:
    result = ask(snapshot_of([node("a", cpu="4")]), workload(), **options)
    assert (result.fits, result.ended, result.exit_code) == (fits, ended, exit_code)


def in_cluster(manifest: Manifest, snapshot: Snapshot) -> Snapshot:
    """The snapshot with the manifest's object, and with its pods running, as controllers make them."""
    made = expand([manifest], snapshot)
    for item in made.pods:
        snapshot.objects.add(replace(item.pod, spec=replace(item.pod.spec, node_name="a")))
    for obj in made.objects:
        snapshot.objects.add(obj)
    snapshot.whole[manifest.raw["kind"]] = [manifest.raw]
    return snapshot


CLAIM = {
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOncePod"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "late",
    },
}


@pytest.mark.parametrize(("kind", "more"), [("Deployment", {}), ("StatefulSet", {"volumeClaimTemplates": [CLAIM]})])
def test_a_workload_that_runs_already_can_be_asked_about_too(kind: str, more: Json) -> None:
    manifest = workload(kind)
    manifest.raw["spec"] |= more
    cluster = snapshot_of([node("a", cpu="8")])
    cluster.objects.add(storage_class("late", provisioner="csi.example.com"))
    result = ask(in_cluster(manifest, cluster), manifest, as_new=True)
    assert (result.unit, result.fits, result.ended) == (f"pod of {kind} default/web", 5, "nodes")
    assert "Insufficient cpu" in result.message


def test_a_workload_that_wants_no_pods_has_nothing_to_count() -> None:
    with pytest.raises(UsageError, match="nothing to count: the workloads of the manifests need no new pods"):
        ask(snapshot_of([node("a")]), workload(replicas=0))


def test_pods_of_a_release_are_placed_in_the_order_of_their_priorities() -> None:
    least, most = workload(name="least", cpu="2", replicas=1), workload(name="most", replicas=1, priority=7)
    result = ask(snapshot_of([node("a", cpu="2")]), least, most)
    assert result.fits == 0
    assert result.next_pod.startswith("default/least")


def test_nobody_is_evicted_for_a_copy() -> None:
    snapshot = snapshot_of([node("a", cpu="2")], [pod("low", on="a", cpu="1", priority=-5)])
    result = ask(snapshot, workload())
    assert (result.fits, result.evicting) == (1, 1)


def test_how_many_pods_one_more_would_evict_is_said() -> None:
    low = [pod(name, on="a", cpu="1", priority=-5) for name in ("one", "two")]
    result = ask(snapshot_of([node("a", cpu="2")], low), workload(cpu="2", replicas=1))
    assert (result.fits, result.evicting) == (0, 2)
    assert result.outcome.verdict.startswith("Does not fit: 0 times; one more by evicting 2 pods.")
    polite = workload(cpu="2", replicas=1, preemptionPolicy="Never")
    assert ask(snapshot_of([node("a", cpu="2")], low), polite).evicting == 0


def test_each_pod_of_a_stateful_set_gets_claims_of_its_own() -> None:
    manifest = workload("StatefulSet", "db")
    template = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    manifest.raw["spec"] |= {"serviceName": "db", "volumeClaimTemplates": [template]}
    manifest.raw["spec"]["podManagementPolicy"] = "Parallel"
    snapshot = snapshot_of([node("a", cpu="3")])
    assert ask(snapshot, manifest).fits == 3, "classes that nobody has read restrict nothing"
    snapshot.objects.put(StorageClass, [])
    result = ask(snapshot, manifest)
    # Without a storage class nothing provisions the claims.
    assert result.fits == 0
    assert "unbound immediate PersistentVolumeClaims" in result.message


def test_a_daemon_set_has_no_such_number() -> None:
    with pytest.raises(UsageError, match="DaemonSet default/agent has one pod on each node"):
        ask(snapshot_of([node("a")]), workload("DaemonSet", "agent"))


@pytest.mark.long
@pytest.mark.usefixtures("cluster_size")
@given(
    cpus=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    each=st.sampled_from(["300m", "1", "1700m"]),
    apart=st.booleans(),
)
def test_capacity_is_the_number_that_place_places(cpus: list[int], each: str, apart: bool) -> None:
    nodes = [node(f"n{i}", cpu=str(cpu), zone=f"z{i % 2}") for i, cpu in enumerate(cpus)]
    rule = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME}
    spec: Json = {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}} if apart else {}
    }
    fits = ask(snapshot_of(nodes), workload(cpu=each, **spec)).fits
    snapshot = snapshot_of(nodes)
    expanded = expand([workload(cpu=each, replicas=fits + 1, **spec)], snapshot)
    placed = place(Session(snapshot, Setup(default_configuration(), features_of())), expanded.pods)
    assert sum(placement.outcome == "placed" for placement in placed.placements) == fits


AUTOSCALED = Path(__file__).parents[3] / "samples" / "autoscaled"


def autoscaled(name: str) -> dict[str, Any]:
    """Cluster and node groups of the samples, and manifests of this name."""
    return {
        "manifests": [str(AUTOSCALED / name)],
        "snapshot": str(AUTOSCALED / "cluster.yaml"),
        "autoscale": str(AUTOSCALED / "groups.yaml"),
    }


@pytest.mark.parametrize("limit", [1, 4, None])
def test_what_copies_cost_is_one_sum_in_verdict_json_and_table(limit: int | None) -> None:
    result = kwhatif.capacity(**autoscaled("more.yaml"), limit=limit)
    assert result.scale_up is not None
    added = sum(each.nodes for each in result.outcome.added_nodes)
    assert added == len(result.scale_up.nodes) == sum(each.to - each.size for each in result.scale_up.groups)
    assert (result.outcome.cost or None) == result.scale_up.cost
    words = f"with {format_count(added, 'new node')}, {result.outcome.cost:,.2f} more a month"
    assert (words in result.outcome.verdict) == (added > 0)
    assert all(each.pods for each in result.scale_up.nodes)


def test_nodes_for_a_release_that_does_not_fit_after_all_are_not_bought() -> None:
    result = kwhatif.capacity(**autoscaled("web.yaml"))
    assert (result.fits, result.next_fits, result.pods_each) == (0, 6, 7)
    assert (result.outcome.added_nodes, result.outcome.cost) == ((), 0.0)
    assert result.outcome.verdict == "Does not fit: 0 times, 0 pods."


def test_one_copy_buys_what_place_buys() -> None:
    bought = kwhatif.capacity(**autoscaled("more.yaml"), limit=1).outcome
    placed = kwhatif.place(**autoscaled("more.yaml")).outcome
    assert (bought.added_nodes, bought.cost) == (placed.added_nodes, placed.cost)


def growing(directory: Path, most: int) -> dict[str, Any]:
    """A pod of 3 CPU, and a node of 4 that one without priority fills, in a group that grows to ``most`` such nodes."""
    full = snapshot_of([node("a", cpu="4", labels={"pool": "g"})], [pod("low", on="a", cpu="4", priority=-5)])
    group = {"name": "g", "max": most, "nodes": {"labels": {"pool": "g"}}}
    groups = directory / "groups.json"
    groups.write_text(json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "NodeGroups", "groups": [group]}))
    return {"manifests": [workload(cpu="3", replicas=1).raw], "snapshot": full, "autoscale": str(groups)}


def test_what_a_pod_requests_is_counted_once_though_nodes_were_added_for_the_first_copy(tmp_path: Path) -> None:
    result = kwhatif.capacity(**growing(tmp_path, 2))
    assert (result.fits, {left.resource: left.each for left in result.left_over}) == (1, {"cpu": 3000})


def test_copies_that_autoscalers_add_no_node_for_may_still_evict_others_as_place_has_it(tmp_path: Path) -> None:
    counted = kwhatif.capacity(**growing(tmp_path, 1))
    assert counted.outcome.verdict == "Does not fit: 0 times; one more by evicting 1 pod."
    (victim,) = kwhatif.place(**growing(tmp_path, 1)).placements[0].victims
    assert victim.pod == "default/low"


def test_no_node_has_room_left_for_the_pod_that_it_refuses() -> None:
    result = ask(snapshot_of([node("a", cpu="4500m"), node("b", cpu="4500m")]), workload(replicas=3), release=True)
    assert (result.fits, result.next_fits) == (2, 2)
    assert [(each.pods, each.free, each.reasons) for each in result.nodes] == [
        (3, {"cpu": 500}, ("Insufficient cpu",)),
        (3, {"cpu": 500}, ("Insufficient cpu",)),
    ]
    text = text_of(capacity_blocks(result))
    assert "Next copy:   2 of 3 pods find a node; LEFT OVER is what remains beside them" in text
