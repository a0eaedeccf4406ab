"""What operators do for fields that change how many pods there are, or where they may go."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.workloads.objects import name_of
from kwhatif.workloads.operators.table import KINDS
from kwhatif.workloads.workload_kind import Companions
from tests.workloads.operators.examples import RUNTIME, Json, example, read
from tests.workloads.operators.test_operators import made_of, owners, pods_of, requests


def doubts(obj: Json, *companions: Json, updated: bool = False) -> list[str]:
    (kind,) = [kind for kind in KINDS if kind.fits(obj)]
    return [doubt.what for doubt in kind.doubts_of(obj, Companions([*companions, obj]), updated=updated)]


def names(pods: list[Json]) -> list[str]:
    return [name_of(pod) for pod in pods]


def claims_in(pod: Json) -> list[str]:
    sources = (volume.get("persistentVolumeClaim") for volume in pod["spec"].get("volumes", ()))
    return [source["claimName"] for source in sources if source]


# --- rollouts


def test_who_promotes_a_green_version_is_said_and_its_anti_affinity_only_of_an_update() -> None:
    rollout = example("Rollout.argoproj.io")
    rollout["spec"]["strategy"] = {"blueGreen": {"autoPromotionEnabled": False, "antiAffinity": {"x": {}}}}
    assert doubts(rollout) == ["the new version of Rollout shop is promoted by people or by measurements"]
    assert doubts(rollout, updated=True)[1].startswith("the antiAffinity of Rollout shop")
    rollout["spec"]["strategy"] = {"blueGreen": {}}
    assert doubts(rollout) == []


def test_a_deployment_config_without_a_number_of_replicas_has_none() -> None:
    config = example("DeploymentConfig.apps.openshift.io")
    del config["spec"]["replicas"]
    assert made_of(config).pods == ()


# --- parameters


def test_a_workflow_has_the_values_of_its_parameters_and_is_taken_without_what_only_the_run_knows() -> None:
    inputs = {"parameters": [{"name": "arch"}, {"name": "size", "default": "2"}]}
    template = {
        "name": "print",
        "inputs": inputs,
        "nodeSelector": {"arch": "{{inputs.parameters.arch}}", "zone": "{{ steps.pick.outputs.result }}"},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-{{workflow.parameters.arch}}"}],
        "container": {"image": "a", "resources": {"requests": {"cpu": "{{inputs.parameters.size}}"}}},
    }
    given = {"parameters": [{"name": "arch", "value": "{{workflow.parameters.arch}}"}]}
    steps = [[{"name": "one", "template": "print", "arguments": given}]]
    spec = {
        "entrypoint": "main",
        "arguments": {"parameters": [{"name": "arch", "value": "amd64"}]},
        "templates": [{"name": "main", "steps": steps}, template],
    }
    workflow = example("Workflow.argoproj.io") | {"spec": spec}
    (pod,) = made_of(workflow).pods
    assert pod["spec"]["nodeSelector"] == {"arch": "amd64"}
    assert pod["spec"]["resourceClaims"][0]["resourceClaimName"] == "gpu-amd64"
    assert pod["spec"]["containers"][1]["resources"]["requests"]["cpu"] == "2"
    assert doubts(workflow)[1] == (
        "Workflow diamond: nodeSelector of template print has a variable that only the run knows"
    )


@pytest.mark.parametrize(
    ("version", "launcher", "worker"),
    [
        ("v2beta1", ["ssh-auth", "mpi-job-config"], ["ssh-auth"]),
        ("v1", ["mpi-job-config", "mpi-job-kubectl"], ["mpi-job-config"]),
    ],
)
def test_pods_of_an_mpi_job_have_the_volumes_that_their_templates_may_mount(
    version: str, launcher: list[str], worker: list[str]
) -> None:
    job = example("MPIJob.kubeflow.org") | {"apiVersion": f"kubeflow.org/{version}"}
    volumes = {name_of(pod): [each["name"] for each in pod["spec"]["volumes"]] for pod in made_of(job).pods}
    assert {"launcher" if "launcher" in name else "worker": found for name, found in volumes.items()} == {
        "launcher": launcher,
        "worker": worker,
    }


def test_a_tablespace_is_called_as_kubernetes_takes_it() -> None:
    cluster = example("Cluster.postgresql.cnpg.io")
    cluster["spec"] |= {"instances": 1, "tablespaces": [{"name": "_Hot_$1", "storage": {"size": "1Gi"}}]}
    (pod,) = made_of(cluster).pods
    assert claims_in(pod)[-1] == f"{name_of(pod)}-tbs-1hot--1"


# --- job sets


def waiting_job_set(status: str) -> Json:
    job_set = example("JobSet.jobset.x-k8s.io")
    job_set["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "driver", "status": status}]
    return job_set


def test_jobs_that_are_complete_before_others_begin_are_not_at_the_peak_of_a_job_set() -> None:
    job_set = waiting_job_set("Complete")
    pods = list(made_of(job_set).pods)
    assert owners(pods) == ["Job torch-workers-0", "Job torch-workers-1"]
    assert pods[-1]["metadata"]["labels"]["jobset.sigs.k8s.io/job-global-index"] == "2"
    assert doubts(job_set) == ["JobSet torch is taken at its peak, with workers"]
    assert (len(made_of(waiting_job_set("Ready")).pods), doubts(waiting_job_set("Ready"))) == (5, [])


def test_a_job_that_waits_until_another_is_ready_waits_for_what_that_one_waited_for() -> None:
    job_set = waiting_job_set("Complete")
    template = job_set["spec"]["replicatedJobs"][0]["template"]
    last = {"name": "last", "template": template, "dependsOn": [{"name": "workers", "status": "Ready"}]}
    job_set["spec"]["replicatedJobs"].append(last)
    assert owners(list(made_of(job_set).pods)) == ["Job torch-last-0", "Job torch-workers-0", "Job torch-workers-1"]


def test_a_job_set_makes_claims_which_those_that_mount_them_share() -> None:
    job_set = example("JobSet.jobset.x-k8s.io")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    job_set["spec"]["volumeClaimPolicies"] = [{"templates": [{"metadata": {"name": "data"}, "spec": claim}]}]
    (container,) = job_set["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    made = made_of(job_set)
    assert [name_of(each) for each in made.claims] == ["data-torch"]
    assert [claims_in(pod) for pod in made.pods] == [[], *[["data-torch"]] * 4]


def test_a_job_set_that_another_controller_manages_is_left_to_it() -> None:
    assert pods_of("JobSet.jobset.x-k8s.io", managedBy="kueue.x-k8s.io/multikueue") == []
    assert len(pods_of("JobSet.jobset.x-k8s.io", managedBy="jobset.sigs.k8s.io/jobset-controller")) == 5


def test_a_rule_about_a_condition_of_pods_means_that_it_is_true() -> None:
    job_set = example("JobSet.jobset.x-k8s.io")
    rule = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}
    spec = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]
    spec["podFailurePolicy"] = {"rules": [rule]}
    spec["template"]["spec"]["restartPolicy"] = "Never"
    assert len(made_of(job_set).pods) == 5


SUB_GROUPS = [
    ("a leader beside whole parts is of the first", "LeaderWorker", 5, ["0", "0", "0", "1", "1"]),
    ("a leader is counted where parts would not be whole", "LeaderWorker", 4, ["0", "0", "1", "1"]),
    ("a leader may be left out", "LeaderExcluded", 5, [None, "0", "0", "1", "1"]),
]


@pytest.mark.parametrize(("sort", "size", "parts"), [row[1:] for row in SUB_GROUPS], ids=[row[0] for row in SUB_GROUPS])
def test_parts_of_a_group_share_a_domain_of_their_own(sort: str, size: int, parts: list[str | None]) -> None:
    lws, prefix = example("LeaderWorkerSet.leaderworkerset.x-k8s.io"), "leaderworkerset.sigs.k8s.io"
    lws["metadata"]["annotations"] = {f"{prefix}/subgroup-exclusive-topology": "rack"}
    lws["spec"]["replicas"] = 1
    both = lws["spec"]["leaderWorkerTemplate"]
    both |= {"size": size, "subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": sort}}
    pods = list(made_of(lws).pods)
    assert [pod["metadata"]["labels"].get(f"{prefix}/subgroup-index") for pod in pods] == parts
    for pod, part in zip(pods, parts, strict=True):
        assert ("affinity" in pod["spec"]) is (part is not None)
    (term,) = pods[-1]["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "rack"
    assert term["labelSelector"]["matchExpressions"][0]["values"] == [
        pods[-1]["metadata"]["labels"][f"{prefix}/subgroup-key"]
    ]


# --- training


def test_without_a_master_the_first_worker_leads() -> None:
    workers = example("PyTorchJob.kubeflow.org")["spec"]["pytorchReplicaSpecs"]["Worker"]
    first, second = pods_of("PyTorchJob.kubeflow.org", pytorchReplicaSpecs={"worker": workers})
    assert first["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"
    assert "training.kubeflow.org/job-role" not in second["metadata"]["labels"]
    assert "initContainers" not in second["spec"]


def test_the_launcher_of_an_mpi_job_of_v1_is_a_pod_with_a_container_that_fetches_kubectl() -> None:
    job = example("MPIJob.kubeflow.org") | {"apiVersion": "kubeflow.org/v1"}
    launcher, *_ = made_of(job).pods
    assert name_of(launcher) == "pi-launcher"
    assert requests(launcher, "kubectl-delivery") == {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}


def runtime_with(*jobs: str, **policy: Any) -> Json:
    """A runtime with more jobs than its nodes, of which ``node`` waits for all that are not the launcher."""
    runtime = read(RUNTIME)
    spec = runtime["spec"]["template"]["spec"]
    (node,) = spec["replicatedJobs"]
    others = [
        {"name": name, "template": {"spec": {"template": {"spec": {"containers": [{"name": name, "image": "i"}]}}}}}
        for name in jobs
    ]
    node["dependsOn"] = [{"name": name, "status": "Complete"} for name in jobs if name != "launcher"]
    spec["replicatedJobs"] = [*others, node]
    runtime["spec"]["mlPolicy"] = policy or runtime["spec"]["mlPolicy"]
    return runtime


def test_initializers_of_a_train_job_have_gone_when_it_trains() -> None:
    runtime = runtime_with("dataset-initializer", "model-initializer")
    job = example("TrainJob.trainer.kubeflow.org")
    assert names(list(made_of(job, runtime).pods)) == [f"tune-node-0-{index}-1" for index in range(3)]
    assert doubts(job, runtime) == ["TrainJob tune is taken at its peak, with node"]


@pytest.mark.parametrize(("as_node", "nodes"), [(True, 2), (False, 3)])
def test_a_launcher_may_be_one_of_the_nodes(as_node: bool, nodes: int) -> None:
    runtime = runtime_with("launcher", mpi={"runLauncherAsNode": as_node})
    pods = pods_of("TrainJob.trainer.kubeflow.org", runtime)
    assert len(pods) == 1 + nodes
    assert requests(pods[0], "launcher") == ({"cpu": "4"} if as_node else {})


@pytest.mark.parametrize("field", ["podTemplateOverrides", "podSpecOverrides"])
def test_a_train_job_says_where_pods_of_a_job_go(field: str) -> None:
    told = {"nodeSelector": {"gpu": "a100"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    override = {"targetJobs": [{"name": "node"}], **({"spec": told} if field == "podTemplateOverrides" else told)}
    pod, *_ = pods_of("TrainJob.trainer.kubeflow.org", read(RUNTIME), **{field: [override]})
    assert pod["spec"]["nodeSelector"] == {"gpu": "a100"}
    assert "gpu" in {toleration["key"] for toleration in pod["spec"]["tolerations"]}


def test_a_volcano_job_has_claims_of_its_volumes() -> None:
    job = example("Job.batch.volcano.sh")
    body = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    job["spec"]["volumes"] = [{"mountPath": "/a", "volumeClaim": body}, {"mountPath": "/b", "volumeClaimName": "b"}]
    made = made_of(job)
    assert [name_of(each) for each in made.claims] == ["pair-volume-0"]
    assert claims_in(made.pods[0]) == ["pair-volume-0", "b"]


def test_a_ray_job_may_be_submitted_from_beside_the_head() -> None:
    head, worker = pods_of("RayJob.ray.io", submissionMode="SidecarMode")
    assert requests(head, "ray-job-submitter") == {"cpu": "500m", "memory": "200Mi"}
    assert [container["name"] for container in worker["spec"]["containers"]] == ["ray-worker"]


SPARK_CONF = {
    "spark.executor.instances": "5",
    "spark.executor.cores": "3",
    "spark.executor.memory": "2g",
    "spark.executor.memoryOverhead": "512m",
    "spark.kubernetes.executor.request.cores": "2500m",
    "spark.kubernetes.node.selector.disk": "ssd",
    "spark.kubernetes.executor.node.selector.size": "large",
}


def test_a_setting_of_spark_counts_where_the_object_has_no_field_for_it() -> None:
    driver, *executors = pods_of("SparkApplication.sparkoperator.k8s.io", executor={"cores": 1}, sparkConf=SPARK_CONF)
    assert len(executors) == 5
    assert requests(executors[0], "spark-kubernetes-executor") == {"cpu": "2500m", "memory": "2560Mi"}
    assert executors[0]["spec"]["nodeSelector"] == {"disk": "ssd", "size": "large"}
    assert driver["spec"]["nodeSelector"] == {"disk": "ssd"}
    told = {"cores": 4, "memory": "1g", "instances": 2}
    executors = pods_of(
        "SparkApplication.sparkoperator.k8s.io", executor=told, sparkConf={"spark.executor.memory": "9g"}
    )
    assert [requests(pod, "spark-kubernetes-executor") for pod in executors[1:]] == [
        {"cpu": "4", "memory": "1408Mi"}
    ] * 2


def test_dynamic_allocation_may_be_a_setting_of_spark() -> None:
    conf = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "4"}
    app = example("SparkApplication.sparkoperator.k8s.io")
    app["spec"]["sparkConf"] = conf
    assert len(made_of(app).pods) == 5
    assert doubts(app) == ["SparkApplication pi may have between 0 and 4 executors"]


# --- stores and monitoring


IDS = [
    ("[100-199]", [100, 101, 102]),
    ("[9, 7-5]", [9, 7, 6]),
    ("[3]", [3, 0, 1]),
    ("many", [0, 1, 2]),
]


@pytest.mark.parametrize(("wishes", "ids"), IDS, ids=[row[0] for row in IDS])
def test_nodes_of_a_pool_have_the_ids_that_are_wished_for(wishes: str, ids: list[int]) -> None:
    kafka, pool = example("Kafka.kafka.strimzi.io"), example("KafkaNodePool.kafka.strimzi.io")
    pool["metadata"]["annotations"] = {"strimzi.io/next-node-ids": wishes}
    assert names(list(made_of(pool, kafka).pods)) == [f"events-controller-{number}" for number in ids]


def test_ids_of_one_pool_are_not_given_to_another() -> None:
    first, second = example("KafkaNodePool.kafka.strimzi.io"), example("KafkaNodePool.kafka.strimzi.io")
    first["metadata"] |= {"name": "a", "annotations": {"strimzi.io/next-node-ids": "[1-3]"}}
    second["metadata"]["name"] = "b"
    assert names(list(made_of(second, first).pods)) == ["events-b-0", "events-b-4", "events-b-5"]


def test_what_watches_over_a_kafka_is_a_deployment_each() -> None:
    kafka, pool = example("Kafka.kafka.strimzi.io"), example("KafkaNodePool.kafka.strimzi.io")
    kafka["spec"] |= {"cruiseControl": {"resources": {"requests": {"cpu": "500m"}}}, "kafkaExporter": {}}
    pods = list(made_of(kafka, pool).pods)
    assert [name_of(pod).rpartition("-")[0].rpartition("-")[0] for pod in pods] == [
        "events-entity-operator",
        "events-cruise-control",
        "events-kafka-exporter",
    ]
    assert requests(pods[1], "cruise-control") == {"cpu": "500m"}


def test_thanos_is_one_more_container_of_a_prometheus() -> None:
    thanos = {"resources": {"requests": {"memory": "128Mi"}}}
    pod, *_ = pods_of("Prometheus.monitoring.coreos.com", thanos=thanos)
    assert requests(pod, "thanos-sidecar") == {"memory": "128Mi"}


# --- runs


def steps(*groups: list[str], **more: Any) -> Json:
    """A workflow of steps, each run by the template of its name; those that begin with ``d`` stay."""
    called = sorted({name for group in groups for name in group})
    templates = [
        {"name": name, "container": {"image": "i"}, **({"daemon": True} if name[0] == "d" else {})} for name in called
    ]
    entry = {"name": "all", "steps": [[{"name": name, "template": name} for name in group] for group in groups]}
    return {"templates": [entry, *templates], "entrypoint": "all", **more}


PEAKS = [
    ("the widest group", steps(["a", "b"], ["c"]), 2),
    ("what stays runs beside what comes after it", steps(["d1", "d2"], ["a", "b"], ["c"]), 4),
    ("what comes last may be the widest", steps(["a"], onExit="all"), 1),
]


@pytest.mark.parametrize(("spec", "count"), [row[1:] for row in PEAKS], ids=[row[0] for row in PEAKS])
def test_a_workflow_has_the_pods_of_its_widest_moment(spec: Json, count: int) -> None:
    workflow = example("Workflow.argoproj.io") | {"spec": spec}
    assert len(made_of(workflow).pods) == count


def test_daemons_of_a_graph_run_until_its_end() -> None:
    workflow = example("Workflow.argoproj.io")
    echo = workflow["spec"]["templates"][0]
    workflow["spec"]["templates"].append({**echo, "name": "server", "daemon": True})
    workflow["spec"]["templates"][1]["dag"]["tasks"][0]["template"] = "server"
    assert len(made_of(workflow).pods) == 5


def test_a_workflow_makes_claims_and_pods_have_the_volumes_that_they_mount() -> None:
    spec = steps(["a"], ["b"])
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec["volumeClaimTemplates"] = [{"metadata": {"name": "work"}, "spec": claim}]
    spec["volumes"] = [{"name": "other", "persistentVolumeClaim": {"claimName": "other"}}]
    spec["templates"][1]["container"]["volumeMounts"] = [{"name": "work", "mountPath": "/work"}]
    made = made_of(example("Workflow.argoproj.io") | {"spec": spec})
    assert [name_of(each) for each in made.claims] == ["diamond-work"]
    (pod,) = made.pods
    assert claims_in(pod) == ["diamond-work"]


def shared_pipeline() -> Json:
    run = example("PipelineRun.tekton.dev")
    run["metadata"]["uid"] = "u1"
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    run["spec"]["workspaces"] = [{"name": "shared", "volumeClaimTemplate": claim}]
    for task in run["spec"]["pipelineSpec"]["tasks"][1:]:
        task["workspaces"] = [{"name": "source", "workspace": "shared"}]
    return run


def test_tasks_that_share_a_workspace_on_a_claim_run_where_their_assistant_does() -> None:
    made = made_of(shared_pipeline())
    (claim,) = made.claims
    assistant, *tasks = made.pods
    assert name_of(assistant).startswith("affinity-assistant-")
    assert requests(assistant, "affinity-assistant") == {"cpu": "100m", "memory": "100Mi"}
    assert names(list(tasks)) == ["build-lint-pod", "build-test-pod"]
    for task in tasks:
        (term,) = task["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        labels = assistant["metadata"]["labels"]
        assert term["labelSelector"]["matchLabels"].items() <= labels.items()
        assert term["topologyKey"] == "kubernetes.io/hostname"
    assert {claims_in(pod)[0] for pod in made.pods} == {name_of(claim)}


def test_a_task_of_the_cluster_lives_in_no_namespace() -> None:
    run = read("""
        apiVersion: tekton.dev/v1beta1
        kind: TaskRun
        metadata: {name: run}
        spec: {taskRef: {name: lint, kind: ClusterTask}}
    """)
    task = {"apiVersion": "tekton.dev/v1beta1", "kind": "ClusterTask", "metadata": {"name": "lint"}}
    task["spec"] = {"steps": [{"name": "run", "image": "lint"}]}
    assert names(list(made_of(run, task).pods)) == ["run-pod"]


@pytest.mark.parametrize(
    ("of_run", "of_pipeline", "is_found"),
    [("", "", True), ("default", "", True), ("", "default", True), ("ci", "", False), ("ci", "ci", True)],
)
def test_the_pipeline_of_a_run_is_where_both_will_be(of_run: str, of_pipeline: str, is_found: bool) -> None:
    run = example("PipelineRun.tekton.dev")
    head = {"apiVersion": "tekton.dev/v1", "kind": "Pipeline"}
    metadata = {"name": "build"} | ({"namespace": of_pipeline} if of_pipeline else {})
    pipeline = head | {"metadata": metadata, "spec": run["spec"].pop("pipelineSpec")}
    run["spec"]["pipelineRef"] = {"name": "build"}
    run["metadata"] = {"name": "build"} | ({"namespace": of_run} if of_run else {})
    said = doubts(run, pipeline)
    assert any("is not among the manifests" in doubt for doubt in said) is not is_found
