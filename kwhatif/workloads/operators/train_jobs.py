"""TrainJobs of Kubeflow's trainer: the JobSet of their runtime, with their overrides.

Upstream: kubeflow/trainer, pkg/runtime/core/trainingruntime.go and pkg/runtime/framework/plugins/{jobset,mpi}.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.objects import section
from kwhatif.workloads.objects import deep_copy_json, integer, name_of, namespace_of
from kwhatif.workloads.operators.job_sets import job_set_children, job_set_doubts
from kwhatif.workloads.operators.operator_kind import items_of, some_fields
from kwhatif.workloads.operators.other_schedulers import runtime_doubts
from kwhatif.workloads.workload_kind import Companions

_TRAINER = "trainer.kubeflow.org"
_REPLACED = ("tolerations", "affinity", "schedulingGates", "imagePullSecrets", "serviceAccountName")
"""Fields of an override that replace those of the runtime; node selectors and volumes are merged."""


def _runtime_of(job: Object, companions: Companions) -> Object | None:
    ref = section(job, "spec", "runtimeRef")
    kind = str(ref.get("kind") or "ClusterTrainingRuntime")
    namespace = "" if kind == "ClusterTrainingRuntime" else namespace_of(job)
    named = str(ref.get("name") or "")
    runtime = companions.find(_TRAINER, kind, namespace, named)
    return runtime or companions.find(_TRAINER, kind, namespace_of(job), named)


def train_job_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The Jobs of the JobSet that a TrainJob becomes; none while it is suspended."""
    job_set = job_set_of(job, companions)
    if job_set is not None and not section(job, "spec").get("suspend"):
        yield from job_set_children(job_set, companions)


def job_set_of(job: Object, companions: Companions) -> Object | None:
    """The JobSet that a TrainJob becomes; None if its runtime is not known."""
    runtime = _runtime_of(job, companions)
    return None if runtime is None else _job_set_of(job, runtime)


def train_job_doubts(job: Object, companions: Companions) -> Iterator[Doubt]:
    runtime = _runtime_of(job, companions)
    if runtime is not None:
        yield from job_set_doubts({**_job_set_of(job, runtime), "kind": "TrainJob"}, companions)
        yield from runtime_doubts(job, runtime)
        return
    ref = section(job, "spec", "runtimeRef")
    what = f"{ref.get('kind') or 'ClusterTrainingRuntime'} {ref.get('name')} is not among the manifests"
    yield Doubt(what, f"the pods of TrainJob {name_of(job)} are missing: their template is in there")


def _job_set_of(job: Object, runtime: Object) -> Object:
    template = section(runtime, "spec", "template")
    spec = deep_copy_json(section(template, "spec"))
    for replicated in items_of(spec, "replicatedJobs"):
        _set_size(job, runtime, replicated)
        _override_containers(job, runtime, replicated)
        for field in ("podTemplateOverrides", "podSpecOverrides"):
            for override in items_of(job, "spec", field):
                if replicated.get("name") in {target.get("name") for target in items_of(override, "targetJobs")}:
                    _override_pods(
                        replicated, section(override, "spec") if field == "podTemplateOverrides" else override
                    )
    metadata = {**section(job, "metadata"), "annotations": section(template, "metadata", "annotations")}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": dict(spec)}


def _set_size(job: Object, runtime: Object, replicated: Object) -> None:
    """Set the number of pods by the number of nodes; with MPI the launcher may be one of the nodes."""
    policy, trainer = section(runtime, "spec", "mlPolicy"), section(job, "spec", "trainer")
    labels = section(replicated, "template", "metadata", "labels")
    trains = labels.get(f"{_TRAINER}/trainjob-ancestor-step") == "trainer"
    nodes = trainer.get("numNodes", None if "mpi" in policy else policy.get("numNodes"))
    if trains:
        replicated["replicas"] = 1
    if nodes is None or not (replicated.get("name") == "node" if "mpi" in policy else trains):
        return
    as_node = bool(section(policy, "mpi").get("runLauncherAsNode"))
    body = section(replicated, "template", "spec")
    body["parallelism"] = body["completions"] = max(integer(nodes, 1) - as_node, 1 if as_node else 0)


def _override_containers(job: Object, runtime: Object, replicated: Object) -> None:
    """Set the image and resources of the training containers."""
    trainer = section(job, "spec", "trainer")
    names = {"node"} | ({"launcher"} if section(runtime, "spec", "mlPolicy", "mpi").get("runLauncherAsNode") else set())
    for container in items_of(replicated, "template", "spec", "template", "spec", "containers"):
        if container.get("name") in names:
            own_resources = section(trainer, "resourcesPerNode")
            if own_resources.get("requests") or own_resources.get("limits"):
                container["resources"] = deep_copy_json(own_resources)
            if trainer.get("image"):
                container["image"] = trainer["image"]


def _override_pods(replicated: Object, override: Object) -> None:
    body = section(replicated, "template", "spec", "template", "spec")
    if labels := section(override, "nodeSelector"):
        body["nodeSelector"] = {**section(body, "nodeSelector"), **deep_copy_json(labels)}
    body.update(some_fields(override, *_REPLACED))
    for field in ("volumes", "initContainers", "containers"):
        theirs = {str(item.get("name")): item for item in items_of(override, field)}
        mine = [{**item, **deep_copy_json(theirs.pop(str(item.get("name")), {}))} for item in items_of(body, field)]
        if field != "containers":
            mine += [deep_copy_json(container) for container in theirs.values()]
        if mine:
            body[field] = mine
