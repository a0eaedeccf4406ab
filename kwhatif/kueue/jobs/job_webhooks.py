"""What Kueue's webhooks refuse of a new job: first what they look at in every kind, then what is of one kind.

Upstream: pkg/controller/jobframework (validation.go, tas_validation.go), pkg/util/webhook and the ``*_webhook.go`` of
each kind below pkg/controller/jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from kwhatif.api.kueue import QUEUE_LABEL, WorkloadPodSet
from kwhatif.api.objects import section
from kwhatif.golang.field_validation import ROOT, Path, dns_subdomain
from kwhatif.golang.formatting import go_quote
from kwhatif.golang.parsing import parse_int, parse_int_error
from kwhatif.kueue.admission_gates import gate_problems
from kwhatif.kueue.configuration import ELASTIC
from kwhatif.kueue.jobs.topology_annotations import (
    grouping_problems,
    request_error,
    slice_size_problems,
    topology_problems,
)

Object = Mapping[str, Any]
POD_GROUP_NAME, POD_GROUP_COUNT = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
"""The name is an annotation since 0.18, and a label in older manifests."""
MAX_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
_MANAGED = "kueue.x-k8s.io/managed"
_MULTIKUEUE = "kueue.x-k8s.io/multikueue"
_PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
_LABELS, _ANNOTATIONS = ROOT.child("metadata", "labels"), ROOT.child("metadata", "annotations")
_ELASTIC_KINDS = ("Job", "RayCluster", "RayJob", "RayService")
_WITHOUT_PREBUILT = ("JAXJob", "SparkApplication")
MOST_POD_SETS, _MOST_GROUPS = 18, 1_000_000


def job_problems(job: Object) -> Iterator[str]:
    """What is wrong with a job of any kind (upstream: ValidateJobOnCreate)."""
    labels = _labels_of(job)
    yield from queue_problems(job)
    path, name = prebuilt_of(job)
    if name or _PREBUILT in labels:
        yield from _name_problems(path, name)
    if name and job.get("kind") in _WITHOUT_PREBUILT:
        yield path.forbidden(f"Is not supported for {go_quote(_version_and_kind(job))}")
    if MAX_TIME in labels:
        seconds = parse_int(labels[MAX_TIME])
        if seconds is None:
            yield _LABELS.index(MAX_TIME).invalid(labels[MAX_TIME], parse_int_error(labels[MAX_TIME]))
        elif seconds <= 0:
            yield _LABELS.index(MAX_TIME).invalid(seconds, "should be greater than 0")
    yield from marker_problems(job)


def prebuilt_of(job: Object) -> tuple[Path, str]:
    """The name of a Workload that is there already, and where it stands; empty for none."""
    by_annotation = _annotations_of(job).get(_PREBUILT)
    if by_annotation:
        return _ANNOTATIONS.index(_PREBUILT), by_annotation
    return _LABELS.index(_PREBUILT), _labels_of(job).get(_PREBUILT) or ""


def queue_problems(job: Object) -> Iterator[str]:
    """A queue's name that no LocalQueue can have."""
    labels = _labels_of(job)
    if QUEUE_LABEL in labels:
        yield from _name_problems(_LABELS.index(QUEUE_LABEL), labels[QUEUE_LABEL])


def marker_problems(job: Object) -> Iterator[str]:
    """What is wrong with the annotations that make a job elastic, or gate its admission."""
    annotations = _annotations_of(job)
    if annotations.get(ELASTIC) == "true" and job.get("kind") not in _ELASTIC_KINDS:
        kind = go_quote(_version_and_kind(job))
        yield _ANNOTATIONS.index(ELASTIC).forbidden(f"elastic job is not supported for {kind}")
    yield from gate_problems(annotations)


def kind_problems(job: Object, pod_sets: Sequence[WorkloadPodSet], *, queued: bool) -> Iterator[str]:
    """What is wrong with a job of a kind other than ``batch/v1`` Job.

    ``queued``: it names a queue, or Kueue manages jobs without one; otherwise Ray's and Spark's are looked at less.
    """
    if error := _pod_sets_error(job, pod_sets):
        return iter([error])
    problems = _kind_problems(job, pod_sets, queued=queued)
    if job.get("kind") == "MPIJob":
        # Alone of all kinds, by the field.
        return iter(sorted(problems, key=lambda problem: problem.partition(": ")[0]))
    return problems


def _pod_sets_error(job: Object, pod_sets: Sequence[WorkloadPodSet]) -> str:
    """Why no pod sets can be made, of which the webhooks of some kinds say nothing but that."""
    annotations = [pod_set.template.metadata.annotations or {} for pod_set in pod_sets]
    is_head_wrong = job.get("kind") == "RayCluster" and any(topology_problems(ROOT, texts) for texts in annotations[:1])
    if job.get("kind") not in _MAKE_POD_SETS_FIRST or is_head_wrong:
        return ""
    return next(filter(None, map(request_error, annotations)), "")


def _kind_problems(job: Object, pod_sets: Sequence[WorkloadPodSet], *, queued: bool) -> Iterator[str]:
    kind = job.get("kind") or ""
    if kind in ("Deployment", "StatefulSet"):
        yield from queue_problems(job)
        yield from marker_problems(job)
        return
    if kind == "RayJob" and queued and not _has_own_cluster(job):
        yield from _reference_problems(job)
        return
    if queued and kind in _OF_KIND:
        yield from _OF_KIND[kind](job)
    if kind == "LeaderWorkerSet":
        yield from queue_problems(job)
        yield from marker_problems(job)
        replicas = _spec_of(job).get("replicas")
        if isinstance(replicas, int) and not 0 <= replicas <= _MOST_GROUPS:
            limit = ">= 0" if replicas < 0 else f"<= {_MOST_GROUPS}"
            detail = f"invalid LeaderWorkerSet replicas: must be {limit}, got {replicas}"
            yield ROOT.child("spec", "replicas").invalid(replicas, detail)
    else:
        yield from job_problems(job)
    if kind == "Pod":
        yield from _pod_problems(job)
    yield from _topology_problems(kind, job, pod_sets)
    if kind == "Pod":
        path, name = prebuilt_of(job)
        if name and (group := _group_of(job)) and name != group:
            yield path.invalid(name, "prebuilt workload and pod group should be equal")


def _topology_problems(kind: str, job: Object, pod_sets: Sequence[WorkloadPodSet]) -> Iterator[str]:
    path_of = _TEMPLATES.get(kind)
    if path_of is None:
        return
    suffix = _HOW_TO_ADJUST if kind == "TrainJob" else ""
    paths = {pod_set.name: path_of(job, pod_set.name) for pod_set in pod_sets}
    places = {name: path.child("annotations") for name, path in paths.items()}
    grouping = grouping_problems(pod_sets, places) if kind in _GROUPED else iter(())
    for pod_set in pod_sets:
        annotations = pod_set.template.metadata.annotations or {}
        if kind == "RayJob" and pod_set.name == "submitter":
            continue
        problems = topology_problems(paths[pod_set.name], annotations)
        if kind != "Pod":
            problems = chain(problems, slice_size_problems(paths[pod_set.name], annotations, pod_set.count))
        yield from (problem + suffix for problem in problems)
        if kind in _RAY:
            # Right after those of the head.
            yield from grouping
    yield from grouping


_HOW_TO_ADJUST = (
    '. Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template" annotations for the '
    "corresponding Job"
)
_RAY = ("RayCluster", "RayJob", "RayService")
_GROUPED = ("JobSet", "LeaderWorkerSet", "MPIJob", *_RAY)
_MAKE_POD_SETS_FIRST = ("JobSet", "MPIJob", "RayCluster", "SparkApplication", "TrainJob")


# --- where the template of a pod set is


def _replicated_job(job: Object, name: str) -> Path:
    names = [str(entry.get("name") or "").lower() for entry in _spec_of(job).get("replicatedJobs") or ()]
    index = names.index(name) if name in names else 0
    return ROOT.child("spec", "replicatedJobs").index(index).child("template", "spec", "template", "metadata")


def _leader_or_worker(job: Object, name: str) -> Path:
    template = "leaderTemplate" if name == "leader" else "workerTemplate"
    return ROOT.child("spec", "leaderWorkerTemplate", template, "metadata")


def _role(field: str) -> Callable[[Object, str], Path]:
    def path_of(job: Object, name: str) -> Path:
        role = next((entry for entry in _spec_of(job).get(field) or () if entry.lower() == name), name)
        return ROOT.child("spec", field).index(role).child("template", "metadata")

    return path_of


def _ray_group(*within: str) -> Callable[[Object, str], Path]:
    def path_of(job: Object, name: str) -> Path:
        path = ROOT.child("spec", *within)
        if name == "head":
            return path.child("headGroupSpec", "template", "metadata")
        names = [str(group.get("groupName") or "").lower() for group in _ray_cluster(job).get("workerGroupSpecs") or ()]
        index = names.index(name) if name in names else 0
        return path.child("workerGroupSpecs").index(index).child("template", "metadata")

    return path_of


_TEMPLATES: Mapping[str, Callable[[Object, str], Path]] = {
    "Pod": lambda job, name: ROOT.child("metadata"),
    "JobSet": _replicated_job,
    "TrainJob": lambda job, name: ROOT.child("job").index(name),
    "LeaderWorkerSet": _leader_or_worker,
    "PyTorchJob": _role("pytorchReplicaSpecs"),
    "TFJob": _role("tfReplicaSpecs"),
    "XGBoostJob": _role("xgbReplicaSpecs"),
    "PaddleJob": _role("paddleReplicaSpecs"),
    "JAXJob": _role("jaxReplicaSpecs"),
    "MPIJob": _role("mpiReplicaSpecs"),
    "RayCluster": _ray_group(),
    "RayJob": _ray_group("rayClusterSpec"),
    "RayService": _ray_group("rayClusterSpec"),
    "SparkApplication": lambda job, name: ROOT.child("spec", name),
}


# --- one kind


def _pod_problems(pod: Object) -> Iterator[str]:
    labels, annotations = _labels_of(pod), _annotations_of(pod)
    if labels.get(_MANAGED, "true") != "true":
        yield _LABELS.index(_MANAGED).forbidden("managed label value can only be 'true'")
    by_annotation = bool(annotations.get(POD_GROUP_NAME))
    path = (_ANNOTATIONS if by_annotation else _LABELS).index(POD_GROUP_NAME)
    group = _group_of(pod)
    count = annotations.get(POD_GROUP_COUNT)
    name_is = "annotation" if by_annotation else "label"
    both = f"both the '{POD_GROUP_COUNT}' annotation and the '{POD_GROUP_NAME}' {name_is} should be set"
    if group:
        yield from _name_problems(path, group)
    if (count is None) != (not group):
        yield (path if group == "" else _ANNOTATIONS.index(POD_GROUP_COUNT)).required(both)
    elif count is not None:
        number = parse_int(count)
        if number is None:
            yield _ANNOTATIONS.index(POD_GROUP_COUNT).invalid(count, parse_int_error(count))
        elif number < 1:
            detail = (
                f"incorrect annotation value '{POD_GROUP_COUNT}={count}': group total count should be greater than zero"
            )
            yield _ANNOTATIONS.index(POD_GROUP_COUNT).invalid(count, detail)


def _group_of(pod: Object) -> str:
    return _annotations_of(pod).get(POD_GROUP_NAME) or _labels_of(pod).get(POD_GROUP_NAME) or ""


def _has_own_cluster(job: Object) -> bool:
    spec = _spec_of(job)
    return bool(spec.get("rayClusterSpec")) and not spec.get("clusterSelector")


def _reference_problems(job: Object) -> Iterator[str]:
    """What is wrong with a RayJob that has no cluster of its own, of which nothing else is looked at."""
    spec = _spec_of(job)
    if spec.get("clusterSelector") and spec.get("rayClusterSpec"):
        detail = "a kueue managed job should not use an existing cluster"
        yield ROOT.child("spec", "clusterSelector").invalid(spec["clusterSelector"], detail)
    elif not spec.get("clusterSelector") and not spec.get("rayClusterSpec"):
        detail = "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector"
        yield ROOT.child("spec", "rayClusterSpec").required(detail)


def _ray_problems(job: Object) -> Iterator[str]:
    kind, spec = job.get("kind"), _spec_of(job)
    path = ROOT.child("spec") if kind == "RayCluster" else ROOT.child("spec", "rayClusterSpec")
    if kind == "RayJob" and not spec.get("shutdownAfterJobFinishes"):
        detail = "a kueue managed job should delete the cluster after finishing"
        yield ROOT.child("spec", "shutdownAfterJobFinishes").invalid(False, detail)
    cluster = _ray_cluster(job)
    if cluster.get("enableInTreeAutoscaling"):
        yield from _autoscaling_problems(job, cluster, path.child("enableInTreeAutoscaling"))
    groups = cluster.get("workerGroupSpecs") or ()
    if len(groups) + 1 > MOST_POD_SETS:
        text = path.child("workerGroupSpecs").text
        yield f"{text}: Too many: {len(groups) + 1}: must have at most {MOST_POD_SETS} items"
    for index, group in enumerate(groups):
        if group.get("groupName") == "head":
            name = path.child("workerGroupSpecs").index(index).child("groupName")
            yield name.forbidden('"head" is reserved for the head group')


def _autoscaling_problems(job: Object, cluster: Object, path: Path) -> Iterator[str]:
    """Only elastic jobs may grow."""
    is_cluster, is_elastic = job.get("kind") == "RayCluster", _annotations_of(job).get(ELASTIC) == "true"
    if is_elastic:
        if is_cluster and cluster.get("managedBy") == _MULTIKUEUE:
            yield path.forbidden("in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster")
    elif is_cluster:
        detail = "a kueue-managed RayCluster can use autoscaling only as an elastic job: enable the "
        detail += f'ElasticJobsViaWorkloadSlices feature gate and set the "{ELASTIC}": "true" annotation'
        yield path.invalid(True, detail)
    else:
        yield path.invalid(True, "a kueue managed job should only use autoscaling when workload slicing is enabled")


def _spark_problems(job: Object) -> Iterator[str]:
    spec = _spec_of(job)
    # The operator's own webhook, which comes before, fills in the mode.
    if spec.get("mode", "cluster") != "cluster":
        yield ROOT.child("spec", "mode").invalid(spec["mode"], "only Cluster mode is supported for a kueue managed job")
    if section(spec, "dynamicAllocation").get("enabled"):
        detail = (
            "a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is "
            "on and the job is an elastic job"
        )
        if _annotations_of(job).get(ELASTIC) != "true":
            yield ROOT.child("spec", "dynamicAllocation", "enabled").invalid(True, detail)


_OF_KIND: Mapping[str, Callable[[Object], Iterator[str]]] = {
    "RayCluster": _ray_problems,
    "RayJob": _ray_problems,
    "RayService": _ray_problems,
    "SparkApplication": _spark_problems,
}


def _ray_cluster(job: Object) -> Object:
    spec = _spec_of(job)
    if job.get("kind") == "RayCluster":
        return spec
    return spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or {}


def _version_and_kind(job: Object) -> str:
    return f"{job.get('apiVersion')}, Kind={job.get('kind')}"


def _name_problems(path: Path, name: str) -> Iterator[str]:
    if wrong := dns_subdomain(name):
        yield path.invalid(name, ",".join(wrong))


def _spec_of(job: Object) -> Object:
    return section(job, "spec")


def _labels_of(job: Object) -> Mapping[str, str]:
    return section(job, "metadata", "labels")


def _annotations_of(job: Object) -> Mapping[str, str]:
    return section(job, "metadata", "annotations")
