"""What operators make of the examples of their documents: pods, names, owners, groups and what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.server import ApiServer
from kwhatif.workloads.controllers import reconcile
from kwhatif.workloads.object_creation import CreatedObjects, template_hash
from kwhatif.workloads.objects import controller_of, name_of
from kwhatif.workloads.operators.table import KINDS, ROWS
from kwhatif.workloads.workload_kind import Companions
from tests.workloads.operators.examples import EXAMPLES, RUNTIME, Json, example, read


def made_of(obj: Json, *companions: Json) -> CreatedObjects:
    return reconcile(ApiServer(ObjectStore()), obj, [], templates=KINDS, companions=Companions([*companions, obj]))


def pods_of(name: str, *companions: Json, **spec: Any) -> list[Json]:
    obj = example(name)
    obj["spec"].update(spec)
    return list(made_of(obj, *companions).pods)


def owners(pods: list[Json]) -> list[str]:
    return sorted({f"{controller_of(pod)['kind']} {controller_of(pod)['name']}" for pod in pods})


def requests(pod: Json, container: str) -> Json:
    spec = pod["spec"]
    (found,) = [c for c in (*spec["containers"], *spec.get("initContainers", ())) if c["name"] == container]
    return dict(found.get("resources", {}).get("requests", {}))


def test_every_kind_of_the_table_has_an_example() -> None:
    assert EXAMPLES.keys() == {row.full_name for row in ROWS}


def _hash(name: str, *path: str) -> str:
    part: Any = example(name)
    for key in path:
        part = part[key]
    return template_hash(part)


NAMES = [
    ("DeploymentConfig.apps.openshift.io", ["front-1-1", "front-1-2"], ["ReplicationController front-1"]),
    (
        "JobSet.jobset.x-k8s.io",
        ["torch-driver-0-0-1", *(f"torch-workers-{job}-{index}-1" for job in (0, 1) for index in (0, 1))],
        ["Job torch-driver-0", "Job torch-workers-0", "Job torch-workers-1"],
    ),
    (
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        ["llm-0", "llm-0-1", "llm-0-2", "llm-1", "llm-1-1", "llm-1-2"],
        ["StatefulSet llm", "StatefulSet llm-0", "StatefulSet llm-1"],
    ),
    ("PyTorchJob.kubeflow.org", ["mnist-master-0", "mnist-worker-0", "mnist-worker-1"], ["PyTorchJob mnist"]),
    ("TFJob.kubeflow.org", ["dist-ps-0", "dist-ps-1", "dist-worker-0", "dist-worker-1"], ["TFJob dist"]),
    ("XGBoostJob.kubeflow.org", ["iris-master-0", "iris-worker-0", "iris-worker-1"], ["XGBoostJob iris"]),
    ("PaddleJob.kubeflow.org", ["paddle-worker-0", "paddle-worker-1"], ["PaddleJob paddle"]),
    ("JAXJob.kubeflow.org", ["jax-worker-0", "jax-worker-1"], ["JAXJob jax"]),
    (
        "AppWrapper.workload.codeflare.dev",
        ["prepare-1", "prepare-2", "learn-master-0", "learn-worker-0", "learn-worker-1"],
        ["Job prepare", "PyTorchJob learn"],
    ),
    ("MPIJob.kubeflow.org", ["pi-launcher-1", "pi-worker-0", "pi-worker-1"], ["Job pi-launcher", "MPIJob pi"]),
    ("RayCluster.ray.io", ["raw-head", "raw-small-worker-1", "raw-small-worker-2"], ["RayCluster raw"]),
    ("Job.batch.volcano.sh", ["pair-ps-0", "pair-worker-0", "pair-worker-1"], ["Job pair"]),
    ("Cluster.postgresql.cnpg.io", ["books-1", "books-2", "books-3"], ["Cluster books"]),
    (
        "Elasticsearch.elasticsearch.k8s.elastic.co",
        [*(f"quick-es-masters-{n}" for n in range(3)), *(f"quick-es-data-{n}" for n in range(2))],
        ["StatefulSet quick-es-data", "StatefulSet quick-es-masters"],
    ),
    (
        "Prometheus.monitoring.coreos.com",
        ["prometheus-main-0", "prometheus-main-1", "prometheus-main-shard-1-0", "prometheus-main-shard-1-1"],
        ["StatefulSet prometheus-main", "StatefulSet prometheus-main-shard-1"],
    ),
    (
        "Alertmanager.monitoring.coreos.com",
        [f"alertmanager-main-{n}" for n in range(3)],
        ["StatefulSet alertmanager-main"],
    ),
    ("CronWorkflow.argoproj.io", ["nightly-say-1", "nightly-say-2"], ["CronWorkflow nightly"]),
    ("PipelineRun.tekton.dev", ["build-lint-pod", "build-test-pod"], ["TaskRun build-lint", "TaskRun build-test"]),
    ("TaskRun.tekton.dev", ["hello-pod"], ["TaskRun hello"]),
]


@pytest.mark.parametrize(("kind", "pods", "controllers"), NAMES, ids=[row[0] for row in NAMES])
def test_pods_have_the_names_and_owners_that_the_operator_gives_them(
    kind: str, pods: list[str], controllers: list[str]
) -> None:
    found = pods_of(kind)
    assert [name_of(pod) for pod in found] == pods
    assert owners(found) == controllers


GROUPED = {row.full_name: row.group.split("`")[1] for row in ROWS if row.group}


@pytest.mark.parametrize("kind", GROUPED)
def test_pods_that_belong_together_share_the_label_of_the_table(kind: str) -> None:
    pods = pods_of(kind, read(RUNTIME), *map(example, EXAMPLES))
    values = [
        {**pod["metadata"].get("annotations", {}), **pod["metadata"]["labels"]}.get(GROUPED[kind]) for pod in pods
    ]
    # The Job that submits a RayJob is no part of its cluster.
    assert values.count(None) == (kind == "RayJob.ray.io")
    assert len(set(values) - {None}) == (2 if kind.startswith("LeaderWorkerSet") else 1)


SUSPENDED = [
    ("JobSet.jobset.x-k8s.io", {"suspend": True}),
    ("PyTorchJob.kubeflow.org", {"runPolicy": {"suspend": True}}),
    ("RayCluster.ray.io", {"suspend": True}),
    ("RayJob.ray.io", {"suspend": True}),
    ("SparkApplication.sparkoperator.k8s.io", {"suspend": True}),
    ("Rollout.argoproj.io", {"paused": True}),
    ("Prometheus.monitoring.coreos.com", {"paused": True}),
    ("Workflow.argoproj.io", {"suspend": True}),
    ("PipelineRun.tekton.dev", {"status": "PipelineRunPending"}),
]


@pytest.mark.parametrize(("kind", "spec"), SUSPENDED, ids=[row[0] for row in SUSPENDED])
def test_what_is_suspended_has_no_pods(kind: str, spec: Json) -> None:
    assert pods_of(kind) != []
    assert pods_of(kind, **spec) == []


def test_a_rollout_has_its_pods_through_a_replica_set_with_a_hash_of_its_own() -> None:
    made = made_of(example("Rollout.argoproj.io"))
    hash_ = _hash("Rollout.argoproj.io", "spec", "template")
    (replica_set,) = made.objects
    assert name_of(replica_set) == f"shop-{hash_}"
    assert len(made.pods) == 5
    assert made.pods[0]["metadata"]["labels"] == {"app": "shop", "rollouts-pod-template-hash": hash_}


def test_a_rollout_may_take_its_template_from_a_deployment_among_the_manifests() -> None:
    rollout = example("Rollout.argoproj.io")
    template = rollout["spec"].pop("template")
    rollout["spec"]["workloadRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}
    metadata = {"name": "shop", "namespace": "default"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
    assert len(made_of(rollout, deployment).pods) == 5
    assert made_of(rollout).pods == ()
    (kind,) = [kind for kind in KINDS if kind.fits(rollout)]
    first, *_ = kind.doubts_of(rollout, Companions(), updated=False)
    assert first.what == "Deployment shop is not among the manifests"


def test_a_knative_service_starts_with_its_least_scale_and_a_proxy_in_each_pod() -> None:
    made = made_of(example("Service.serving.knative.dev"))
    assert len(made.pods) == 3
    assert [c["name"] for c in made.pods[0]["spec"]["containers"]] == ["user-container", "queue-proxy"]
    assert requests(made.pods[0], "queue-proxy") == {"cpu": "25m"}
    assert name_of(made.objects[0]) == "hello-00001-deployment"


def test_pods_of_a_job_set_know_their_job_and_share_a_domain_where_they_are_told_to() -> None:
    job_set = example("JobSet.jobset.x-k8s.io")
    job_set["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    last = made_of(job_set).pods[-1]
    labels = last["metadata"]["labels"]
    assert labels["jobset.sigs.k8s.io/job-index"] == "1"
    assert labels["jobset.sigs.k8s.io/job-global-index"] == "2"
    assert last["spec"]["subdomain"] == "torch"
    affinity = last["spec"]["affinity"]
    (term,) = affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (own,) = term["labelSelector"]["matchExpressions"]
    assert (own["key"], own["values"]) == ("jobset.sigs.k8s.io/job-key", [labels["jobset.sigs.k8s.io/job-key"]])
    assert term["topologyKey"] == "rack"


def test_a_leader_and_its_workers_share_a_group_and_a_domain() -> None:
    first, worker, *_ = pods_of("LeaderWorkerSet.leaderworkerset.x-k8s.io")
    prefix = "leaderworkerset.sigs.k8s.io"
    for pod, index in ((first, "0"), (worker, "1")):
        labels = pod["metadata"]["labels"]
        assert (labels[f"{prefix}/group-index"], labels[f"{prefix}/worker-index"]) == ("0", index)
        assert labels[f"{prefix}/group-key"] == first["metadata"]["labels"][f"{prefix}/group-key"]
        assert pod["spec"]["affinity"]["podAntiAffinity"]
    assert worker["spec"]["containers"][0]["name"] == "worker"


def subgroups_of(pods: list[Json]) -> list[tuple[str, list[str]]]:
    """Of each pod its subgroup and the topologies that it shares with the others of it."""
    label = "leaderworkerset.sigs.k8s.io/subgroup-key"
    found = []
    for pod in pods:
        terms = pod["spec"].get("affinity", {}).get("podAffinity", {})
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        own = [t["topologyKey"] for t in required if t["labelSelector"]["matchExpressions"][0]["key"] == label]
        found.append((pod["metadata"]["labels"].get("leaderworkerset.sigs.k8s.io/subgroup-index", ""), own))
    return found


@pytest.mark.parametrize(
    ("policy", "topology", "expected"),
    [
        pytest.param(
            {"subGroupSize": 2},
            "block",
            [("0", ["block"]), ("0", ["block"]), ("0", ["block"]), ("1", ["block"]), ("1", ["block"])],
            id="the leader is in the first one",
        ),
        pytest.param(
            {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"},
            "block",
            [("", []), ("0", ["block"]), ("0", ["block"]), ("1", ["block"]), ("1", ["block"])],
            id="the leader is in none",
        ),
    ],
)
def test_subgroups_have_domains_of_their_own(policy: Json, topology: str, expected: list[Any]) -> None:
    lws = example("LeaderWorkerSet.leaderworkerset.x-k8s.io")
    lws["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"] = topology
    lws["spec"]["leaderWorkerTemplate"] |= {"size": 5, "subGroupPolicy": policy}
    lws["spec"]["replicas"] = 1
    pods = list(made_of(lws).pods)
    assert subgroups_of(pods) == expected
    keys = [pod["metadata"]["labels"].get("leaderworkerset.sigs.k8s.io/subgroup-key") for pod in pods]
    assert len(set(keys[1:])) == 2
    assert keys[1] == keys[2]


LABELLED = {"metadata": {"labels": {"ray.io/gang-scheduling-enabled": "true"}}}
SCHEDULING = {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}}


@pytest.mark.parametrize(
    ("name", "more", "told"),
    [
        (
            "PyTorchJob.kubeflow.org",
            SCHEDULING,
            "PyTorchJob mnist asks for a group of 2 of 3 pods, for the gang scheduler of its operator",
        ),
        ("PyTorchJob.kubeflow.org", {}, ""),
        (
            "RayCluster.ray.io",
            LABELLED,
            "asks for a group of its head and its workers, for the batch scheduler of KubeRay",
        ),
        ("RayCluster.ray.io", {}, ""),
        ("Job.batch.volcano.sh", {"spec": {"minAvailable": 2}}, "up together, 2 of "),
        (
            "JobSet.jobset.x-k8s.io",
            {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "gpu"}}},
            "Kueue holds JobSet torch back until queue gpu admits it",
        ),
    ],
)
def test_groups_for_other_schedulers_are_said(name: str, more: Json, told: str) -> None:
    obj = example(name)
    for section, fields in more.items():
        obj[section] = {**obj.get(section, {}), **fields}
    kind = next(kind for kind in KINDS if kind.fits(obj))
    whats = [doubt.what for doubt in kind.doubts_of(obj, Companions([obj]), updated=False)]
    assert (told in whats[0]) if told else not whats


def test_a_train_job_says_for_whom_its_runtime_makes_groups() -> None:
    runtime = read(RUNTIME)
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {"scheduleTimeoutSeconds": 60}}
    obj = example("TrainJob.trainer.kubeflow.org")
    kind = next(kind for kind in KINDS if kind.fits(obj))
    (doubt,) = kind.doubts_of(obj, Companions([runtime, obj]), updated=False)
    assert doubt.what == "TrainJob tune is a group of all its pods for the plugin Coscheduling"


def test_workers_of_a_pytorch_job_wait_for_the_master_and_roles_say_when_to_restart() -> None:
    master, worker, _ = pods_of("PyTorchJob.kubeflow.org")
    assert "initContainers" not in master["spec"]
    assert requests(worker, "init-pytorch") == {"cpu": "50m", "memory": "10Mi"}
    assert worker["spec"]["restartPolicy"] == "OnFailure"
    assert master["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"
    assert pods_of("TFJob.kubeflow.org")[-1]["spec"]["restartPolicy"] == "Never"


def test_a_train_job_runs_its_runtimes_template_with_what_it_overrides() -> None:
    runtime = read(RUNTIME)
    pods = pods_of("TrainJob.trainer.kubeflow.org", runtime)
    assert [name_of(pod) for pod in pods] == [f"tune-node-0-{index}-1" for index in range(3)]
    assert requests(pods[0], "node") == {"cpu": "4"}
    assert pods[0]["spec"]["containers"][0]["image"] == "tune:1"
    assert pods_of("TrainJob.trainer.kubeflow.org") == []


def test_a_ray_head_has_the_autoscaler_beside_it_and_workers_wait_for_it() -> None:
    head, worker, _ = pods_of("RayCluster.ray.io")
    assert requests(head, "autoscaler") == {"cpu": "500m", "memory": "512Mi"}
    assert requests(worker, "wait-gcs-ready") == {"cpu": "200m", "memory": "256Mi"}
    assert worker["metadata"]["labels"]["ray.io/group"] == "small"


def test_a_ray_job_has_a_cluster_and_a_job_that_submits_it() -> None:
    head, worker, submitter = pods_of("RayJob.ray.io")
    cluster = controller_of(head)
    assert cluster["kind"] == "RayCluster"
    assert name_of(worker) == f"{cluster['name']}-w-worker-1"
    assert requests(submitter, "ray-job-submitter") == {"cpu": "500m", "memory": "200Mi"}
    assert len(pods_of("RayJob.ray.io", submissionMode="HTTPMode")) == 2


def test_another_ray_service_has_another_cluster() -> None:
    other = example("RayService.ray.io")["spec"]["rayClusterConfig"]
    other["workerGroupSpecs"][0]["replicas"] = 3
    before, after = pods_of("RayService.ray.io"), pods_of("RayService.ray.io", rayClusterConfig=other)
    assert (len(before), len(after)) == (3, 4)
    assert not {name_of(pod) for pod in before} & {name_of(pod) for pod in after}


def test_volcano_groups_all_pods_for_its_own_scheduler() -> None:
    pods = pods_of("Job.batch.volcano.sh")
    assert {pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for pod in pods} == {"pair-abc"}
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}


MEMORY = [
    ("a JVM's overhead is a tenth, at least 384 MiB", "Scala", {"memory": "512m"}, "896Mi"),
    ("a tenth of a large heap is more", "Scala", {"memory": "8g"}, "9011Mi"),
    ("Python needs more beside the JVM", "Python", {"memory": "8g"}, "11468Mi"),
    ("overhead that is told counts", "Scala", {"memory": "1g", "memoryOverhead": "200m"}, "1224Mi"),
]


@pytest.mark.parametrize(("sort", "driver", "expected"), [row[1:] for row in MEMORY], ids=[row[0] for row in MEMORY])
def test_spark_asks_for_memory_and_overhead(sort: str, driver: Json, expected: str) -> None:
    first, *_ = pods_of("SparkApplication.sparkoperator.k8s.io", type=sort, driver=driver)
    assert requests(first, "spark-kubernetes-driver") == {"cpu": "1", "memory": expected}


def test_sparks_executors_are_the_drivers_and_as_many_as_there_may_be() -> None:
    driver, executor, _ = pods_of("SparkApplication.sparkoperator.k8s.io")
    assert controller_of(executor) == {**controller_of(executor), "kind": "Pod", "name": name_of(driver)}
    assert requests(executor, "spark-kubernetes-executor") == {"cpu": "2", "memory": "9011Mi"}
    more = {"enabled": True, "minExecutors": 1, "maxExecutors": 6}
    assert len(pods_of("SparkApplication.sparkoperator.k8s.io", dynamicAllocation=more)) == 7


def test_instances_of_postgres_have_claims_and_keep_apart() -> None:
    made = made_of(example("Cluster.postgresql.cnpg.io"))
    assert [name_of(claim) for claim in made.claims][:2] == ["books-1", "books-1-wal"]
    assert made.claims[0]["spec"]["storageClassName"] == "fast"
    affinity = made.pods[0]["spec"]["affinity"]["podAntiAffinity"]
    (term,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    assert (term["weight"], term["podAffinityTerm"]["topologyKey"]) == (100, "kubernetes.io/hostname")
    required = made_of({**example("Cluster.postgresql.cnpg.io"), "spec": {
        "instances": 1, "storage": {"size": "1Gi"}, "affinity": {"podAntiAffinityType": "required"}}})  # fmt: skip
    assert "requiredDuringSchedulingIgnoredDuringExecution" in required.pods[0]["spec"]["affinity"]["podAntiAffinity"]


def test_node_pools_of_a_kafka_are_numbered_by_their_names_and_take_what_the_kafka_says() -> None:
    kafka, controllers = example("Kafka.kafka.strimzi.io"), example("KafkaNodePool.kafka.strimzi.io")
    brokers = example("KafkaNodePool.kafka.strimzi.io")
    brokers["metadata"]["name"], brokers["spec"]["roles"] = "broker", ["broker"]
    first = made_of(brokers, kafka, controllers)
    second = made_of(controllers, kafka, brokers)
    assert [name_of(pod) for pod in first.pods] == [f"events-broker-{number}" for number in range(3)]
    assert [name_of(pod) for pod in second.pods] == [f"events-controller-{number}" for number in range(3, 6)]
    assert owners(list(first.pods)) == ["StrimziPodSet events-broker"]
    assert requests(first.pods[0], "kafka") == {"memory": "4Gi"}
    assert name_of(first.claims[0]) == "data-0-events-broker-0"
    affinity = first.pods[0]["spec"]["affinity"]
    assert {"nodeAffinity", "podAntiAffinity"} == affinity.keys()
    (operator,) = made_of(kafka, brokers).pods
    assert name_of(operator).startswith("events-entity-operator-")


def test_elasticsearch_asks_for_memory_and_a_disk_by_default() -> None:
    made = made_of(example("Elasticsearch.elasticsearch.k8s.elastic.co"))
    assert requests(made.pods[0], "elasticsearch") == {"memory": "2Gi"}
    assert requests(made.pods[-1], "elasticsearch") == {"memory": "4Gi", "cpu": "8"}
    assert made.claims[0]["spec"]["resources"]["requests"] == {"storage": "1Gi"}


def test_prometheus_and_alertmanager_have_a_container_that_reloads_them() -> None:
    made = made_of(example("Prometheus.monitoring.coreos.com"))
    assert requests(made.pods[0], "prometheus") == {"memory": "400Mi"}
    assert requests(made.pods[0], "config-reloader") == {"cpu": "10m", "memory": "50Mi"}
    assert name_of(made.claims[-1]) == "prometheus-main-db-prometheus-main-shard-1-1"
    assert requests(pods_of("Alertmanager.monitoring.coreos.com")[0], "alertmanager") == {"memory": "200Mi"}


def test_a_workflow_is_taken_at_its_peak_and_it_is_said() -> None:
    workflow = example("Workflow.argoproj.io")
    pods = pods_of("Workflow.argoproj.io")
    # B beside three of C; A comes before and D after them.
    assert len(pods) == 4
    assert requests(pods[0], "main") == {"cpu": "100m"}
    assert len(pods_of("Workflow.argoproj.io", parallelism=2)) == 2
    (kind,) = [kind for kind in KINDS if kind.fits(workflow)]
    (doubt,) = kind.doubts_of(workflow, Companions(), updated=False)
    assert doubt.what == "Workflow diamond is taken at its peak of 4 parallel pods"


def test_a_workflow_may_be_a_template_of_the_manifests() -> None:
    template = example("Workflow.argoproj.io") | {"kind": "WorkflowTemplate"}
    run = read("""
        apiVersion: argoproj.io/v1alpha1
        kind: Workflow
        metadata: {name: run}
        spec: {workflowTemplateRef: {name: diamond}}
    """)
    assert len(made_of(run, template).pods) == 4
    assert made_of(run).pods == ()


def test_tasks_run_beside_each_other_unless_one_uses_the_others_results() -> None:
    test = pods_of("PipelineRun.tekton.dev")[1]
    assert requests(test, "step-run") == {"cpu": "2"}
    assert test["metadata"]["labels"]["tekton.dev/pipelineTask"] == "test"
