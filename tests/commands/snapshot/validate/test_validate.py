"""What does not go together, a row a mistake; and that nothing is said of what nobody can know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.api.decode import convert
from kwhatif.api.devices import DeviceResults
from kwhatif.api.meta import Resource
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.commands.snapshot.validate.validate import check, validate
from kwhatif.snapshot.load import load_snapshot
from tests.builders import FEATURES, GPU, budget, namespace, node, pod, pods_like, replica_set, select
from tests.device_builders import claim as device_claim
from tests.device_builders import device_class, devices_of, first_of, pod_with, request
from tests.device_builders import template as claim_template
from tests.simulation.snapshots import snapshot_of
from tests.storage_builders import attachment, claim, claiming, csi_node, volume

HERE = Path(__file__).parents[3]
BROKEN = str(HERE / "data" / "broken-snapshot.json")


def found(*objects: Resource, covers: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    return [(f.level, f.rule, f.object) for f in check(snapshot_of(*objects, covers=covers), FEATURES)]


def messages(*objects: Resource, covers: tuple[str, ...] = ()) -> list[str]:
    return [f.message for f in check(snapshot_of(*objects, covers=covers), FEATURES)]


def priority_class(name: str, value: int, default: bool = False) -> PriorityClass:
    return convert({"metadata": {"name": name}, "value": value, "globalDefault": default}, PriorityClass)


def sharing(name: str, **more: Any) -> Resource:
    """A claim that has a device of the node ``n`` in another way than for itself."""
    made = device_claim(name, has=["g0"], node="n")
    assert made.status.allocation is not None
    (result,) = made.status.allocation.devices.results or []
    allocation = replace(made.status.allocation, devices=DeviceResults(results=[replace(result, **more)]))
    return replace(made, status=replace(made.status, allocation=allocation))


N = node("n", cpu="2", memory="4Gi", pods=2)
BAD_TERM = pods_like({"matchExpressions": [{"key": "app", "operator": "In"}]})
WEB = ("apps/v1", "ReplicaSet", "web")

MISTAKES: dict[str, tuple[tuple[Resource, ...], tuple[str, ...], list[tuple[str, str, str]]]] = {
    "nothing at all": ((), (), []),
    "a pod that fits": ((N, pod("p", on="n", cpu="2")), (), []),
    "more cpu asked for than there is": (
        (N, pod("p", on="n", cpu="1"), pod("q", on="n", cpu="1001m")), (),
        [("error", "over-committed", "Node n")],
    ),
    "a finished pod asks for nothing": ((N, pod("p", on="n", cpu="9", status={"phase": "Failed"})), (), []),
    "a resource the node has none of": (
        (N, pod("p", on="n", requests={GPU: "1"})), (), [("error", "over-committed", "Node n")],
    ),
    "more pods than may run": (
        (N, *(pod(f"p{i}", on="n") for i in range(3))), (), [("error", "over-committed", "Node n")],
    ),
    "a node that is not there": ((N, pod("p", on="gone")), (), [("error", "unknown-node", "Pod default/p")]),
    "nodes were not looked at": ((pod("p", on="gone"),), (), []),
    "nodes were looked at, and there are none": (
        (pod("p", on="gone"),), ("Node",), [("error", "unknown-node", "Pod default/p")],
    ),
    "nominated to a node that is not there": (
        (N, pod("p", nominated="gone")), (), [("warning", "unknown-node", "Pod default/p")],
    ),
    "bound, and still pending": (
        (N, pod("p", on="n", status={"phase": "Pending"})), (), [("warning", "bound-but-pending", "Pod default/p")],
    ),
    "running without a node": (
        (pod("p", status={"phase": "Running"}),), (), [("error", "running-nowhere", "Pod default/p")],
    ),
    "the same hostname twice": (
        (node("a"), node("b", labels={"kubernetes.io/hostname": "a"})), (),
        [("warning", "duplicate-hostname", "Node b")],
    ),
    "one host port twice": (
        (N, pod("p", on="n", ports=[80]), pod("q", on="n", ports=["10.0.0.1:80"])), (),
        [("error", "host-port-conflict", "Node n")],
    ),
    "one host port on two addresses or protocols": (
        (N, pod("p", on="n", ports=["10.0.0.1:80", "53/UDP"]), pod("q", on="n", ports=["10.0.0.2:80", "53/TCP"])), (),
        [],
    ),
    "an owner that is not there, once for all its pods": (
        (N, pod("p", on="n", owner=WEB), pod("q", on="n", owner=WEB)), ("ReplicaSet",),
        [("warning", "missing-owner", "ReplicaSet default/web")],
    ),
    "an owner that is there": ((N, pod("p", owner=WEB), replica_set("web", select(app="web"))), (), []),
    "an owner of a kind that nobody here reads": (
        (pod("p", owner=("example.com/v1", "ReplicaSet", "web")),), ("ReplicaSet",), [],
    ),
    "a budget for nobody": (
        (pod("p", labels={"app": "web"}), budget("b", select(app="api"))), (),
        [("warning", "budget-selects-nothing", "PodDisruptionBudget default/b")],
    ),
    "a budget for pods of another namespace": (
        (pod("p", labels={"app": "web"}), budget("b", select(app="web"), namespace="other")), (),
        [("warning", "budget-selects-nothing", "PodDisruptionBudget other/b")],
    ),
    "a budget for all": ((pod("p"), budget("b", select())), (), []),
    "a priority that is not the class's": (
        (pod("p", priority=5, spec={"priorityClassName": "high"}), priority_class("high", 10)), (),
        [("warning", "priority-mismatch", "Pod default/p")],
    ),
    "a priority class that is not there": (
        (pod("p", priority=5, spec={"priorityClassName": "high"}),), ("PriorityClass",),
        [("warning", "missing-priority-class", "Pod default/p")],
    ),
    "the system's own classes need not be listed": (
        (pod("p", priority=2_000_001_000, spec={"priorityClassName": "system-node-critical"}),), ("PriorityClass",), [],
    ),
    "two default classes": (
        (priority_class("a", 1, True), priority_class("b", 2, True)), (),
        [("warning", "two-default-classes", "PriorityClass b")],
    ),
    "a namespace that is not there, once": (
        (namespace("default"), pod("p", namespace="shop"), pod("q", namespace="shop")), (),
        [("error", "missing-namespace", "Namespace shop")],
    ),
    "a selector nobody can parse": ((pod("p", far=[BAD_TERM]),), (), [("error", "bad-selector", "Pod default/p")]),
    "a start that is no time": ((pod("p", started="yesterday"),), (), [("error", "bad-time", "Pod default/p")]),
    "a running pod without its claim": (
        (N, claiming("data", on="n")), ("PersistentVolumeClaim",), [("error", "missing-claim", "Pod default/pod")],
    ),
    "a waiting pod without its claim": (
        (claiming("data"),), ("PersistentVolumeClaim",), [("warning", "missing-claim", "Pod default/pod")],
    ),
    "claims were not looked at": ((N, claiming("data", on="n")), (), []),
    "a claim bound to a volume that is not there": (
        (claim("data", bound_to="pv"),), ("PersistentVolume",),
        [("error", "claim-without-volume", "PersistentVolumeClaim default/data")],
    ),
    "a claim and its volume that agree": ((claim("data", bound_to="pv"), volume("pv", kept_for="data")), (), []),
    "a volume that is kept for another claim": (
        (claim("data", bound_to="pv"), volume("pv", kept_for="other")), (),
        [("error", "claim-volume-mismatch", "PersistentVolumeClaim default/data")],
    ),
    "a volume that is kept for an earlier claim of the name": (
        (claim("data", bound_to="pv"), volume("pv", kept_for="data", kept_uid="uid-earlier")), (),
        [("error", "claim-volume-mismatch", "PersistentVolumeClaim default/data")],
    ),
    "a bound volume without its claim": (
        (volume("pv", kept_for="data", phase="Bound"),), ("PersistentVolumeClaim",),
        [("warning", "volume-without-claim", "PersistentVolume pv")],
    ),
    "a released volume keeps its reference": (
        (volume("pv", kept_for="data", phase="Released"),), ("PersistentVolumeClaim",), [],
    ),
    "a storage class that is not there": (
        (claim("data", storage_class="fast"),), ("StorageClass",),
        [("warning", "missing-storage-class", "PersistentVolumeClaim default/data")],
    ),
    "an attachment to nothing": (
        (N, attachment("pv", "gone")), ("PersistentVolume",),
        [("warning", "claim-without-volume", "VolumeAttachment"), ("warning", "unknown-node", "VolumeAttachment")],
    ),
    "a CSINode without a Node": ((N, csi_node("gone")), (), [("warning", "unknown-node", "CSINode gone")]),
    "a device claim that is not there": (
        (N, pod("p", on="n", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]})),
        ("ResourceClaim",),
        [("error", "missing-resource-claim", "Pod default/p")],
    ),
    "a device for a pod": (
        (N, devices_of("n", ["g0"]), device_claim(has=["g0"], node="n", used_by=["p"]), pod_with("c", on="n")), (), [],
    ),
    "a device that no slice has": (
        (devices_of("n", ["g0"]), device_claim(has=["g1"], node="n")), (),
        [("warning", "unknown-device", "ResourceClaim default/c")],
    ),
    "a device that the pool has no longer": (
        (
            devices_of("n", ["g0", "g1"]), devices_of("n", ["g0"], generation=2),
            device_claim(has=["g1"], node="n"),
        ), (),
        [("warning", "unknown-device", "ResourceClaim default/c")],
    ),
    "slices were not looked at": ((device_claim(has=["g1"], node="n"),), (), []),
    "a device that two claims have": (
        tuple(device_claim(name, has=["g0"], node="n") for name in ("a", "b")), (),
        [("error", "device-allocated-twice", "ResourceClaim default/b")],
    ),
    "a device that a claim has twice": (
        (device_claim(has=["g0", "g0"], node="n"),), (),
        [("error", "device-allocated-twice", "ResourceClaim default/c")],
    ),
    "a device that claims share": (
        (sharing("a", share_id="1"), sharing("b", share_id="2")), (), [],
    ),
    "a device that one shares with another who has it alone": (
        (sharing("a", share_id="1"), sharing("b")), (),
        [("error", "device-allocated-twice", "ResourceClaim default/b")],
    ),
    "an administrator takes nothing away": ((sharing("a"), sharing("b", admin_access=True)), (), []),
    "a device class that is not there": (
        (device_claim(), claim_template("t", request())), ("DeviceClass",),
        [
            ("warning", "missing-device-class", "ResourceClaim default/c"),
            ("warning", "missing-device-class", "ResourceClaimTemplate default/t"),
        ],
    ),
    "one of several device classes is not there": (
        (device_class("a100"), device_claim("c", first_of("r", request("x", of="a100"), request("y", of="t4")))), (),
        [("warning", "missing-device-class", "ResourceClaim default/c")],
    ),
    "the class of a claim that has its devices is not asked for": (
        (device_claim(has=["g0"], node="n"),), ("DeviceClass",), [],
    ),
    "devices of a node that is not there": (
        (N, devices_of("gone", ["g0"])), (), [("warning", "unknown-node", "ResourceSlice gone-1")],
    ),
    "a claim reserved for a pod that is not there": (
        (device_claim(has=["g0"], node="n", used_by=["p"]),), ("Pod",),
        [("warning", "reserved-for-missing-pod", "ResourceClaim default/c")],
    ),
    "a pod that runs with a claim that nobody reserved for it": (
        (N, device_claim(has=["g0"], node="n"), pod_with("c", on="n")), (),
        [("warning", "claim-not-reserved", "Pod default/p")],
    ),
    "a resource that a device class serves": (
        (N, device_class(extendedResourceName=GPU), pod("p", on="n", requests={GPU: "1"})), (), [],
    ),
    "a pod that waits for its devices": ((N, device_claim(), pod_with("c")), (), []),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_finds(mistake: str) -> None:
    objects, covers, wanted = MISTAKES[mistake]
    assert _short(found(*objects, covers=covers)) == wanted


def _short(some: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Attachments are named by chance."""
    return [(a, b, c.split()[0] if c.startswith("VolumeAttachment") else c) for a, b, c in some]


def test_findings_have_numbers() -> None:
    crowd = [pod(f"p{i}", on="n", cpu="750m", memory="1536Mi") for i in range(3)]
    assert messages(N, *crowd) == [
        "3 pods request 2250m cpu, allocatable is 2: 250m too much",
        "3 pods request 4.5Gi memory, allocatable is 4Gi: 512Mi too much",
        "3 pods run here, 2 may",
    ]
    owned = [pod(f"p{i}", owner=WEB) for i in range(5)]
    assert messages(*owned, covers=("ReplicaSet",)) == ["is not there, but owns 5 pods: p0, p1, p2 and 2 more"]


def test_findings_name_devices() -> None:
    twins = [device_claim(name, has=["g0"], node="n") for name in ("a", "b")]
    assert messages(*twins, device_claim("c", has=["g1", "g1"], node="n"), covers=("ResourceSlice",)) == [
        "has device gpu.example.com/n/g0, and so does ResourceClaim default/a",
        "has device gpu.example.com/n/g1 twice",
        "has device gpu.example.com/n/g0, which no ResourceSlice has",
        "has device gpu.example.com/n/g0, which no ResourceSlice has",
        "has device gpu.example.com/n/g1, which no ResourceSlice has",
    ]


def test_what_the_snapshot_says_of_itself_is_a_warning() -> None:
    snapshot = snapshot_of(N)
    snapshot.unreadable, snapshot.inconsistencies = {"Pod": "forbidden"}, ["a pod moved"]
    assert [(f.rule, f.object, f.message) for f in check(snapshot, FEATURES)] == [
        ("changed-while-read", "", "a pod moved"),
        ("unreadable-kind", "Pod", "could not be read: forbidden"),
    ]


# --- files


def test_of_a_file_that_cannot_be_loaded_everything_wrong_is_told_with_its_place() -> None:
    result = validate([BROKEN], FEATURES)
    unread = [(f.rule, f.object, f.place, f.message) for f in result.findings if f.place]
    assert unread == [
        ("schema", "", "$.metadata.takenAt", 'expected a time such as "2026-03-01T11:29:02Z", found "yesterday"'),
        ("schema", "Node ant-2", "$.objects.Node[2].spec.taints[0].key", "expected a string, found the number 5"),
        ("schema", "Node ant-2", "$.objects.Node[2].spec.unschedulable", 'expected true or false, found "yes"'),
        (
            "schema", "Node ant-2", "$.objects.Node[2].status.allocatable.cpu",
            'expected a quantity such as "500m" or "1Gi", found "two"',
        ),
        ("schema", "Pod", "$.objects.Pod[5].metadata.name", "expected a name, found none"),
        (
            "schema", "Pod shop/odd", "$.objects.Pod[6].spec.containers[0].resources.requests.cpu",
            'expected a quantity such as "500m" or "1Gi", found a list',
        ),
        (
            "schema", "Pod shop/odd", "$.objects.Pod[6].spec.containers[0].resources.requests.memory",
            'expected a quantity such as "500m" or "1Gi", found "1GB"',
        ),
        ("schema", "Pod shop/odd", "$.objects.Pod[6].spec.containers[1]", 'expected an object, found "main"'),
        (
            "schema", "Pod shop/odd", "$.objects.Pod[6].spec.priority",
            "expected an integer from -2147483648 to 2147483647, found the number 9999999999",
        ),
    ]  # fmt: skip
    assert (result.exit_code, result.warnings) == (1, 10)
    rules = {f.rule for f in result.findings if not f.place}
    assert {"unknown-node", "claim-without-volume", "over-committed", "host-port-conflict"} <= rules


def test_an_object_that_cannot_be_read_is_there_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    odd = {"metadata": {"name": "n"}, "spec": {"unschedulable": "maybe"}}
    runs = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": "n"}}
    head = {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot"}
    file.write_text(json.dumps({**head, "objects": {"Node": [odd], "Pod": [runs]}}))
    assert [f.rule for f in validate([str(file)], FEATURES).findings] == ["schema"]


def test_manifests_are_looked_at_as_well(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    one = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"
    file.write_text(f"{one}---\n{one}---\napiVersion: v1\nkind: Node\nmetadata: {{name: b}}\nspec: []\n")
    result = validate([str(file)], FEATURES)
    assert [(f.rule, f.source, f.place) for f in result.findings] == [
        ("schema", f"{file} document 3 (line 9)", "$.spec"),
    ]


@pytest.mark.parametrize("text", ["{", "[1, 2", "a: [", "", "apiVersion: v1"])
def test_what_is_no_snapshot_at_all_is_one_finding(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    result = validate([str(file)], FEATURES)
    assert [f.level for f in result.findings] == ["error"]
    assert result.exit_code == 1


@pytest.mark.parametrize(
    "path", ["samples/cluster", "samples/three-nodes.json", "samples/gpu/cluster.json", "tests/data/cluster.json"]
)
def test_nothing_is_wrong_with_what_is_sound(path: str) -> None:
    file = str(HERE.parent / path)
    assert validate([file], FEATURES).findings == ()
    assert len(load_snapshot([file]).objects) == validate([file], FEATURES).objects


def test_warnings_count_where_they_are_told_to(tmp_path: Path) -> None:
    file = tmp_path / "twins.yaml"
    one = "---\napiVersion: v1\nkind: Node\nmetadata: {name: NAME, labels: {kubernetes.io/hostname: x}}\n"
    file.write_text(one.replace("NAME", "a") + one.replace("NAME", "b"))
    assert validate([str(file)], FEATURES).exit_code == 0
    assert validate([str(file)], FEATURES, strict=True).exit_code == 1
