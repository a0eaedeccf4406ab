"""Training jobs of Kubeflow, and Jobs of Volcano: named pods by role.

Upstream: kubeflow/training-operator, pkg/controller.v1/common/pod.go (createNewPod), pytorch/initcontainer.go, mpi/;
kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go; kubeflow/trainer, pkg/runtime; volcano-sh/volcano,
pkg/controllers/job/job_controller_util.go (createJobPod).
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.workloads.objects import deep_copy_json, integer, name_of, namespace_of, section, uid_of
from kwhatif.workloads.operators.job_sets import job_set_children
from kwhatif.workloads.operators.operator_kind import items_of, size_of
from kwhatif.workloads.workload_kind import Companions, child, child_pod

_TRAINING = "training.kubeflow.org"
_TRAINER = "trainer.kubeflow.org"
_VOLCANO = "volcano.sh"
_RESTART = {"ExitCode": "Never"}
"""What the restart policy of a role means for its pods, where they have no such policy."""


def _roles(job: Object, field: str) -> Iterator[tuple[str, Object, int, Object]]:
    """Role, its spec, its size and its template."""
    if section(job, "spec", "runPolicy").get("suspend"):
        return
    for role, spec in sorted(section(job, "spec", field).items()):
        template = section(spec if isinstance(spec, dict) else {}, "template")
        check_part(template, "core.v1.PodTemplateSpec", f"$.spec.{field}.{role}.template")
        yield role, spec, size_of(job, spec.get("replicas"), 1, f"$.spec.{field}.{role}.replicas"), template


def _role_pod(job: Object, operator: str, role: str, spec: Object, template: Object, index: int, head: bool) -> Object:
    labels = {
        f"{_TRAINING}/job-name": name_of(job),
        f"{_TRAINING}/operator-name": operator,
        f"{_TRAINING}/replica-type": role.lower(),
        f"{_TRAINING}/replica-index": str(index),
    }
    if head:
        labels[f"{_TRAINING}/job-role"] = "master"
    pod = child_pod(job, template, f"{name_of(job)}-{role.lower()}-{index}", labels)
    policy = str(spec.get("restartPolicy") or "Never")
    pod["spec"]["restartPolicy"] = _RESTART.get(policy, policy)
    return pod


def pytorch_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a PyTorchJob; workers wait for the master in an init container, which asks for little."""
    field = "pytorchReplicaSpecs"
    has_master = "Master" in section(job, "spec", field)
    for role, spec, size, template in _roles(job, field):
        for index in range(size):
            pod = _role_pod(job, "pytorchjob-controller", role, spec, template, index, role == "Master")
            if has_master and role == "Worker":
                waits = {
                    "name": "init-pytorch",
                    "image": "alpine:3.10",
                    "resources": {
                        "requests": {"cpu": "50m", "memory": "10Mi"},
                        "limits": {"cpu": "100m", "memory": "20Mi"},
                    },
                }
                pod["spec"]["initContainers"] = [*(pod["spec"].get("initContainers") or ()), waits]
            yield pod


def tensorflow_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a TFJob; without a chief, the first worker is the master."""
    field = "tfReplicaSpecs"
    has_chief = any(role in section(job, "spec", field) for role in ("Chief", "Master"))
    for role, spec, size, template in _roles(job, field):
        for index in range(size):
            head = role in ("Chief", "Master") if has_chief else role == "Worker" and index == 0
            yield _role_pod(job, "tfjob-controller", role, spec, template, index, head)


def mpi_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The pods of an MPIJob: workers, and the launcher, of v2 through a Job of Kubernetes' own."""
    for role, spec, size, template in _roles(job, "mpiReplicaSpecs"):
        if role == "Launcher" and str(job.get("apiVersion", "")).endswith("/v2beta1"):
            labels = {f"{_TRAINING}/job-name": name_of(job), f"{_TRAINING}/job-role": "launcher"}
            pod = child_pod(job, template, "launcher-", {**labels, f"{_TRAINING}/operator-name": "mpi-operator"})
            pod["spec"].setdefault("restartPolicy", str(spec.get("restartPolicy") or "OnFailure"))
            metadata = {"labels": pod["metadata"].get("labels") or {}}
            body = {"template": {"metadata": metadata, "spec": pod["spec"]}, "backoffLimit": 6}
            yield child(job, "batch/v1", "Job", f"{name_of(job)}-launcher", body)
            continue
        for index in range(1 if role == "Launcher" else size):
            pod = _role_pod(job, "mpi-operator", role, spec, template, index, head=False)
            pod["metadata"]["labels"][f"{_TRAINING}/job-role"] = role.lower()
            if role == "Launcher":
                pod["metadata"]["name"] = f"{name_of(job)}-launcher"
            yield pod


def volcano_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a Volcano Job, all of one PodGroup, for the scheduler that the job names (``volcano``)."""
    spec = section(job, "spec")
    group = f"{name_of(job)}-{uid_of(job)}"
    for place, task in enumerate(items_of(spec, "tasks")):
        template = section(task, "template")
        check_part(template, "core.v1.PodTemplateSpec", f"$.spec.tasks[{place}].template")
        role = str(task.get("name") or f"default{place}")
        for index in range(size_of(job, task.get("replicas"), 1, f"$.spec.tasks[{place}].replicas")):
            labels = {
                f"{_VOLCANO}/job-name": name_of(job),
                f"{_VOLCANO}/job-namespace": namespace_of(job),
                f"{_VOLCANO}/queue-name": str(spec.get("queue") or "default"),
                f"{_VOLCANO}/task-index": str(index),
                f"{_VOLCANO}/task-spec": role,
            }
            notes = {
                f"{_VOLCANO}/task-spec": role,
                f"{_VOLCANO}/job-name": name_of(job),
                f"{_VOLCANO}/queue-name": str(spec.get("queue") or "default"),
                "scheduling.k8s.io/group-name": group,
            }
            pod = child_pod(job, template, f"{name_of(job)}-{role}-{index}", labels, notes)
            body = pod["spec"]
            body.setdefault("schedulerName", spec.get("schedulerName") or "volcano")
            if spec.get("priorityClassName"):
                body.setdefault("priorityClassName", spec["priorityClassName"])
            for volume in items_of(spec, "volumes"):
                if claim := volume.get("volumeClaimName"):
                    source = {"name": claim, "persistentVolumeClaim": {"claimName": claim}}
                    body["volumes"] = [*(body.get("volumes") or ()), source]
            yield pod


# --- TrainJob


def _runtime_of(job: Object, companions: Companions) -> Object | None:
    ref = section(job, "spec", "runtimeRef")
    kind = str(ref.get("kind") or "ClusterTrainingRuntime")
    namespace = "" if kind == "ClusterTrainingRuntime" else namespace_of(job)
    named = str(ref.get("name") or "")
    found = companions.find(_TRAINER, kind, namespace, named)
    return found or companions.find(_TRAINER, kind, namespace_of(job), named)


def train_job_doubts(job: Object, companions: Companions) -> Iterator[Doubt]:
    if _runtime_of(job, companions) is None:
        ref = section(job, "spec", "runtimeRef")
        what = f"{ref.get('kind') or 'ClusterTrainingRuntime'} {ref.get('name')} is not among the manifests"
        yield Doubt(what, f"the pods of TrainJob {name_of(job)} are missing: their template is in there")


def train_job_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The Jobs of the JobSet that a TrainJob becomes: its runtime's template, with what the job overrides."""
    runtime = _runtime_of(job, companions)
    if runtime is None or section(job, "spec").get("suspend"):
        return
    template, trainer = section(runtime, "spec", "template"), section(job, "spec", "trainer")
    spec = deep_copy_json(section(template, "spec"))
    nodes = trainer.get("numNodes", section(runtime, "spec", "mlPolicy").get("numNodes"))
    for replicated in items_of(spec, "replicatedJobs"):
        labels = section(replicated, "template", "metadata", "labels")
        if labels.get(f"{_TRAINER}/trainjob-ancestor-step") != "trainer" and replicated.get("name") != "node":
            continue
        body = section(replicated, "template", "spec")
        if nodes is not None:
            body["parallelism"] = body["completions"] = integer(nodes, 1)
        for container in items_of(body, "template", "spec", "containers"):
            if container.get("name") in ("node", "trainer"):
                if trainer.get("resourcesPerNode"):
                    container["resources"] = deep_copy_json(trainer["resourcesPerNode"])
                if trainer.get("image"):
                    container["image"] = trainer["image"]
    metadata = {**section(job, "metadata"), "annotations": section(template, "metadata").get("annotations") or {}}
    job_set = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}
    yield from job_set_children(job_set, companions)
