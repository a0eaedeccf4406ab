"""Kinds of jobs: how many Workloads come of each, of which pod sets, and that their pods wait or start with them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

import kwhatif
from kwhatif.api.kueue import QUEUE_LABEL
from kwhatif.errors import InputError
from tests.commands.queue.test_queue import cluster_queue, queues, there
from tests.workloads.operators.examples import RUNTIME, example, read

QUEUE = {QUEUE_LABEL: "a"}
CONTAINER = {"name": "main", "image": "main", "resources": {"requests": {"cpu": "1"}}}


COVERED = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu")


def plenty() -> dict[str, Any]:
    """A ClusterQueue with much of everything."""
    made = cluster_queue("a", "1000")
    group = made["spec"]["resourceGroups"][0]
    group["coveredResources"] = list(COVERED)
    group["flavors"][0]["resources"] = [{"name": name, "nominalQuota": "1Ti"} for name in COVERED]
    return made


def queued(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    labels = {**metadata.get("labels", {}), **QUEUE}
    return {**obj, "metadata": {**metadata, "namespace": "ml", "labels": labels}}


def plain(kind: str, api_version: str, spec: dict[str, Any], **labels: str) -> dict[str, Any]:
    return queued(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "labels": labels}, "spec": spec}
    )


def replicated(kind: str, replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return plain(kind, "apps/v1", {**spec, **({"serviceName": "web"} if kind == "StatefulSet" else {})})


def pod(name: str, **labels: str) -> dict[str, Any]:
    made = plain("Pod", "v1", {"containers": [CONTAINER]}, **labels)
    made["metadata"]["name"] = name
    return made


GROUP = {"kueue.x-k8s.io/pod-group-name": "pair"}
TOTAL = "kueue.x-k8s.io/pod-group-total-count"


def member(name: str, total: str, cpu: str = "", **annotations: str) -> dict[str, Any]:
    """A pod of the group."""
    made = pod(name, **GROUP)
    made["metadata"]["annotations"] = {TOTAL: total, **annotations}
    if cpu:
        made["spec"] = {"containers": [{**CONTAINER, "resources": {"requests": {"cpu": cpu}}}]}
    return made


def fixed_cluster() -> dict[str, Any]:
    """A RayCluster without an autoscaler, which Kueue would refuse."""
    made = example("RayCluster.ray.io")
    made["spec"]["enableInTreeAutoscaling"] = False
    return made


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        ([example("JobSet.jobset.x-k8s.io")], [[("driver", 1), ("workers", 4)]]),
        ([example("PyTorchJob.kubeflow.org")], [[("master", 1), ("worker", 2)]]),
        ([example("MPIJob.kubeflow.org")], [[("launcher", 1), ("worker", 2)]]),
        ([fixed_cluster()], [[("head", 1), ("small", 1)]]),
        ([replicated("StatefulSet", 3)], [[("main", 3)]]),
        ([replicated("Deployment", 2)], [[("main", 1)], [("main", 1)]]),
        ([pod("one")], [[("main", 1)]]),
        ([member("one", "2"), member("two", "2")], [[("main", 2)]]),
        ([member("one", "3"), member("two", "3", "2"), member("six", "3")], [[("role-1", 2), ("role-2", 1)]]),
        ([member("one", "4", **{"kueue.x-k8s.io/pod-group-fast-admission": "true"})], [[("main", 4)]]),
        ([example("JAXJob.kubeflow.org")], [[("worker", 2)]]),
        ([example("AppWrapper.workload.codeflare.dev")], [[("study-0", 2), ("study-1", 1), ("study-2", 2)]]),
    ],
    ids=[
        *("a JobSet by its replicated jobs", "a PyTorchJob by its roles", "an MPIJob", "a RayCluster by its groups"),
        *("a StatefulSet as one", "a Deployment by pods", "a pod", "pods of a group together"),
        *("a group by its roles", "a group by its first pod", "a JAXJob", "an AppWrapper by its objects"),
    ],
)
def test_a_kind_becomes_these_workloads(manifests: list[Any], expected: list[list[tuple[str, int]]]) -> None:
    made = there(*queues(plenty()))
    result = kwhatif.queue([queued(each) for each in manifests], snapshot=made)
    found = [[(each.pod_set, each.count) for each in workload.pod_sets] for workload in result.workloads]
    assert found == expected
    assert {each.status for each in result.workloads} == {"admitted"}


@pytest.mark.parametrize(
    ("total", "why"),
    [("3", "'pair' group has fewer runnable pods than expected"), ("2", "")],
    ids=["a group that lacks a pod waits for it", "a whole group starts"],
)
def test_a_group_starts_when_all_its_pods_are_there(total: str, why: str) -> None:
    result = kwhatif.queue([member("one", total), member("two", total)], snapshot=there(*queues(plenty())))
    (workload,) = result.workloads
    assert (workload.status, workload.message or "") == (("refused", why) if why else ("admitted", ""))


def test_each_group_of_a_leader_worker_set_waits_for_itself() -> None:
    asked = queued(example("LeaderWorkerSet.leaderworkerset.x-k8s.io"))
    result = kwhatif.queue([asked], snapshot=there(*queues(cluster_queue("a", "0"))))
    groups = asked["spec"]["replicas"]
    assert len({each.workload for each in result.workloads}) == groups
    assert {each.status for each in result.workloads} == {"pending"}


@pytest.mark.parametrize("cpu", ["1", "9"])
def test_pods_of_a_deployment_start_one_by_one_as_quota_lasts(cpu: str) -> None:
    labels = {"kubernetes.io/hostname": "n"}
    room = {"cpu": "20", "memory": "1Gi", "pods": "20"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": labels},
        "status": {"allocatable": room},
    }
    made = there(*queues(cluster_queue("a", cpu)), node)
    result = kwhatif.place([replicated("Deployment", 3)], snapshot=made, assume_empty=True)
    outcomes = sorted(each.outcome for each in result.placements)
    assert outcomes == (["gated", "gated", "placed"] if cpu == "1" else ["placed"] * 3)


def test_a_suspended_job_set_has_its_pods_once_it_is_admitted() -> None:
    asked = queued(example("JobSet.jobset.x-k8s.io"))
    asked["spec"] = {**asked["spec"], "suspend": True}
    result = kwhatif.queue([asked], snapshot=there(*queues(plenty())))
    assert [each.status for each in result.workloads] == ["admitted"]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("Deployment", f"no {QUEUE_LABEL} label; LocalQueues in ml: a"),
        ("StatefulSet", f"no {QUEUE_LABEL} label; LocalQueues in ml: a"),
        ("ReplicaSet", f"its pods have no {QUEUE_LABEL} label"),
    ],
)
def test_what_names_no_queue_is_not_managed_by_kueue(kind: str, why: str) -> None:
    asked = replicated(kind, 2)
    asked["metadata"]["labels"] = {}
    result = kwhatif.queue([asked], snapshot=there(*queues(cluster_queue("a", "1"))))
    assert (result.good, result.verdict) == (True, f"Not managed by Kueue: {why}.")
    assert [each.job for each in result.workloads] == [f"{kind} ml/web"]


JOB_SET, SPARK = "jobset.x-k8s.io/jobset", "sparkoperator.k8s.io/sparkapplication"


@pytest.mark.parametrize(
    ("kind", "configuration", "why"),
    [
        ("JobSet.jobset.x-k8s.io", "integrations: {frameworks: [batch/job]}", f"integration {JOB_SET} is not enabled"),
        ("JobSet.jobset.x-k8s.io", "", f"integration {JOB_SET} is not enabled"),
        ("JobSet.jobset.x-k8s.io", f"integrations: {{frameworks: [{JOB_SET}]}}", ""),
        (
            "SparkApplication.sparkoperator.k8s.io",
            f"integrations: {{frameworks: [{SPARK}]}}",
            f"integration {SPARK} takes feature gate SparkApplicationIntegration, which is off by default",
        ),
        (
            "SparkApplication.sparkoperator.k8s.io",
            f"{{integrations: {{frameworks: [{SPARK}]}}, featureGates: {{SparkApplicationIntegration: true}}}}",
            "",
        ),
    ],
    ids=["listed others", "only Jobs by default", "listed", "an alpha integration", "an alpha integration that is on"],
)
def test_only_kinds_whose_integration_is_on_are_managed(tmp_path: Any, kind: str, configuration: str, why: str) -> None:
    result = ask(tmp_path, kind, configuration)
    assert [each.status for each in result.workloads] == ["unmanaged" if why else "admitted"]
    assert not why or result.verdict == f"Not managed by Kueue: {why}."


def ask(tmp_path: Any, kind: str, configuration: str) -> kwhatif.QueueResult:
    """Whether the example of a kind gets in, where Kueue has this Configuration."""
    path = tmp_path / "kueue.json"
    known = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    path.write_text(json.dumps({**known, **(yaml.safe_load(configuration) or {})}))
    return kwhatif.queue([queued(example(kind))], snapshot=there(*queues(plenty())), kueue_config=str(path))


def test_jobs_of_a_namespace_that_is_not_selected_are_not_managed(tmp_path: Any) -> None:
    selector = "{{integrations: {{frameworks: [jobset.x-k8s.io/jobset]}}, managedJobsNamespaceSelector: {{{}}}}}"
    left_out = ask(tmp_path, "JobSet.jobset.x-k8s.io", selector.format("matchLabels: {kueue: managed}"))
    assert left_out.verdict == "Not managed by Kueue: managedJobsNamespaceSelector leaves out namespace ml."
    with pytest.raises(InputError, match="Configuration: managedJobsNamespaceSelector: 'Is' is not a valid selector"):
        ask(tmp_path, "JobSet.jobset.x-k8s.io", selector.format("matchExpressions: [{key: kueue, operator: Is}]"))


def test_a_train_job_counts_the_replicated_jobs_of_its_runtime_that_come_before() -> None:
    runtime = read(RUNTIME)
    del runtime["metadata"]["namespace"]
    spec = runtime["spec"]["template"]["spec"]
    load = {"name": "load", "template": {"spec": {"template": {"spec": {"containers": [CONTAINER]}}}}}
    (node,) = spec["replicatedJobs"]
    spec["replicatedJobs"] = [load, {**node, "dependsOn": [{"name": "load", "status": "Complete"}]}]
    manifests = [runtime, queued(example("TrainJob.trainer.kubeflow.org"))]
    (workload,) = kwhatif.queue(manifests, snapshot=there(*queues(plenty()))).workloads
    assert [each.pod_set for each in workload.pod_sets] == ["load", "node"]


def test_a_training_job_has_the_priority_class_of_its_policy() -> None:
    asked = queued(example("PyTorchJob.kubeflow.org"))
    asked["spec"] = {**asked["spec"], "runPolicy": {"schedulingPolicy": {"priorityClass": "high"}}}
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    (workload,) = kwhatif.queue([asked], snapshot=there(high, *queues(plenty()))).workloads
    assert workload.priority == 7


def test_a_ray_job_in_a_cluster_of_others_stays_suspended() -> None:
    asked = queued(example("RayJob.ray.io"))
    submitter = {"spec": {"containers": [CONTAINER]}}
    asked["spec"] = {"clusterSelector": {"ray.io/cluster": "there"}, "submitterPodTemplate": submitter}
    (workload,) = kwhatif.queue([asked], snapshot=there(*queues(plenty()))).workloads
    assert "Kueue never starts one" in (workload.message or "")


def test_a_job_that_the_api_server_names_is_asked_about() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    asked = plain("Job", "batch/v1", {"suspend": True, "template": template})
    asked["metadata"] = {**asked["metadata"], "generateName": "train-"}
    del asked["metadata"]["name"]
    result = kwhatif.queue([asked], snapshot=there(*queues(plenty())))
    assert [each.status for each in result.workloads] == ["admitted"]


def test_an_object_of_another_kind_is_in_the_namespace_of_its_pods() -> None:
    asked = queued(example("MPIJob.kubeflow.org"))
    del asked["metadata"]["namespace"]
    default = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    (found,) = kwhatif.queue([asked], snapshot=there(default, *queues(plenty()))).workloads
    assert (found.message, found.workload[:12]) == ("LocalQueue a doesn't exist", "default/mpij")


def test_pods_that_name_a_queue_are_managed_whoever_makes_them() -> None:
    asked = example("Workflow.argoproj.io")
    asked["metadata"]["namespace"] = "ml"
    asked["spec"] = {**asked["spec"], "podMetadata": {"labels": dict(QUEUE)}}
    result = kwhatif.queue([asked], snapshot=there(*queues(plenty())))
    assert {each.status for each in result.workloads} == {"admitted"}
    assert {each.workload.startswith("ml/pod-") for each in result.workloads} == {True}


def test_devices_that_pods_claim_are_said_not_to_count() -> None:
    spec = {"containers": [CONTAINER], "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}
    result = kwhatif.queue([plain("Pod", "v1", spec)], snapshot=there(*queues(plenty())))
    assert "devices that pods claim are not counted as quota here" in [gap.what for gap in result.gaps]
