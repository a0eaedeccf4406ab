"""The kinds of jobs besides batch/v1 Job that Kueue manages: a table of how their pods are parted into pod sets.

The pods themselves are made by the operators' table (``workloads/operators``), so that a kind is understood once.
Upstream: pkg/controller/jobs, each kind's PodSets; for pods also pod/pod_controller.go, for groups of
LeaderWorkerSets leaderworkerset_reconciler.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.kueue import WorkloadPodSet, WorkloadPodTemplate
from kwhatif.api.meta import ObjectMeta
from kwhatif.kueue.jobs.job_framework import JobKind, Object
from kwhatif.kueue.jobs.topology_annotations import topology_request

MAIN = "main"
POD_GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
_FIRST = ("chief", "master", "ps", "launcher", "leader", "driver", "head")
"""Pod sets that come before others of their job, in this order."""


def _by(label: str, default: str = MAIN, names: Mapping[str, str] | None = None) -> Callable[[Mapping[str, str]], str]:
    """A pod set is called as a label of its pods says, in small letters."""
    return lambda labels: (names or {}).get(labels.get(label, ""), labels.get(label, default).lower())


def _leader_or_worker(labels: Mapping[str, str]) -> str:
    return "leader" if labels.get("leaderworkerset.sigs.k8s.io/worker-index") == "0" else "worker"


@dataclass(frozen=True)
class JobRow:
    """A kind: its ``framework`` is what Kueue's Configuration calls it, ``index_label`` that by which a topology orders
    its pods. Pods of different values of the label ``apart`` have Workloads of their own; with ``single`` each has one.

    ``optional``: objects without a queue are of no concern to Kueue.
    """

    kind: str
    group: str
    framework: str
    pod_set: Callable[[Mapping[str, str]], str] = lambda labels: MAIN
    index_label: str | None = None
    apart: str = ""
    single: bool = False
    optional: bool = False


_REPLICA_TYPE, _REPLICA_INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"
_RAY = _by("ray.io/group", "submitter", {"headgroup": "head"})
_JOB_SETS = _by("jobset.sigs.k8s.io/replicatedjob-name")
_COMPLETION = "batch.kubernetes.io/job-completion-index"
_KUBEFLOW = ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob")

POD_ROW = JobRow("Pod", "", "pod", single=True, optional=True)

ROWS: tuple[JobRow, ...] = (
    JobRow("JobSet", "jobset.x-k8s.io", "jobset.x-k8s.io/jobset", _JOB_SETS, _COMPLETION),
    JobRow("TrainJob", "trainer.kubeflow.org", "trainer.kubeflow.org/trainjob", _JOB_SETS, _COMPLETION),
    *(
        JobRow(kind, "kubeflow.org", f"kubeflow.org/{kind.lower()}", _by(_REPLICA_TYPE), _REPLICA_INDEX)
        for kind in _KUBEFLOW
    ),
    JobRow("MPIJob", "kubeflow.org", "kubeflow.org/mpijob", _by(_REPLICA_TYPE, "launcher"), _REPLICA_INDEX),
    *(JobRow(kind, "ray.io", f"ray.io/{kind.lower()}", _RAY) for kind in ("RayCluster", "RayJob", "RayService")),
    JobRow("SparkApplication", "sparkoperator.k8s.io", "sparkoperator.k8s.io/sparkapplication", _by("spark-role")),
    JobRow(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io",
        "leaderworkerset.x-k8s.io/leaderworkerset",
        _leader_or_worker,
        "leaderworkerset.sigs.k8s.io/worker-index",
        apart="leaderworkerset.sigs.k8s.io/group-index",
        optional=True,
    ),
    JobRow("StatefulSet", "apps", "statefulset", index_label="apps.kubernetes.io/pod-index", optional=True),
    JobRow("Deployment", "apps", "deployment", single=True, optional=True),
    POD_ROW,
)
_BY_KIND = {(row.group, row.kind): row for row in ROWS}


def row_of(group: str, kind: str) -> JobRow | None:
    return _BY_KIND.get((group, kind))


def part_pods(row: JobRow, pods: Sequence[Pod]) -> dict[str, list[Pod]]:
    """The pods of each Workload, by what tells its name from others of the same job; empty where there is one."""
    parts: dict[str, list[Pod]] = {}
    for pod in pods:
        labels = pod.metadata.labels or {}
        part = labels.get(POD_GROUP_LABEL) or pod.name if row.single else labels.get(row.apart, "")
        parts.setdefault(part, []).append(pod)
    return parts


def pod_sets_of(row: JobRow, job: Object, pods: Sequence[Pod]) -> tuple[list[WorkloadPodSet], dict[str, str]]:
    """The pod sets of a Workload, and the name of that of each pod (``namespace/name``)."""
    has_leader = bool(((job.get("spec") or {}).get("leaderWorkerTemplate") or {}).get("leaderTemplate"))
    names: dict[str, str] = {}
    first: dict[str, Pod] = {}
    counts: dict[str, int] = {}
    for pod in pods:
        name = MAIN if row.apart and not has_leader else row.pod_set(pod.metadata.labels or {})
        names[pod.key] = name
        first.setdefault(name, pod)
        counts[name] = counts.get(name, 0) + 1
    # The submitter of a RayJob comes last, whatever was made first.
    order = sorted(first, key=lambda name: (name == "submitter", _FIRST.index(name) if name in _FIRST else len(_FIRST)))
    return [_pod_set(name, first[name], counts[name], row.index_label) for name in order], names


def _pod_set(name: str, pod: Pod, count: int, index_label: str | None) -> WorkloadPodSet:
    annotations = pod.metadata.annotations
    kept = ObjectMeta(labels=pod.metadata.labels, annotations=annotations)
    template = WorkloadPodTemplate(metadata=kept, spec=replace(pod.spec, node_name=None))
    return WorkloadPodSet(
        name=name,
        template=template,
        count=count,
        topology_request=topology_request(annotations or {}, index_label),
    )


def job_kind(row: JobRow, pod_sets: Sequence[WorkloadPodSet]) -> JobKind:
    """The kind of a job with these pod sets. What webhooks of a kind refuse besides labels is not looked at."""
    kind, group = ("Pod", "") if row.single else (row.kind, row.group)
    return JobKind(kind, group, lambda job: pod_sets, lambda job: iter(()))
