"""The pod sets that the object of a job names itself, as it says them: before its operator adds to its pods.

Upstream: PodSets of each kind below pkg/controller/jobs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.api.quantity import Quantity
from kwhatif.workloads.objects import annotations_of, integer
from kwhatif.workloads.operators.operator_kind import items_of, some_fields
from kwhatif.workloads.operators.ray_clusters import (
    SUBMITTER_JOB,
    SUBMITTER_SIDECAR,
    head_template,
    submission_mode,
    submitter_container,
    submitter_template,
)

MAIN = "main"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
_JAVA_SIZE = re.compile(r"\s*(\d+)([kmgtp])b?\s*", re.IGNORECASE)
_REDIS_CLEANUP = {"cpu": "200m", "memory": "256Mi"}


class SpecPodSet(msgspec.Struct, frozen=True):
    """A pod set as its object says it. A topology orders its pods by ``index_label``."""

    name: str
    template: Object
    count: int
    index_label: str | None = None


SpecPodSets = Callable[[Object], Iterator[SpecPodSet]]


def replicated_jobs(job_set: Object) -> Iterator[SpecPodSet]:
    """Those of a JobSet, also such as wait for others to end. Upstream: jobset_controller.go."""
    for replicated in items_of(job_set, "spec", "replicatedJobs"):
        spec = section(replicated, "template", "spec")
        parallelism = integer(spec.get("parallelism"), 1)
        count = min(parallelism, integer(spec.get("completions"), parallelism))
        name = str(replicated.get("name") or "").lower()
        replicas = integer(replicated.get("replicas"), 1)
        yield SpecPodSet(name, section(spec, "template"), replicas * count, COMPLETION_INDEX)


def replica_types(field: str, *order: str) -> SpecPodSets:
    """Those of a training job by role. Upstream: kubeflowjob_controller.go, mpijob_controller.go."""

    def pod_sets(job: Object) -> Iterator[SpecPodSet]:
        specs = section(job, "spec", field)
        for replica_type in order:
            if spec := section(specs, replica_type):
                count = integer(spec.get("replicas"), 1)
                yield SpecPodSet(replica_type.lower(), section(spec, "template"), count, REPLICA_INDEX)

    return pod_sets


def ray_groups(*within: str) -> SpecPodSets:
    """The head, the groups of workers and who submits. Upstream: raycluster/common.go, rayjob_controller.go."""

    def pod_sets(job: Object) -> Iterator[SpecPodSet]:
        own = section(job, "spec")
        spec, mode = section(own, *within), submission_mode(own) if job.get("kind") == "RayJob" else ""
        head = head_template(spec)
        is_fault_tolerant = annotations_of(job).get("ray.io/ft-enabled", "").lower() == "true"
        if is_fault_tolerant or spec.get("gcsFaultToleranceOptions") is not None:
            _add_redis_cleanup(head)
        if mode == SUBMITTER_SIDECAR:
            head["spec"] = {**section(head, "spec"), "containers": [*_containers(head), submitter_container(own)]}
        yield SpecPodSet("head", head, 1)
        for group in items_of(spec, "workerGroupSpecs"):
            # The CRD's default is none; what an autoscaler has as the least does not count.
            count = integer(group.get("replicas"), 0) * max(integer(group.get("numOfHosts"), 1), 1)
            yield SpecPodSet(str(group.get("groupName") or "").lower(), section(group, "template"), count)
        if mode == SUBMITTER_JOB:
            yield SpecPodSet("submitter", submitter_template(own), 1)

    return pod_sets


def _add_redis_cleanup(head: Object) -> None:
    """The Job that cleans up Redis in the end fits into what the head asks for (accountForRedisCleanupInHeadPodSet)."""
    for container in _containers(head)[:1]:
        requests = {**section(container, "resources", "requests")}
        for name, least in _REDIS_CLEANUP.items():
            if Quantity.parse(str(requests.get(name, "0"))) < Quantity.parse(least):
                requests[name] = least
        container["resources"] = {**section(container, "resources"), "requests": requests}


def _containers(template: Object) -> list[Object]:
    return items_of(template, "spec", "containers")


def leader_and_workers(lws: Object) -> Iterator[SpecPodSet]:
    """Those of each group of a LeaderWorkerSet. Upstream: leaderworkerset_reconciler.go."""
    both = section(lws, "spec", "leaderWorkerTemplate")
    workers = integer(both.get("size"), 1)
    if leader := section(both, "leaderTemplate"):
        workers -= 1
        yield SpecPodSet("leader", leader, 1)
    yield SpecPodSet("worker" if leader else MAIN, section(both, "workerTemplate"), workers, WORKER_INDEX)


def driver_and_executors(app: Object) -> Iterator[SpecPodSet]:
    """Those of a SparkApplication, without the memory beside the heap. Upstream: sparkapplication_podset.go."""
    spec = section(app, "spec")
    executors = integer(section(spec, "executor").get("instances"), 0)
    for role, count in (("driver", 1), ("executor", executors)):
        own = section(spec, role)
        requests, limits = {"cpu": own.get("coreRequest")}, {"cpu": own.get("coreLimit")}
        requests["memory"], limits["memory"] = (_memory(own.get(name)) for name in ("memory", "memoryLimit"))
        gpu = section(own, "gpu")
        if gpu.get("name"):
            limits[gpu["name"]] = gpu.get("quantity")
        resources = {"requests": some_fields(requests, *requests), "limits": some_fields(limits, *limits)}
        base = section(own, "template", "metadata")
        metadata = {name: {**section(base, name), **section(own, name)} for name in ("labels", "annotations")}
        containers = [{"name": f"spark-kubernetes-{role}", "resources": resources}, *items_of(own, "sidecars")]
        constraints = some_fields(own, "initContainers", "priorityClassName", "nodeSelector", "affinity", "tolerations")
        yield SpecPodSet(role, {"metadata": metadata, "spec": {**constraints, "containers": containers}}, count)


def _memory(size: object) -> str | None:
    """As Kubernetes writes it, of what Java does."""
    match = _JAVA_SIZE.fullmatch(str(size or ""))
    return f"{match[1]}{match[2].upper()}i" if match else str(size or "") or None
