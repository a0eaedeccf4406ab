"""The pod sets that Kueue makes of jobs of each kind: what their objects say, not what their operators add."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.core import Container, Pod, PodSpec, ResourceRequirements
from kwhatif.api.kueue import QUEUE_LABEL
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.quantity import Quantity
from kwhatif.kueue.configuration import ResourceSettings
from kwhatif.kueue.jobs.job_kinds import POD_ROW, group_failure, pod_sets_of, row_of
from kwhatif.kueue.pod_amounts import NamespaceLimits, PodCounter

GIB = 1 << 30


def template(**requests: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": "main", "resources": {"requests": requests}}]}}


def replicated(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "template": {"spec": {**spec, "template": template(cpu="1")}}}


def role(replicas: int | None, **requests: str) -> dict[str, Any]:
    return {"template": template(**requests), **({} if replicas is None else {"replicas": replicas})}


def ray(workers: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    groups = [{"groupName": "Small", "template": template(cpu="2"), **workers}] if workers is not None else []
    return {"headGroupSpec": {"template": template(cpu="1", memory="1Gi")}, "workerGroupSpecs": groups, **spec}


CPU = {"cpu": 1000}
HEAD = {"cpu": 1000, "memory": GIB}

CASES: dict[str, tuple[str, str, dict[str, Any], list[tuple[str, int, dict[str, int]]]]] = {
    "a JobSet has its replicated jobs in their order, whatever they are called": (
        "jobset.x-k8s.io",
        "JobSet",
        {"replicatedJobs": [replicated("workers", 2, parallelism=3), replicated("driver", 1)]},
        [("workers", 6, CPU), ("driver", 1, CPU)],
    ),
    "a replicated job that waits for another one counts as well": (
        "jobset.x-k8s.io",
        "JobSet",
        {
            "replicatedJobs": [
                replicated("load", 1),
                {**replicated("train", 4), "dependsOn": [{"name": "load", "status": "Complete"}]},
            ]
        },
        [("load", 1, CPU), ("train", 4, CPU)],
    ),
    "no more pods of a replica count than it completes": (
        "jobset.x-k8s.io",
        "JobSet",
        {"replicatedJobs": [replicated("a", 2, parallelism=5, completions=3)]},
        [("a", 6, CPU)],
    ),
    "a role without pods is a pod set of none": (
        "kubeflow.org",
        "PyTorchJob",
        {"pytorchReplicaSpecs": {"Worker": role(0, cpu="1"), "Master": role(None, cpu="1")}},
        [("master", 1, CPU), ("worker", 0, CPU)],
    ),
    "containers that wait for the master do not count": (
        "kubeflow.org",
        "PyTorchJob",
        {"pytorchReplicaSpecs": {"Master": role(1, **{"a.io/gpu": "1"}), "Worker": role(1, **{"a.io/gpu": "1"})}},
        [("master", 1, {"a.io/gpu": 1}), ("worker", 1, {"a.io/gpu": 1})],
    ),
    "a TFJob evaluates last": (
        "kubeflow.org",
        "TFJob",
        {"tfReplicaSpecs": {name: role(1, cpu="1") for name in ("Evaluator", "PS", "Worker", "Chief")}},
        [("chief", 1, CPU), ("ps", 1, CPU), ("worker", 1, CPU), ("evaluator", 1, CPU)],
    ),
    "a group of workers has as many pods as it asks for, whatever its least": (
        "ray.io",
        "RayCluster",
        ray({"replicas": 2, "numOfHosts": 4, "minReplicas": 3}),
        [("head", 1, HEAD), ("small", 8, {"cpu": 2000})],
    ),
    "the container of Ray's autoscaler counts": (
        "ray.io",
        "RayCluster",
        ray(enableInTreeAutoscaling=True),
        [("head", 1, {"cpu": 1500, "memory": GIB + (512 << 20)})],
    ),
    "a head has room for the Job that cleans up Redis": (
        "ray.io",
        "RayCluster",
        ray(gcsFaultToleranceOptions={}) | {"headGroupSpec": {"template": template(cpu="100m", memory="1Gi")}},
        [("head", 1, {"cpu": 200, "memory": GIB})],
    ),
    "a RayJob submits by a Job": (
        "ray.io",
        "RayJob",
        {"rayClusterSpec": ray()},
        [("head", 1, HEAD), ("submitter", 1, {"cpu": 500, "memory": 200 << 20})],
    ),
    "a RayJob submits beside the head": (
        "ray.io",
        "RayJob",
        {"rayClusterSpec": ray(), "submissionMode": "SidecarMode", "submitterPodTemplate": template(cpu="9")},
        [("head", 1, {"cpu": 1500, "memory": GIB + (200 << 20)})],
    ),
    "a RayJob that submits by HTTP has no pod for it": (
        "ray.io",
        "RayJob",
        {"rayClusterSpec": ray(), "submissionMode": "HTTPMode"},
        [("head", 1, HEAD)],
    ),
    "a leader is one of its group": (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        {"leaderWorkerTemplate": {"size": 3, "leaderTemplate": template(), "workerTemplate": template(cpu="1")}},
        [("leader", 1, {}), ("worker", 2, CPU)],
    ),
    "a group without a leader's template is of one kind": (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        {"leaderWorkerTemplate": {"size": 3, "workerTemplate": template(cpu="1")}},
        [("main", 3, CPU)],
    ),
    "a SparkApplication counts neither cores nor the memory beside the heap": (
        "sparkoperator.k8s.io",
        "SparkApplication",
        {
            "driver": {"cores": 4, "coreLimit": "2", "memory": "1g"},
            "executor": {"instances": 2, "coreRequest": "500m", "memory": "512m", "memoryOverhead": "1g"},
        },
        [("driver", 1, {"cpu": 2000, "memory": GIB}), ("executor", 2, {"cpu": 500, "memory": 512 << 20})],
    ),
}


COUNTER = PodCounter(NamespaceLimits(()), {}, ResourceSettings())


@pytest.mark.parametrize("name", CASES)
def test_pod_sets_are_what_the_object_says(name: str) -> None:
    group, kind, spec, expected = CASES[name]
    row = row_of(group, kind)
    assert row is not None
    job = {"kind": kind, "metadata": {"name": "x"}, "spec": spec}
    pod_sets, names = pod_sets_of(row, job, [Pod(metadata=ObjectMeta(name="x-0", namespace="ml"))])
    found = [(each.name, each.count, COUNTER.count(each, "ml").requests) for each in pod_sets]
    assert found == expected
    assert list(names) == ["ml/x-0"]


def member(cpu: str = "1", total: str = "2", queue: str = "q") -> Pod:
    """A pod of a group."""
    return Pod(
        metadata=ObjectMeta(
            name=f"of-{queue}",
            namespace="ml",
            labels={QUEUE_LABEL: queue, "kueue.x-k8s.io/pod-group-name": "g"},
            annotations={"kueue.x-k8s.io/pod-group-total-count": total},
        ),
        spec=PodSpec(
            containers=[Container(name="main", resources=ResourceRequirements(requests={"cpu": Quantity.parse(cpu)}))]
        ),
    )


@pytest.mark.parametrize(
    ("pods", "why"),
    [
        (
            [member(), member(total="3", queue="other")],
            "has different queue names: q!=other",
        ),
        ([member(), member(total="3")], "'kueue.x-k8s.io/pod-group-total-count' values: 2!=3"),
        ([member(str(n), "19") for n in range(1, 20)], "pod group can't include more than 18 roles"),
        ([member(str(n), "18") for n in range(1, 20)], ""),
    ],
    ids=["the queue is looked at before the count", "counts that differ", "19 roles", "what is beyond is deleted"],
)
def test_a_group_whose_pods_do_not_go_together_has_no_workload(pods: list[Pod], why: str) -> None:
    assert group_failure(pods).endswith(why)
    assert bool(group_failure(pods)) == bool(why)


def test_pods_beyond_the_count_of_their_group_are_left_out() -> None:
    pod_sets, _ = pod_sets_of(POD_ROW, {}, [member(), member("2"), member("2")])
    assert [each.count for each in pod_sets] == [1, 1]
