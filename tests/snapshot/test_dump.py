"""``kwhatif snapshot dump`` against what a real API server was recorded to answer, through the real client."""

from __future__ import annotations

import gzip
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, READ_KINDS
from kwhatif.snapshot.format.autoscaler_info import CONFIG_MAPS, AutoscalerInfo, GroupStatus
from kwhatif.snapshot.format.descheduler_info import CONFIG_MAPS as DESCHEDULER_CONFIG_MAPS
from kwhatif.snapshot.format.descheduler_info import DeschedulerInfo
from kwhatif.snapshot.live.control_plane import LABEL
from kwhatif.snapshot.load import load_snapshot
from tests.cli.running import refused, run
from tests.snapshot.dumping import dump, dumped
from tests.snapshot.server import Answer, ApiServer, objects_in

SCHEDULER = f"/api/v1/namespaces/kube-system/pods?labelSelector={LABEL.replace('=', '%3D')}"
CONFIG = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: mine\n"
)
UNSERVED = {
    *("AppGroup", "CoschedulingPodGroup", "ElasticQuota", "NetworkTopology", "NodeResourceTopology", "SeccompProfile"),
    *("AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology", "WorkloadPriorityClass"),
    *("DeviceTaintRule", "EC2NodeClass", "Machine", "MachineDeployment", "MachinePool", "MachineSet"),
    *(
        "HorizontalPodAutoscaler",
        "NodeClaim",
        "NodePool",
        "PodGroup",
        "PodMetrics",
        "ScaledObject",
        "VerticalPodAutoscaler",
        "KueueWorkload",
        "Workload",
    ),
}
"""Kinds that the recorded server did not serve."""


pytestmark = pytest.mark.usefixtures("hurry")


# --- what is in the file


@pytest.mark.long
def test_a_dump_has_every_object_that_the_server_had(server: ApiServer, tmp_path: Path) -> None:
    snapshot = dumped(server, tmp_path)
    served = [kind for kind in READ_KINDS if kind.name not in UNSERVED]
    for kind in served:
        there = {(o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in objects_in(kind.path("v1"))}
        if kind.name in KINDS:
            assert {(o.namespace, o.name) for o in snapshot.objects.list_all(KINDS[kind.name])} == there
        if kind.name in KEPT_WHOLE:
            whole = snapshot.whole[kind.name]
            assert {(o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in whole} == there
    assert (len(snapshot.objects.list_all(Node)), len(snapshot.objects.list_all(Pod))) == (67, 389)
    assert snapshot.unreadable == {}
    assert snapshot.inconsistencies == []
    assert snapshot.resource_versions.keys() == {kind.name for kind in served}
    assert snapshot.resource_versions["Pod"] == "2472"
    assert (snapshot.kubernetes_version, snapshot.scheduler) == ("v1.36", None)
    assert snapshot.source == f"loop ({server.url})"


@pytest.mark.long
def test_a_dump_holds_what_a_file_of_the_same_objects_does(server: ApiServer, tmp_path: Path) -> None:
    """What kubectl would have printed, loaded: scheduling sees the same but for what nobody reads."""
    snapshot = dumped(server, tmp_path)
    items = [{"apiVersion": "v1", "kind": "Node", **obj} for obj in objects_in("/api/v1/nodes")]
    (tmp_path / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    for mine, theirs in zip(
        snapshot.objects.list_all(Node),
        load_snapshot([str(tmp_path / "nodes.json")]).objects.list_all(Node),
        strict=True,
    ):
        assert (mine.spec, mine.metadata.labels, mine.metadata.uid) == (
            *(theirs.spec, theirs.metadata.labels),
            theirs.metadata.uid,
        )
        assert (mine.status.allocatable, mine.status.images) == (theirs.status.allocatable, theirs.status.images)
    for raw, pod in zip(objects_in("/api/v1/pods"), snapshot.objects.list_all(Pod), strict=True):
        assert pod.key == f"{raw['metadata']['namespace']}/{raw['metadata']['name']}"
        assert pod.spec.node_name == raw["spec"].get("nodeName")
        assert [c.resources is not None for c in pod.spec.containers or ()] == [
            "resources" in c for c in raw["spec"]["containers"]
        ]


def test_what_scheduling_never_reads_is_not_in_the_file(server: ApiServer, tmp_path: Path) -> None:
    snapshot = dumped(server, tmp_path)
    text = (tmp_path / "cluster.json").read_text()
    for noise in (
        "hunter2",
        "echo secret",
        "managedFields",
        "kubernetes.io/limit-ranger",
        "kube-api-access",
        "observed",
    ):
        assert noise not in text
    assert snapshot.dropped == ["command", "env"]


@pytest.mark.long
def test_templates_can_be_kept_whole(server: ApiServer, tmp_path: Path) -> None:
    snapshot = dumped(server, tmp_path, "--keep-templates")
    (template, *_) = (obj["spec"]["template"] for obj in snapshot.whole["Deployment"])
    assert template["spec"]["containers"][0]["env"] == [{"name": "PASSWORD", "value": "hunter2"}]
    assert snapshot.dropped == []
    assert "managedFields" not in (tmp_path / "cluster.json").read_text()


@pytest.mark.long
def test_secrets_are_never_asked_for_nor_config_maps_that_nobody_named(server: ApiServer, tmp_path: Path) -> None:
    dumped(server, tmp_path)
    assert {asked.path.rpartition("/")[2] for asked in server.requests} <= {
        *(kind.plural for kind in READ_KINDS),
        *("version", "apis", "configmaps"),
    }
    assert {asked.params.get("fieldSelector") for asked in server.requests if "configmaps" in asked.path} == {
        f"metadata.name={name}" for name in (*CONFIG_MAPS, *DESCHEDULER_CONFIG_MAPS)
    }


@pytest.mark.long
def test_a_dump_holds_what_the_autoscaler_says_of_itself(server: ApiServer, tmp_path: Path) -> None:
    text = "nodeGroups: [{name: web, health: {minSize: 1, maxSize: 9, cloudProviderTarget: 2}}]"
    item = {"metadata": {"name": CONFIG_MAPS[0], "namespace": "tools"}, "data": {"status": text, "other": "hunter3"}}
    server.put(
        f"/api/v1/configmaps?fieldSelector=metadata.name%3D{CONFIG_MAPS[0]}",
        {"kind": "ConfigMapList", "items": [item]},
    )
    snapshot = dumped(server, tmp_path)
    assert snapshot.autoscaler == AutoscalerInfo(
        groups=[GroupStatus(name="web", min=1, max=9, target=2)],
        groups_source="ConfigMap tools/cluster-autoscaler-status",
    )
    assert "hunter3" not in (tmp_path / "cluster.json").read_text()


@pytest.mark.long
def test_a_dump_holds_the_policy_of_the_descheduler(server: ApiServer, tmp_path: Path) -> None:
    policy = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": []}
    data = {"policy.yaml": json.dumps(policy), "other": "hunter3"}
    item = {"metadata": {"name": "descheduler", "namespace": "kube-system"}, "data": data}
    server.put(
        "/api/v1/configmaps?fieldSelector=metadata.name%3Ddescheduler", {"kind": "ConfigMapList", "items": [item]}
    )
    snapshot = dumped(server, tmp_path)
    assert snapshot.descheduler == DeschedulerInfo(
        policy=policy, source="ConfigMap kube-system/descheduler, policy.yaml"
    )
    assert "hunter3" not in (tmp_path / "cluster.json").read_text()


@pytest.mark.long
def test_the_same_cluster_gives_the_same_file_whoever_is_first(server: ApiServer, tmp_path: Path) -> None:
    texts = []
    for _ in range(3):
        dumped(server, tmp_path)
        envelope = json.loads((tmp_path / "cluster.json").read_text())
        assert envelope["metadata"].pop("takenAt")
        texts.append(json.dumps(envelope))
    assert len(set(texts)) == 1


@pytest.mark.parametrize("name", ["c.json", "c.json.gz", "c.json.zst"])
def test_the_file_is_packed_by_its_name_and_nobody_else_can_read_it(
    name: str, server: ApiServer, tmp_path: Path
) -> None:
    ran = dump(server, tmp_path, name=name)
    assert ran.code == 0
    data = (tmp_path / name).read_bytes()
    unpacked = {"gz": gzip.decompress, "zst": zstandard.ZstdDecompressor().decompressobj().decompress}
    assert json.loads(unpacked.get(name.rpartition(".")[2], bytes)(data))["kind"] == "ClusterSnapshot"
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert len(load_snapshot([str(tmp_path / name)]).objects.list_all(Pod)) == 389


@pytest.mark.long
def test_a_dump_goes_to_standard_output(server: ApiServer, tmp_path: Path) -> None:
    ran = dump(server, tmp_path, name="-")
    assert ran.code == 0
    assert len(json.loads(ran.out)["objects"]["Pod"]) == 389
    assert "to standard output: " in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig.json"]


def test_a_dump_says_what_is_in_it(server: ApiServer, tmp_path: Path) -> None:
    left_out, summary = dump(server, tmp_path).err.splitlines()
    assert left_out == "note: left out of pod templates: command, env; --keep-templates keeps them"
    assert summary.startswith(f"note: loop ({server.url}) to {tmp_path}/cluster.json (0.")
    assert "67 Node, 6 PersistentVolume, 3 PersistentVolumeClaim, 389 Pod, " in summary


@pytest.mark.long
def test_pages_are_asked_for_at_the_size_given_and_500_by_default(server: ApiServer, tmp_path: Path) -> None:
    dumped(server, tmp_path)
    assert {asked.params.get("limit") for asked in server.asked("/api/v1/pods")} == {"50"}
    assert len(server.asked("/api/v1/pods")) == 8
    server.requests.clear()
    run("snapshot", "dump", "--kubeconfig", server.kubeconfig(tmp_path), "-o", str(tmp_path / "x.json"))
    assert {asked.params.get("limit") for asked in server.asked("/api/v1/nodes")} == {"500"}


def test_the_catalogue_has_every_kind_that_a_snapshot_can_hold() -> None:
    assert {kind.name for kind in READ_KINDS} == {*KINDS, *KEPT_WHOLE}


@pytest.mark.long
def test_kinds_of_newer_and_older_versions_are_found_where_they_are_served(server: ApiServer, tmp_path: Path) -> None:
    """Alpha kinds are read where the server has them; of several versions the best one is taken."""
    versions = {"scheduling.k8s.io": ("v1", "v1alpha2"), "resource.k8s.io": ("v1beta2",)}
    groups = [{"name": name, "versions": [{"version": v} for v in found]} for name, found in versions.items()]
    server.put("/apis", {"kind": "APIGroupList", "groups": groups})
    workload = {
        "metadata": {"name": "train", "namespace": "ml", "managedFields": []},
        "spec": {"podGroupTemplates": []},
    }
    path = "/apis/scheduling.k8s.io/v1alpha2/workloads?limit=50"
    server.put(path, {"kind": "WorkloadList", "metadata": {"resourceVersion": "5"}, "items": [workload]})
    empty = {"kind": "DeviceClassList", "metadata": {"resourceVersion": "6"}, "items": None}
    server.put("/apis/resource.k8s.io/v1beta2/deviceclasses?limit=50", empty)
    snapshot = dumped(server, tmp_path)
    (kept,) = snapshot.whole["Workload"]
    assert (kept["apiVersion"], kept["metadata"]) == (
        "scheduling.k8s.io/v1alpha2",
        {"name": "train", "namespace": "ml"},
    )
    assert snapshot.whole["PodGroup"] == [], "what is not served has no objects"
    assert "PodGroup" not in snapshot.unreadable
    assert snapshot.resource_versions["DeviceClass"] == "6"
    assert snapshot.unreadable["Deployment"] == "the cluster does not serve it (404: apps/v1)"


# --- what changed meanwhile


def node_list(*names: str) -> dict[str, Any]:
    items = [{"metadata": {"name": name}} for name in names]
    return {"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": items}


def pod_list(*pods: tuple[str, str], token: str = "") -> dict[str, Any]:
    items = [
        {"metadata": {"name": name, "namespace": "a"}, "spec": {"nodeName": node, "containers": []}}
        for name, node in pods
    ]
    metadata = {"resourceVersion": "1", **({"continue": token} if token else {})}
    return {"kind": "PodList", "metadata": metadata, "items": items}


def test_a_node_that_came_while_the_lists_were_read_is_found_when_they_are_read_again(
    server: ApiServer, tmp_path: Path
) -> None:
    server.put("/api/v1/nodes?limit=50", node_list("n1"), node_list("n1", "n2"))
    server.put("/api/v1/pods?limit=50", pod_list(("p", "n1"), ("q", "n2")))
    ran = dump(server, tmp_path)
    assert "note: reading Node, Pod again: 1 pod is on nodes that are not in the list of nodes: n2\n" in ran.err
    snapshot = load_snapshot([str(tmp_path / "cluster.json")])
    assert [node.name for node in snapshot.objects.list_all(Node)] == ["n1", "n2"]
    assert snapshot.inconsistencies == []
    assert len(server.asked("/api/v1/namespaces")) == 1


@pytest.mark.parametrize(("retries", "times"), [("0", 1), ("1", 2), ("3", 4)])
def test_what_never_fits_together_is_in_the_file(retries: str, times: int, server: ApiServer, tmp_path: Path) -> None:
    server.put("/api/v1/nodes?limit=50", node_list("n1"))
    server.put("/api/v1/pods?limit=50", pod_list(("p", "n1"), *((f"q{i}", f"gone-{i}") for i in range(5))))
    ran = dump(server, tmp_path, "--retries", retries)
    text = "5 pods are on nodes that are not in the list of nodes: gone-0, gone-1, gone-2 and 2 more"
    assert f"warning: the lists do not fit together: {text}\n" in ran.err
    assert ran.code == 0
    assert load_snapshot([str(tmp_path / "cluster.json")]).inconsistencies == [text]
    assert len(server.asked("/api/v1/pods")) == times


def test_a_pod_that_is_over_may_stay_longer_than_its_node(server: ApiServer, tmp_path: Path) -> None:
    pods = pod_list(("p", "n1"), ("done", "gone"))
    pods["items"][1]["status"] = {"phase": "Succeeded"}
    server.put("/api/v1/nodes?limit=50", node_list("n1"))
    server.put("/api/v1/pods?limit=50", pods)
    assert dumped(server, tmp_path).inconsistencies == []


def test_strict_writes_nothing_if_lists_do_not_fit_together(server: ApiServer, tmp_path: Path) -> None:
    server.put("/api/v1/nodes?limit=50", node_list("n1"))
    server.put("/api/v1/pods?limit=50", pod_list(("q", "gone")))
    ran = dump(server, tmp_path, "--strict")
    assert ran.code == 2
    assert ran.err.endswith(
        "kwhatif: --strict: the lists do not fit together: 1 pod is on nodes that are not in the list of nodes: gone\n"
    )
    assert not (tmp_path / "cluster.json").exists()


def test_a_pod_seen_on_two_pages_is_there_once_as_it_was_last(server: ApiServer, tmp_path: Path) -> None:
    server.put("/api/v1/nodes?limit=50", node_list("n1", "n2"))
    server.put("/api/v1/pods?limit=50", pod_list(("p", "n1"), ("q", "n1"), token="more"))
    server.put("/api/v1/pods?limit=50&continue=more", pod_list(("p", "n2")))
    dump(server, tmp_path, "--retries", "0")
    snapshot = load_snapshot([str(tmp_path / "cluster.json")])
    assert {pod.name: pod.spec.node_name for pod in snapshot.objects.list_all(Pod)} == {"p": "n2", "q": "n1"}
    assert snapshot.inconsistencies == ["seen twice while the list of Pod was read: a/p"]


@pytest.mark.long
def test_a_claim_bound_to_a_volume_that_no_list_has_is_told(server: ApiServer, tmp_path: Path) -> None:
    (claim, *others) = objects_in("/api/v1/persistentvolumeclaims")
    claim = {**claim, "spec": {**claim["spec"], "volumeName": "pv-gone"}, "status": {"phase": "Bound"}}
    claims = {"kind": "PersistentVolumeClaimList", "metadata": {"resourceVersion": "3"}, "items": [claim, *others]}
    server.put("/api/v1/persistentvolumeclaims?limit=50", claims)
    (told,) = dumped(server, tmp_path).inconsistencies
    assert told.startswith("claims are bound to volumes that are not in the list of volumes: ")


# --- the scheduler


def scheduler_pods(*commands: list[str]) -> dict[str, Any]:
    items = [
        {
            "metadata": {"name": f"kube-scheduler-cp{i}", "namespace": "kube-system"},
            "spec": {"containers": [{"name": "kube-scheduler", "image": "scheduler:v1.36.1", "command": command}]},
        }
        for i, command in enumerate(commands)
    ]
    return {"kind": "PodList", "metadata": {}, "items": items}


def test_a_static_pod_tells_the_image_and_the_feature_gates(server: ApiServer, tmp_path: Path) -> None:
    command = ["kube-scheduler", "--feature-gates=A=true,B=false,C=maybe", "--leader-elect=true", "--v", "2"]
    server.put(SCHEDULER, scheduler_pods(command))
    found = dumped(server, tmp_path).scheduler
    assert found is not None
    assert (found.image, found.feature_gates, found.configuration, found.source) == (
        "scheduler:v1.36.1",
        {"A": True, "B": False},
        None,
        "Pod kube-system/kube-scheduler-cp0",
    )


def test_a_configuration_on_the_node_is_out_of_reach_and_that_is_said(server: ApiServer, tmp_path: Path) -> None:
    server.put(SCHEDULER, scheduler_pods(["kube-scheduler", "--config", "/etc/kubernetes/scheduler.yaml"]))
    assert (
        "note: the scheduler reads its configuration from /etc/kubernetes/scheduler.yaml on its node, out of reach "
        "from here; a ConfigMap that holds it can be named with --scheduler-config NAMESPACE/NAME\n"
    ) in dump(server, tmp_path).err


def test_schedulers_with_different_gates_are_told(server: ApiServer, tmp_path: Path) -> None:
    server.put(SCHEDULER, scheduler_pods(["s", "--feature-gates=A=true"], ["s", "--feature-gates=A=false"]))
    assert "different feature gates: those of kube-scheduler-cp0 are taken" in dump(server, tmp_path).err


@pytest.mark.long
def test_a_config_map_that_is_named_is_read_and_no_other(server: ApiServer, tmp_path: Path) -> None:
    config_map = {"kind": "ConfigMap", "data": {"README": "see: {wiki", "scheduler.yaml": CONFIG}}
    server.put("/api/v1/namespaces/kube-system/configmaps/scheduler", config_map)
    found = dumped(server, tmp_path, "--scheduler-config", "kube-system/scheduler").scheduler
    assert found is not None
    assert found.source == "ConfigMap kube-system/scheduler"
    assert found.configuration == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "mine"}],
    }
    assert [asked.path for asked in server.asked(".*/namespaces/.*/configmaps.*")] == [
        "/api/v1/namespaces/kube-system/configmaps/scheduler"
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"a": "x: y"}, "expected one KubeSchedulerConfiguration, found only a"),
        ({}, "expected one KubeSchedulerConfiguration, found only nothing"),
        ({"a": CONFIG, "b": CONFIG}, "expected one KubeSchedulerConfiguration, found a, b"),
    ],
)
def test_a_config_map_without_one_configuration_is_refused(
    data: dict[str, str], why: str, server: ApiServer, tmp_path: Path
) -> None:
    server.put("/api/v1/namespaces/kube-system/configmaps/scheduler", {"kind": "ConfigMap", "data": data})
    ran = dump(server, tmp_path, "--scheduler-config", "kube-system/scheduler")
    assert (ran.code, ran.err) == (2, f"kwhatif: ConfigMap kube-system/scheduler: {why}\n")
    assert not (tmp_path / "cluster.json").exists()


@pytest.mark.long
def test_a_configuration_that_no_answer_could_use_is_kept_and_told(server: ApiServer, tmp_path: Path) -> None:
    data = {"scheduler.yaml": CONFIG.replace("profiles", "parallelism: -1\nprofiles")}
    server.put("/api/v1/namespaces/kube-system/configmaps/scheduler", {"kind": "ConfigMap", "data": data})
    ran = dump(server, tmp_path, "--scheduler-config", "kube-system/scheduler")
    assert ran.code == 0
    assert (
        "warning: ConfigMap kube-system/scheduler: kube-scheduler would refuse this configuration: parallelism: "
    ) in ran.err


def test_a_config_map_that_is_not_there_is_refused(server: ApiServer, tmp_path: Path) -> None:
    ran = dump(server, tmp_path, "--scheduler-config", "kube-system/scheduler")
    assert ran.err == (
        "kwhatif: --scheduler-config: ConfigMap kube-system/scheduler cannot be read: 404: the server could not find "
        "the requested resource\n"
    )


def test_a_config_map_is_named_with_its_namespace(tmp_path: Path) -> None:
    line = refused("snapshot", "dump", "-o", str(tmp_path / "c.json"), "--scheduler-config", "scheduler")
    assert line == "--scheduler-config: expected NAMESPACE/NAME, found 'scheduler'"


# --- a version that says nothing


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "told"),
    [
        ({"gitVersion": "v1.31.4-eks-7f9249a", "major": "1", "minor": "31+"}, "v1.31.4-eks-7f9249a"),
        ({"gitVersion": "v0.0.0-master+$Format:%H$", "major": "1", "minor": "36"}, "v1.36"),
        ({"gitVersion": "v1.30.1"}, "v1.30.1"),
    ],
)
def test_the_release_is_what_the_server_says(
    version: dict[str, str], told: str, server: ApiServer, tmp_path: Path
) -> None:
    server.fail("/version", Answer(200, version))
    assert dumped(server, tmp_path).kubernetes_version == told


# --- redacted at once


@pytest.mark.long
def test_a_dump_can_be_redacted_before_it_is_written(server: ApiServer, tmp_path: Path) -> None:
    translation = tmp_path / "names.json"
    snapshot = dumped(server, tmp_path, "--redact", "--translation", str(translation))
    assert snapshot.redacted
    text = (tmp_path / "cluster.json").read_text()
    for name in ("runner-78d4c9559f", "127.0.0.1", "registry.example", "loop"):
        assert name not in text
    assert stat.S_IMODE(translation.stat().st_mode) == 0o600
    ran = run("snapshot", "reveal", str(tmp_path / "cluster.json"), "--translation", str(translation))
    assert "runner-78d4c9559f" in ran.out


@pytest.mark.parametrize("words", [("--redact",), ("--translation", "names.json")])
def test_redacting_needs_a_place_for_the_names(words: tuple[str, ...], tmp_path: Path) -> None:
    line = refused("snapshot", "dump", "-o", str(tmp_path / "c.json"), *words)
    assert line == "--redact and --translation go together: the names that are replaced are kept in that file"


def test_the_names_are_not_kept_where_the_snapshot_is(tmp_path: Path) -> None:
    out = str(tmp_path / "c.json")
    line = refused("snapshot", "dump", "-o", out, "--redact", "--translation", out)
    assert line == "--translation and -o name the same file: one is private, the other is to be shared"


# --- what pods use


def pod_metrics(*pods: tuple[str, str]) -> Answer:
    items = [
        {
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": "a"}},
            "timestamp": "2026-11-20T08:00:00Z",
            "window": "15s",
            "containers": [{"name": "main", "usage": {"cpu": "12345678n", "memory": "20480Ki"}}],
        }
        for namespace, name in pods
    ]
    return Answer(
        200, {"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}
    )


@pytest.mark.long
def test_what_pods_use_is_read_where_it_is_asked_for(server: ApiServer, tmp_path: Path) -> None:
    path = "/apis/metrics.k8s.io/v1beta1/pods"
    bound = [pod for pod in dumped(server, tmp_path).objects.list_all(Pod) if pod.spec.node_name][:2]
    assert not server.asked(path)
    # A server that does not say which groups it has is asked for all of them.
    server.fail("/apis", Answer(403), times=9)
    server.fail(path, pod_metrics(*((pod.namespace, pod.name) for pod in bound)), times=9)
    snapshot = dumped(server, tmp_path, "--usage")
    found = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in snapshot.whole["PodMetrics"]}
    assert found.keys() == {(pod.namespace, pod.name) for pod in bound}
    assert all(
        each["containers"] == [{"name": "main", "usage": {"cpu": "12345678n", "memory": "20480Ki"}}]
        for each in found.values()
    )


@pytest.mark.long
def test_a_cluster_without_metrics_is_dumped_without_what_pods_use(server: ApiServer, tmp_path: Path) -> None:
    ran = dump(server, tmp_path, "--usage")
    assert ran.code == 0
    assert "note: the cluster does not serve metrics.k8s.io: what pods use is not in the snapshot" in ran.err
    assert not load_snapshot([str(tmp_path / "cluster.json")]).whole.get("PodMetrics")
