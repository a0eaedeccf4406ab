"""The kinds of jobs besides batch/v1 Job that Kueue manages: a table of their Workloads and pod sets.

A pod set is what the object says (``spec_pod_sets``), else what its pods are, which the operators' table makes
(``workloads/operators``); the labels of pods tell which pod set is theirs. Upstream: pkg/controller/jobs; for pods
also pod/pod_controller.go, for groups of LeaderWorkerSets leaderworkerset_reconciler.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.kueue import QUEUE_LABEL, WorkloadPodSet, WorkloadPodTemplate
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.objects import section
from kwhatif.golang.parsing import parse_int
from kwhatif.kueue.jobs.job_framework import JobKind, Object
from kwhatif.kueue.jobs.job_webhooks import MOST_POD_SETS, POD_GROUP_COUNT, POD_GROUP_NAME, kind_problems
from kwhatif.kueue.jobs.spec_pod_sets import (
    MAIN,
    SpecPodSets,
    driver_and_executors,
    leader_and_workers,
    ray_groups,
    replica_types,
    replicated_jobs,
)
from kwhatif.kueue.jobs.topology_annotations import topology_request
from kwhatif.kueue.pod_amounts import encode_shape

_FAST = "kueue.x-k8s.io/pod-group-fast-admission"


def _by(label: str, default: str = MAIN, names: Mapping[str, str] | None = None) -> Callable[[Mapping[str, str]], str]:
    """A pod set is called as a label of its pods says, in small letters."""
    return lambda labels: (names or {}).get(labels.get(label, ""), labels.get(label, default).lower())


def _leader_or_worker(labels: Mapping[str, str]) -> str:
    return "leader" if labels.get("leaderworkerset.sigs.k8s.io/worker-index") == "0" else "worker"


@dataclass(frozen=True)
class JobRow:
    """A kind: ``framework`` is what Kueue's Configuration calls it, ``pod_set_name`` that of a pod by its labels.
    Pods of different values of the label ``apart`` have Workloads of their own; with ``single`` each has one.

    ``spec_pod_sets`` are what the object says; a pod set made of pods is ordered by ``index_label`` in a topology.
    ``optional``: objects without a queue are of no concern to Kueue. ``gate`` is the feature gate that it takes.
    """

    kind: str
    group: str
    framework: str
    pod_set_name: Callable[[Mapping[str, str]], str] = lambda labels: MAIN
    spec_pod_sets: SpecPodSets | None = None
    index_label: str | None = None
    apart: str = ""
    single: bool = False
    optional: bool = False
    gate: str = ""


_REPLICA_TYPE = "training.kubeflow.org/replica-type"
_JOB_SETS = _by("jobset.sigs.k8s.io/replicatedjob-name")
_TRAINING = {
    "PyTorchJob": replica_types("pytorchReplicaSpecs", "Master", "Worker"),
    "TFJob": replica_types("tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    "XGBoostJob": replica_types("xgbReplicaSpecs", "Master", "Worker"),
    "PaddleJob": replica_types("paddleReplicaSpecs", "Master", "Worker"),
    "JAXJob": replica_types("jaxReplicaSpecs", "Worker"),
}
_RAY = {
    "RayCluster": ray_groups(),
    "RayJob": ray_groups("rayClusterSpec"),
    "RayService": ray_groups("rayClusterConfig"),
}

POD_ROW = JobRow("Pod", "", "pod", index_label="kueue.x-k8s.io/pod-group-pod-index", single=True, optional=True)

ROWS: tuple[JobRow, ...] = (
    JobRow("JobSet", "jobset.x-k8s.io", "jobset.x-k8s.io/jobset", _JOB_SETS, replicated_jobs),
    JobRow("TrainJob", "trainer.kubeflow.org", "trainer.kubeflow.org/trainjob", _JOB_SETS, replicated_jobs),
    *(
        JobRow(kind, "kubeflow.org", f"kubeflow.org/{kind.lower()}", _by(_REPLICA_TYPE), pod_sets)
        for kind, pod_sets in _TRAINING.items()
    ),
    JobRow(
        "MPIJob",
        "kubeflow.org",
        "kubeflow.org/mpijob",
        _by(_REPLICA_TYPE, "launcher"),
        replica_types("mpiReplicaSpecs", "Launcher", "Worker"),
    ),
    *(
        JobRow(
            kind, "ray.io", f"ray.io/{kind.lower()}", _by("ray.io/group", "submitter", {"headgroup": "head"}), pod_sets
        )
        for kind, pod_sets in _RAY.items()
    ),
    JobRow(
        "SparkApplication",
        "sparkoperator.k8s.io",
        "sparkoperator.k8s.io/sparkapplication",
        _by("spark-role"),
        driver_and_executors,
        gate="SparkApplicationIntegration",
    ),
    JobRow(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io",
        "leaderworkerset.x-k8s.io/leaderworkerset",
        _leader_or_worker,
        leader_and_workers,
        apart="leaderworkerset.sigs.k8s.io/group-index",
        optional=True,
    ),
    JobRow("AppWrapper", "workload.codeflare.dev", "workload.codeflare.dev/appwrapper"),
    JobRow("StatefulSet", "apps", "statefulset", index_label="apps.kubernetes.io/pod-index", optional=True),
    JobRow("Deployment", "apps", "deployment", single=True, optional=True),
    POD_ROW,
)
_BY_KIND = {(row.group, row.kind): row for row in ROWS}


_SETS_OF_OBJECTS = {
    "jobset.sigs.k8s.io/replicatedjob-name": "jobset.sigs.k8s.io/jobset-name",
    _REPLICA_TYPE: "training.kubeflow.org/job-name",
    "ray.io/group": "ray.io/cluster",
    "spark-role": "spark-app-name",
}
"""Labels by which pods of one object belong to different pod sets, each with the label that names the object."""


def row_of(group: str, kind: str) -> JobRow | None:
    return _BY_KIND.get((group, kind))


def pod_group_of(pod: Pod) -> str:
    """The group that a pod starts with; empty if it starts alone (upstream: GetPodGroupName)."""
    metadata = pod.metadata
    return (metadata.annotations or {}).get(POD_GROUP_NAME) or (metadata.labels or {}).get(POD_GROUP_NAME) or ""


def part_pods(row: JobRow, pods: Sequence[Pod]) -> dict[str, list[Pod]]:
    """The pods of each Workload, by what tells its name from others of the same job; empty where there is one."""
    parts: dict[str, list[Pod]] = {}
    for pod in pods:
        labels = pod.metadata.labels or {}
        part = pod_group_of(pod) or pod.name if row.single else labels.get(row.apart, "")
        parts.setdefault(part, []).append(pod)
    return parts


def pod_sets_of(row: JobRow, job: Object, pods: Sequence[Pod]) -> tuple[list[WorkloadPodSet], dict[str, str]]:
    """The pod sets of a Workload, and the name of that of each pod (``namespace/name``)."""
    if row.single and pod_group_of(pods[0]):
        return _roles_of(pods)
    if row.kind == "AppWrapper":
        return _components_of(str(section(job, "metadata").get("name")), pods)
    spec_pod_sets = list(row.spec_pod_sets(dict(job))) if row.spec_pod_sets is not None else []
    pod_sets = [
        _pod_set(pod_set.name, convert(pod_set.template, WorkloadPodTemplate), pod_set.count, pod_set.index_label)
        for pod_set in spec_pod_sets
    ] or [_pod_set(MAIN, _template_of(pods[0]), len(pods), row.index_label)]
    # Pods of a group without a leader's template are all of one pod set, which no label tells.
    names, first = {pod_set.name for pod_set in pod_sets}, pod_sets[0].name
    named = {pod.key: row.pod_set_name(pod.metadata.labels or {}) for pod in pods}
    return pod_sets, {key: name if name in names else first for key, name in named.items()}


def failure_of(row: JobRow, job: Object, pods: Sequence[Pod]) -> str:
    """Why no Workload is made of a job that was not refused; empty if there is one."""
    if row.kind == "RayJob" and section(job, "spec").get("clusterSelector"):
        return "its webhook suspends a RayJob that uses an existing cluster, and Kueue never starts one"
    return group_failure(pods) if row.single else ""


def group_failure(pods: Sequence[Pod]) -> str:
    """Why no Workload is made of the pods of a group yet; empty if nothing is missing."""
    group, first = pod_group_of(pods[0]), pods[0]
    count = _group_count(first)
    if not group or count is None:
        return ""
    if not _is_fast(first) and len(pods) < count:
        return f"'{group}' group has fewer runnable pods than expected"
    for pod in pods[1:]:
        queues = [(member.metadata.labels or {}).get(QUEUE_LABEL, "") for member in (first, pod)]
        if queues[0] != queues[1]:
            return f"pods '{first.name}' and '{pod.name}' has different queue names: {queues[0]}!={queues[1]}"
        if (other := _group_count(pod)) != count:
            return f"pods '{first.name}' and '{pod.name}' has different '{POD_GROUP_COUNT}' values: {count}!={other}"
    if not _is_fast(first) and len({encode_shape(pod.spec) for pod in pods[:count]}) > MOST_POD_SETS:
        return f"pod group can't include more than {MOST_POD_SETS} roles"
    return ""


def _group_count(pod: Pod) -> int | None:
    return parse_int((pod.metadata.annotations or {}).get(POD_GROUP_COUNT, ""))


def _is_fast(pod: Pod) -> bool:
    """Whether the group is admitted by its first pod, for all that are to come."""
    return (pod.metadata.annotations or {}).get(_FAST) == "true"


def _roles_of(pods: Sequence[Pod]) -> tuple[list[WorkloadPodSet], dict[str, str]]:
    """A pod set for pods of one shape. Upstream calls it by a hash of the shape; here roles are numbered.

    Pods beyond the group's count are deleted; the first of a group that is admitted fast stands for all.
    """
    total, is_fast = _group_count(pods[0]) or len(pods), _is_fast(pods[0])
    shapes = [encode_shape(pod.spec) for pod in pods]
    roles = list(dict.fromkeys(shapes[:1] if is_fast else shapes[:total]))
    names = {shape: MAIN if len(roles) == 1 else f"role-{number}" for number, shape in enumerate(roles, 1)}
    pod_sets = []
    for shape in roles:
        count = total if is_fast else shapes[:total].count(shape)
        pod_sets.append(_pod_set(names[shape], _template_of(pods[shapes.index(shape)]), count, POD_ROW.index_label))
    return pod_sets, {pod.key: names.get(shape, names[roles[0]]) for pod, shape in zip(pods, shapes, strict=True)}


def _components_of(wrapper: str, pods: Sequence[Pod]) -> tuple[list[WorkloadPodSet], dict[str, str]]:
    """The pod sets of the objects of an AppWrapper, numbered in their order."""
    components: dict[tuple[str, str], list[Pod]] = {}
    for pod in pods:
        labels = pod.metadata.labels or {}
        owner = pod.controller
        home = pod.name if owner is None or owner.kind == "AppWrapper" else owner.name or ""
        named = ((labels.get(obj, ""), labels[part]) for part, obj in _SETS_OF_OBJECTS.items() if part in labels)
        components.setdefault(next(named, (home, "")), []).append(pod)
    pod_sets: list[WorkloadPodSet] = []
    names: dict[str, str] = {}
    for index, members in enumerate(components.values()):
        pod_sets.append(_pod_set(f"{wrapper}-{index}", _template_of(members[0]), len(members), None))
        names |= {pod.key: f"{wrapper}-{index}" for pod in members}
    return pod_sets, names


def _template_of(pod: Pod) -> WorkloadPodTemplate:
    kept = ObjectMeta(labels=pod.metadata.labels, annotations=pod.metadata.annotations)
    return WorkloadPodTemplate(metadata=kept, spec=replace(pod.spec, node_name=None))


def _pod_set(name: str, template: WorkloadPodTemplate, count: int, index_label: str | None) -> WorkloadPodSet:
    request = topology_request(template.metadata.annotations or {}, index_label)
    return WorkloadPodSet(name=name, template=template, count=count, topology_request=request)


def job_kind(row: JobRow, job: Object, pod_sets: Sequence[WorkloadPodSet]) -> JobKind:
    """The kind of a job with these pod sets."""
    kind, group = ("Pod", "") if row.single else (row.kind, row.group)
    policy = section(job, "spec", "runPolicy", "schedulingPolicy")
    return JobKind(
        kind,
        group,
        lambda job: pod_sets,
        lambda job, queued: kind_problems(job, pod_sets, queued=queued),
        str(policy.get("priorityClass") or "") if group == "kubeflow.org" else "",
    )
