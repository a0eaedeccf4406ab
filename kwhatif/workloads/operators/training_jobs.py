"""Training jobs of Kubeflow's training operator and MPI operator: named pods by role.

Upstream: kubeflow/training-operator, pkg/controller.v1/common/pod.go (createNewPod), pytorch/initcontainer.go,
mpi/mpijob_controller.go (newLauncher, newWorker), and IsMasterRole of each; kubeflow/mpi-operator,
pkg/controller/mpi_job_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.objects import deep_copy_json, name_of
from kwhatif.workloads.operators.operator_kind import Children, size_of
from kwhatif.workloads.workload_kind import Companions, child, child_pod

_TRAINING = "training.kubeflow.org"
_RESTART = {"ExitCode": "Never"}
"""What the restart policy of a role means for its pods, where they have no such policy."""


def _roles(job: Object, field: str) -> Iterator[tuple[str, Object, int, Object]]:
    """Roles in lower case, each with its spec, size and template."""
    if section(job, "spec", "runPolicy").get("suspend"):
        return
    for role, spec in sorted(section(job, "spec", field).items()):
        template = section(spec if isinstance(spec, dict) else {}, "template")
        check_part(template, "core.v1.PodTemplateSpec", f"$.spec.{field}.{role}.template")
        yield role.lower(), spec, size_of(job, spec.get("replicas"), 1, f"$.spec.{field}.{role}.replicas"), template


def _role_pod(job: Object, operator: str, role: str, spec: Object, template: Object, index: int) -> Object:
    labels = {
        f"{_TRAINING}/job-name": name_of(job),
        f"{_TRAINING}/operator-name": operator,
        f"{_TRAINING}/replica-type": role,
        f"{_TRAINING}/replica-index": str(index),
    }
    pod = child_pod(job, template, f"{name_of(job)}-{role}-{index}", labels)
    policy = str(spec.get("restartPolicy") or "Never")
    part_of(pod, "spec")["restartPolicy"] = _RESTART.get(policy, policy)
    return pod


def role_children(
    field: str, operator: str, masters: tuple[str, ...] = ("master",), *, first_worker: bool = False
) -> Children:
    """The children function of a kind whose ``field`` has the roles. Pods of ``masters`` get the master label; if there
    is no such role, the first worker gets it if ``first_worker``.
    """

    def children(job: Object, companions: Companions) -> Iterator[Object]:
        roles = list(_roles(job, field))
        has_master = any(role in masters for role, *_ in roles)
        for role, spec, size, template in roles:
            for index in range(size):
                pod = _role_pod(job, f"{operator}-controller", role, spec, template, index)
                leads = first_worker and not has_master and (role, index) == ("worker", 0)
                if role in masters or leads:
                    part_of(pod, "metadata", "labels")[f"{_TRAINING}/job-role"] = "master"
                if operator == "pytorchjob" and has_master and role == "worker":
                    _add_init_container(pod, _INIT_PYTORCH)
                yield pod

    return children


_INIT_PYTORCH: Object = {
    "name": "init-pytorch",
    "image": "alpine:3.10",
    "resources": {"requests": {"cpu": "50m", "memory": "10Mi"}, "limits": {"cpu": "100m", "memory": "20Mi"}},
}
"""The init container of workers, which waits for the master."""

_DELIVERED = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
_DELIVERY: Object = {
    "name": "kubectl-delivery",
    "image": "kubeflow/kubectl-delivery",
    "resources": {"requests": _DELIVERED, "limits": _DELIVERED},
}
"""The init container of launchers in v1."""


def _add_init_container(pod: Object, container: Object) -> None:
    part_of(pod, "spec")["initContainers"] = [
        *(part_of(pod, "spec").get("initContainers") or ()),
        deep_copy_json(container),
    ]


def _add_volumes(pod: Object, *volumes: Object) -> None:
    """Volumes that a template may mount although it does not have them."""
    spec = part_of(pod, "spec")
    spec["volumes"] = [*(spec.get("volumes") or ()), *volumes]


def _ssh_volume(job: Object) -> Object:
    return {"name": "ssh-auth", "secret": {"secretName": f"{name_of(job)}-ssh"}}


def _config_volume(job: Object) -> Object:
    return {"name": "mpi-job-config", "configMap": {"name": f"{name_of(job)}-config"}}


pytorch_children = role_children("pytorchReplicaSpecs", "pytorchjob", first_worker=True)
tensorflow_children = role_children("tfReplicaSpecs", "tfjob", ("chief", "master"), first_worker=True)
xgboost_children = role_children("xgbReplicaSpecs", "xgboostjob")
paddle_children = role_children("paddleReplicaSpecs", "paddlejob")
jax_children = role_children("jaxReplicaSpecs", "jaxjob", (), first_worker=True)


def mpi_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The workers and the launcher of an MPIJob; in v2beta1 the launcher is a Job."""
    of_v2 = str(job.get("apiVersion", "")).endswith("/v2beta1")
    operator = "mpi-operator" if of_v2 else "mpijob-controller"
    for role, spec, size, template in _roles(job, "mpiReplicaSpecs"):
        if role == "launcher" and of_v2:
            labels = {f"{_TRAINING}/job-name": name_of(job), f"{_TRAINING}/job-role": "launcher"}
            pod = child_pod(job, template, "launcher-", {**labels, f"{_TRAINING}/operator-name": "mpi-operator"})
            _add_volumes(pod, _ssh_volume(job), _config_volume(job))
            part_of(pod, "spec").setdefault("restartPolicy", str(spec.get("restartPolicy") or "OnFailure"))
            metadata = {"labels": section(part_of(pod, "metadata"), "labels")}
            limit = section(job, "spec", "runPolicy").get("backoffLimit", 6)
            body = {"template": {"metadata": metadata, "spec": part_of(pod, "spec")}, "backoffLimit": limit}
            yield child(job, "batch/v1", "Job", f"{name_of(job)}-launcher", body)
            continue
        for index in range(1 if role == "launcher" else size):
            pod = _role_pod(job, operator, role, spec, template, index)
            part_of(pod, "metadata", "labels")[f"{_TRAINING}/job-role"] = role
            _add_volumes(pod, _ssh_volume(job) if of_v2 else _config_volume(job))
            if role == "launcher":
                _add_volumes(pod, {"name": "mpi-job-kubectl", "emptyDir": {}})
                part_of(pod, "metadata")["name"] = f"{name_of(job)}-launcher"
                _add_init_container(pod, _DELIVERY)
            yield pod
