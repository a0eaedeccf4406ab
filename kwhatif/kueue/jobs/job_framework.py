"""What Kueue does with a new job of any kind: the default queue, what is refused, and the Workload that it makes.

Upstream: pkg/controller/jobframework (defaults.go, validation.go, reconciler.go, workload_names.go).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kwhatif.api.core import Namespace
from kwhatif.api.kueue import (
    GROUP,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
    KueueWorkload,
    LocalQueue,
    PriorityClassRef,
    WorkloadPodSet,
    WorkloadPriorityClass,
    WorkloadSpec,
)
from kwhatif.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from kwhatif.api.objects import section
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.golang.field_validation import aggregate, label_value
from kwhatif.golang.parsing import parse_int
from kwhatif.kueue.admission_gates import GATED_BY
from kwhatif.kueue.configuration import Configuration
from kwhatif.kueue.jobs.job_webhooks import MAX_TIME
from kwhatif.kueue.namespace_selectors import readable_selector
from kwhatif.kueue.workload import JOB_UID_LABEL
from kwhatif.results.amounts import format_some

Object = Mapping[str, Any]
DEFAULT_QUEUE = "default"
_LONGEST_NAME, _HASH_LENGTH = 253, 5
_SCHEDULING = "scheduling.k8s.io"


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job: how its pod sets are found, and what its webhook refuses; the second argument is whether Kueue
    manages the job. ``priority_class`` is that of the job, which comes before those of its pods.
    """

    kind: str
    group: str
    pod_sets: Callable[[Object], Sequence[WorkloadPodSet]]
    problems: Callable[[Object, bool], Iterator[str]]
    priority_class: str = ""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """A Workload, or why there is none: refused by the webhook, failed afterwards, or not managed by Kueue."""

    workload: KueueWorkload | None = None
    refused: str = ""
    failed: str = ""
    unmanaged: str = ""


class JobFramework:
    """Kueue's webhooks and job controllers in one cluster."""

    def __init__(
        self,
        configuration: Configuration,
        namespaces: Sequence[Namespace],
        queues: Sequence[LocalQueue],
        classes: Sequence[WorkloadPriorityClass],
        pod_classes: Sequence[PriorityClass],
    ) -> None:
        self._configuration = configuration
        self._labels = {namespace.name: namespace.metadata.labels or {} for namespace in namespaces}
        self._selector = readable_selector(
            configuration.managed_jobs_namespace_selector or _everywhere_but_systems(),
            "Configuration",
            "managedJobsNamespaceSelector",
        )
        self._queues: dict[str, list[str]] = {}
        for queue in sorted(queues, key=lambda queue_: queue_.name):
            self._queues.setdefault(queue.namespace, []).append(queue.name)
        self._default_queues = {
            local_queue.namespace
            for local_queue in queues
            if local_queue.name == DEFAULT_QUEUE and not local_queue.spec.is_stopped
        }
        self._classes = {priority_class.name: priority_class.value for priority_class in classes}
        self._pod_classes = {pod_class.name: pod_class.value for pod_class in pod_classes}
        self._default_class = min(
            (pod_class for pod_class in pod_classes if pod_class.global_default),
            key=lambda status: status.value,
            default=None,
        )

    def make(self, job: Object, kind: JobKind) -> JobOutcome:
        """What becomes of a new job. Raises InputError for one that cannot be read."""
        metadata = section(job, "metadata")
        labels = self._with_default_queue(metadata)
        queued = bool(labels.get(QUEUE_LABEL)) or self._configuration.manage_jobs_without_queue_name
        if problems := list(kind.problems({**job, "metadata": {**metadata, "labels": labels}}, queued)):
            return JobOutcome(refused=aggregate(problems))
        namespace = metadata.get("namespace") or ""
        namespace_labels = self._labels.get(namespace)
        if namespace_labels is not None and not self._selector.matches(namespace_labels):
            return JobOutcome(unmanaged=f"managedJobsNamespaceSelector leaves out namespace {namespace}")
        if not queued:
            queues = format_some(self._queues.get(namespace, ())) or "none"
            return JobOutcome(unmanaged=f"no {QUEUE_LABEL} label; LocalQueues in {namespace}: {queues}")
        if namespace_labels is None:
            return JobOutcome(unmanaged=f"the cluster has no namespace {namespace}")
        return self._construct(metadata, labels, kind, list(kind.pod_sets(job)))

    def _with_default_queue(self, metadata: Object) -> dict[str, str]:
        labels = dict(section(metadata, "labels"))
        namespace = metadata.get("namespace") or ""
        if not labels.get(QUEUE_LABEL) and namespace in self._default_queues:
            of_namespace = self._labels.get(namespace)
            if of_namespace is not None and self._selector.matches(of_namespace):
                labels[QUEUE_LABEL] = DEFAULT_QUEUE
        return labels

    def _construct(
        self, metadata: Object, labels: Mapping[str, str], kind: JobKind, pod_sets: list[WorkloadPodSet]
    ) -> JobOutcome:
        priority = self._priority(labels, kind.priority_class, pod_sets)
        if isinstance(priority, str):
            return JobOutcome(failed=priority)
        reference, value = priority
        uid, name = str(metadata.get("uid") or ""), str(metadata.get("name") or "")
        copied = {
            key: labels[key] for key in self._configuration.integrations.label_keys_to_copy or () if key in labels
        }
        if not label_value(uid):
            copied[JOB_UID_LABEL] = uid
        gate = section(metadata, "annotations").get(GATED_BY)
        limit = parse_int(labels.get(MAX_TIME, ""))
        return JobOutcome(
            KueueWorkload(
                api_version=f"{GROUP}/v1beta2",
                kind="Workload",
                metadata=ObjectMeta(
                    name=workload_name(name, uid, kind),
                    namespace=metadata.get("namespace"),
                    uid=uid,
                    labels=copied,
                    annotations={GATED_BY: gate} if gate else None,
                    creation_timestamp=metadata.get("creationTimestamp"),
                ),
                spec=WorkloadSpec(
                    pod_sets=pod_sets,
                    queue_name=labels.get(QUEUE_LABEL),
                    priority_class_ref=reference,
                    priority=value,
                    maximum_execution_time_seconds=limit if limit is not None and 0 < limit < 2**31 else None,
                ),
            )
        )

    def _priority(
        self, labels: Mapping[str, str], own: str, pod_sets: Sequence[WorkloadPodSet]
    ) -> tuple[PriorityClassRef | None, int] | str:
        """Class and value, or what was not found."""
        if name := labels.get(PRIORITY_CLASS_LABEL):
            if name not in self._classes:
                return f'workloadpriorityclasses.kueue.x-k8s.io "{name}" not found'
            return PriorityClassRef(group=GROUP, kind="WorkloadPriorityClass", name=name), self._classes[name]
        named = (pod_set.template.spec.priority_class_name for pod_set in pod_sets)
        name = own or next((class_name for class_name in named if class_name), "")
        if not name:
            if self._default_class is None:
                return None, 0
            name = self._default_class.name
        if name not in self._pod_classes:
            return f'priorityclasses.scheduling.k8s.io "{name}" not found'
        return PriorityClassRef(group=_SCHEDULING, kind="PriorityClass", name=name), self._pod_classes[name]


def _everywhere_but_systems() -> LabelSelector:
    system = LabelSelectorRequirement(
        key="kubernetes.io/metadata.name", operator="NotIn", values=["kube-system", "kueue-system"]
    )
    return LabelSelector(match_expressions=[system])


def workload_name(owner: str, uid: str, kind: JobKind, extra: str = "") -> str:
    """Kind, name and a hash of both with the group and the uid."""
    parts = [kind.kind, kind.group, owner, uid, *([extra] if extra else [])]
    digest = hashlib.sha1("\n".join(parts).encode(), usedforsecurity=False).hexdigest()
    prefix = f"{kind.kind.lower()}-{owner}"[: _LONGEST_NAME - 1 - _HASH_LENGTH]
    return f"{prefix}-{digest[:_HASH_LENGTH]}"
