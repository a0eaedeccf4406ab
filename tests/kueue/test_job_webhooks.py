"""What Kueue's webhooks refuse of jobs of each kind, in Kueue's words."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.kueue import WorkloadPodSet, WorkloadPodTemplate
from kwhatif.api.meta import ObjectMeta
from kwhatif.kueue.jobs.batch_job import BATCH_JOB
from kwhatif.kueue.jobs.job_webhooks import kind_problems
from kwhatif.kueue.jobs.topology_annotations import topology_request

K = "kueue.x-k8s.io/"
REQUIRED, GROUP, SLICE, SIZE = (
    f"{K}podset-{name}" for name in ("required-topology", "group-name", "slice-required-topology", "slice-size")
)
LAYERS = f"{SLICE}-constraints"


def job(kind: str, spec: dict[str, Any] | None = None, /, labels: Any = None, **annotations: str) -> dict[str, Any]:
    """An object of a kind; annotations have two underscores where a dash would be."""
    named = {f"{K}{key.replace('__', '-')}": value for key, value in annotations.items()}
    metadata = {"name": "x", "namespace": "ml", "labels": labels or {f"{K}queue-name": "q"}, "annotations": named}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec or {}}


def pod_set(name: str, count: int = 1, annotations: dict[str, str] | None = None) -> WorkloadPodSet:
    metadata = ObjectMeta(annotations=annotations)
    request = topology_request(annotations or {}, None)
    return WorkloadPodSet(
        name=name, count=count, template=WorkloadPodTemplate(metadata=metadata), topology_request=request
    )


RAY = {"rayClusterSpec": {"headGroupSpec": {}}, "shutdownAfterJobFinishes": True}
SEVENTEEN = [{"groupName": f"g{number}"} for number in range(18)]

CASES: dict[str, tuple[dict[str, Any], list[WorkloadPodSet], list[str]]] = {
    "a job without anything wrong": (job("JobSet"), [pod_set("main")], []),
    "a queue's name in capitals": (
        job("TFJob", labels={f"{K}queue-name": "Q"}),
        [],
        [f'metadata.labels[{K}queue-name]: Invalid value: "Q": a lowercase RFC 1123 subdomain'],
    ),
    "no time to run": (
        job("JobSet", labels={f"{K}max-exec-time-seconds": "0"}),
        [],
        [f"metadata.labels[{K}max-exec-time-seconds]: Invalid value: 0: should be greater than 0"],
    ),
    "a StatefulSet's time is not looked at": (
        job("StatefulSet", labels={f"{K}max-exec-time-seconds": "0"}),
        [],
        [],
    ),
    "an elastic job of a kind that has none": (
        job("JobSet", elastic__job="true"),
        [],
        [f'metadata.annotations[{K}elastic-job]: Forbidden: elastic job is not supported for "v1, Kind=JobSet"'],
    ),
    "a gate twice": (
        job("MPIJob", admission__gated__by="a.io/b, a.io/b"),
        [],
        [f'metadata.annotations[{K}admission-gated-by]: Invalid value: "a.io/b, a.io/b": duplicate gate name: a.io/b'],
    ),
    "a gate without a domain": (
        job("MPIJob", admission__gated__by="mine"),
        [],
        [f'metadata.annotations[{K}admission-gated-by]: Invalid value: "mine": must be a domain-prefixed path'],
    ),
    "a RayCluster with an autoscaler": (
        job("RayCluster", {"enableInTreeAutoscaling": True}),
        [],
        ["spec.enableInTreeAutoscaling: Invalid value: true: a kueue-managed RayCluster can use autoscaling only as"],
    ),
    "an elastic RayCluster with an autoscaler": (
        job("RayCluster", {"enableInTreeAutoscaling": True}, elastic__job="true"),
        [],
        [],
    ),
    "an elastic RayCluster with an autoscaler in another cluster": (
        job("RayCluster", {"enableInTreeAutoscaling": True, "managedBy": f"{K}multikueue"}, elastic__job="true"),
        [],
        ["spec.enableInTreeAutoscaling: Forbidden: in-tree autoscaling is not supported for a MultiKueue-managed"],
    ),
    "a RayCluster of too many groups": (
        job("RayCluster", {"workerGroupSpecs": SEVENTEEN}),
        [],
        ["spec.workerGroupSpecs: Too many: 19: must have at most 18 items"],
    ),
    "a group of workers called head": (
        job("RayService", {"rayClusterSpec": {"workerGroupSpecs": [{"groupName": "head"}]}}),
        [],
        ['spec.rayClusterSpec.workerGroupSpecs[0].groupName: Forbidden: "head" is reserved for the head group'],
    ),
    "a RayJob in a cluster of others, with one of its own": (
        job("RayJob", {**RAY, "clusterSelector": {"a": "b"}}),
        [],
        ['spec.clusterSelector: Invalid value: {"a":"b"}: a kueue managed job should not use an existing cluster'],
    ),
    "a RayJob in a cluster of others": (job("RayJob", {"clusterSelector": {"a": "b"}}), [], []),
    "a RayJob without a cluster": (
        job("RayJob"),
        [],
        ["spec.rayClusterSpec: Required value: rayClusterSpec is required for Kueue-managed jobs that don't use"],
    ),
    "a RayJob whose cluster stays": (
        job("RayJob", {**RAY, "shutdownAfterJobFinishes": False}),
        [],
        ["spec.shutdownAfterJobFinishes: Invalid value: false: a kueue managed job should delete the cluster after"],
    ),
    "a SparkApplication whose driver runs elsewhere": (
        job("SparkApplication", {"mode": "client"}),
        [],
        ['spec.mode: Invalid value: "client": only Cluster mode is supported for a kueue managed job'],
    ),
    "a LeaderWorkerSet of fewer than none": (
        job("LeaderWorkerSet", {"replicas": -1}),
        [],
        ["spec.replicas: Invalid value: -1: invalid LeaderWorkerSet replicas: must be >= 0, got -1"],
    ),
    "a pod of a group of unknown size": (
        job("Pod", labels={f"{K}pod-group-name": "pair"}),
        [],
        [
            f"metadata.annotations[{K}pod-group-total-count]: Required value: both the '{K}pod-group-total-count' "
            f"annotation and the '{K}pod-group-name' label should be set"
        ],
    ),
    "a size without a group": (
        job("Pod", pod__group__total__count="2"),
        [],
        [f"metadata.labels[{K}pod-group-name]: Required value: both the"],
    ),
    "a group of nobody": (
        job("Pod", pod__group__total__count="0", pod__group__name="pair"),
        [],
        [f'metadata.annotations[{K}pod-group-total-count]: Invalid value: "0": incorrect annotation value'],
    ),
    "a group of another name than its Workload": (
        job("Pod", pod__group__total__count="1", pod__group__name="pair", prebuilt__workload__name="one"),
        [],
        [
            f'metadata.annotations[{K}prebuilt-workload-name]: Invalid value: "one": prebuilt workload and pod group '
            "should be equal"
        ],
    ),
    "a Workload that is there already, of no name": (
        job("JobSet", labels={f"{K}prebuilt-workload-name": ""}),
        [],
        [f'metadata.labels[{K}prebuilt-workload-name]: Invalid value: "": a lowercase RFC 1123 subdomain'],
    ),
    "what is wrong with an MPIJob by field": (
        job("MPIJob", labels={f"{K}queue-name": "Q"}, elastic__job="true"),
        [],
        [f"metadata.annotations[{K}elastic-job]: ", f"metadata.labels[{K}queue-name]: "],
    ),
    "pod sets that cannot be made, of which alone a JobSet speaks": (
        job("JobSet", labels={f"{K}queue-name": "Q"}),
        [pod_set("a", 1, {f"{K}podset-unconstrained-topology": "maybe"})],
        ['strconv.ParseBool: parsing "maybe": invalid syntax'],
    ),
    "slices of no number in a TrainJob": (
        job("TrainJob"),
        [pod_set("node", 1, {SLICE: "cloud/rack", SIZE: "two"})],
        ['strconv.ParseInt: parsing "two": invalid syntax'],
    ),
    "no layer in a SparkApplication": (
        job("SparkApplication"),
        [pod_set("driver"), pod_set("executor", 1, {LAYERS: "null"})],
        ["topology constraints must contain between 1 and 3 entries: got 0"],
    ),
    "what cannot be made of a TFJob is said by field": (
        job("TFJob", {"tfReplicaSpecs": {"Worker": {}}}),
        [pod_set("worker", 1, {f"{K}podset-unconstrained-topology": "maybe"})],
        [f"spec.tfReplicaSpecs[Worker].template.metadata.annotations[{K}podset-unconstrained-topology]: Invalid"],
    ),
    "a head that is wrong before the workers": (
        job("RayCluster", {"workerGroupSpecs": [{"groupName": "Small"}]}),
        [
            pod_set("head", 1, {REQUIRED: "not a key", GROUP: "g"}),
            pod_set("small", 1, {REQUIRED: "a/b/c"}),
        ],
        [
            f'spec.headGroupSpec.template.metadata.annotations[{REQUIRED}]: Invalid value: "not a key": ',
            f"spec.headGroupSpec.template.metadata.annotations[{GROUP}]: Invalid value: ",
            f'spec.workerGroupSpecs[0].template.metadata.annotations[{REQUIRED}]: Invalid value: "a/b/c": ',
        ],
    ),
    "nobody looks at who submits a RayJob": (
        job("RayJob", RAY),
        [pod_set("head"), pod_set("submitter", 1, {REQUIRED: "not a key"})],
        [],
    ),
    "a slice larger than the pod set": (
        job("JobSet", {"replicatedJobs": [{"name": "a"}, {"name": "b"}]}),
        [pod_set("a"), pod_set("b", 2, {SLICE: "cloud/rack", SIZE: "3"})],
        [
            f"spec.replicatedJobs[1].template.spec.template.metadata.annotations[{SIZE}]: "
            'Invalid value: "3": must not be greater than pod set count 2'
        ],
    ),
    "a topology of a role by its path": (
        job("PyTorchJob", {"pytorchReplicaSpecs": {"Master": {}}}),
        [pod_set("master", 1, {REQUIRED: "not a key"})],
        [f"spec.pytorchReplicaSpecs[Master].template.metadata.annotations[{REQUIRED}]: Invalid value: "],
    ),
    "a TrainJob says where to change it": (
        job("TrainJob"),
        [pod_set("node", 1, {REQUIRED: "a/b/c"})],
        ['job[node].annotations[kueue.x-k8s.io/podset-required-topology]: Invalid value: "a/b/c": '],
    ),
    "a group of one pod set": (
        job("LeaderWorkerSet"),
        [pod_set("leader", 1, {REQUIRED: "cloud/rack", GROUP: "g"}), pod_set("worker", 3)],
        [
            f"spec.leaderWorkerTemplate.leaderTemplate.metadata.annotations[{GROUP}]: Invalid value: "
            '"g": can only define groups of exactly 2 pod sets, got: 1 pod set(s)'
        ],
    ),
    "a group in two places": (
        job("MPIJob", {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {}}}),
        [
            pod_set("launcher", 1, {REQUIRED: "cloud/rack", GROUP: "g"}),
            pod_set("worker", 3, {REQUIRED: "cloud/block", GROUP: "g"}),
        ],
        [
            "spec.mpiReplicaSpecs[Launcher].template.metadata.annotations: Invalid value: must specify",
            "spec.mpiReplicaSpecs[Worker].template.metadata.annotations: Invalid value: must specify",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_webhook_says(name: str) -> None:
    obj, pod_sets, expected = CASES[name]
    problems = list(kind_problems(obj, pod_sets, queued=True))
    assert len(problems) == len(expected)
    assert all(problem.startswith(start) for problem, start in zip(problems, expected, strict=True)), problems


@pytest.mark.parametrize("word", ["required", "preferred", "unconstrained"])
def test_an_elastic_job_asks_for_no_domain(word: str) -> None:
    annotations = {f"{K}podset-{word}-topology": "true"}
    template = {"metadata": {"annotations": annotations}}
    problems = list(BATCH_JOB.problems(job("Job", {"template": template}, elastic__job="true"), True))
    path = f"spec.template.metadata.annotations.{K}podset-{word}-topology"
    expected = f"{path}: Forbidden: {word} topology is not supported with elastic jobs"
    assert problems == ([] if word == "unconstrained" else [expected])


def test_without_a_queue_a_ray_cluster_may_have_its_autoscaler() -> None:
    obj = job("RayCluster", {"enableInTreeAutoscaling": True}, labels={"a": "b"})
    assert list(kind_problems(obj, [], queued=False)) == []


def test_a_job_is_looked_at_as_any_job_first() -> None:
    obj = job("Job", {"template": {}}, labels={f"{K}queue-name": "Q"}, elastic__job="true")
    (problem,) = BATCH_JOB.problems(obj, True)
    assert problem.startswith(f"metadata.labels[{K}queue-name]")


MIN, SYNC = (
    f"metadata.annotations[{K}job-min-parallelism]",
    f"metadata.annotations[{K}job-completions-equal-parallelism]",
)


@pytest.mark.parametrize(
    ("annotations", "spec", "expected"),
    [
        ({"job__min__parallelism": "3"}, {}, []),
        ({"job__min__parallelism": "NaN"}, {}, [f'{MIN}: Invalid value: "NaN": strconv.Atoi: parsing "NaN": invalid']),
        ({"job__min__parallelism": "5"}, {}, [f"{MIN}: Invalid value: 5: should be between 0 and 3"]),
        (
            {"job__min__parallelism": "2", "elastic__job": "true"},
            {},
            [f'{MIN}: Invalid value: "2": partial admission and elastic job cannot be used together'],
        ),
        ({"job__completions__equal__parallelism": "0"}, {}, []),
        (
            {"job__completions__equal__parallelism": "-"},
            {},
            [f'{SYNC}: Invalid value: "-": strconv.ParseBool: parsing "-": invalid syntax'],
        ),
        (
            {"job__completions__equal__parallelism": "true"},
            {"completions": 4},
            [f'{SYNC}: Invalid value: "true": should not be enabled for NonIndexed jobs'],
        ),
        (
            {"job__completions__equal__parallelism": "true"},
            {"completionMode": "Indexed"},
            ["spec.completions: Invalid value: 6: should be equal to parallelism when"],
        ),
    ],
)
def test_the_annotations_of_a_job(annotations: dict[str, str], spec: dict[str, Any], expected: list[str]) -> None:
    obj = job("Job", {"parallelism": 4, "completions": 6, "template": {}, **spec}, **annotations)
    problems = list(BATCH_JOB.problems(obj, True))
    assert len(problems) == len(expected)
    assert all(problem.startswith(start) for problem, start in zip(problems, expected, strict=True)), problems
