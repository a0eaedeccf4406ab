"""The jobs of manifests as Kueue sees them: which Workloads it makes of each, and which pods are whose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.admission.response import Object
from kwhatif.api.core import Pod
from kwhatif.api.kueue import GROUP, QUEUE_LABEL
from kwhatif.api.times import format_time
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.jobs.batch_job import BATCH_JOB
from kwhatif.kueue.jobs.job_framework import JobFramework, JobKind, JobOutcome, workload_name
from kwhatif.kueue.jobs.job_kinds import POD_GROUP_LABEL, JobRow, job_kind, part_pods, pod_sets_of, row_of
from kwhatif.kueue.kueue_objects import KueueObjects
from kwhatif.simulation.expansion.objects import complete_object, display_name_of
from kwhatif.simulation.queueing.decisions import AskedJob
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.workloads.objects import group_of, labels_of, name_of, namespace_of, section

_BATCH = "batch/job"


class AskedJobs:
    """Kueue's job framework for the manifests of a scenario, whose pods have been made."""

    def __init__(
        self, scenario: PreparedScenario, found: KueueObjects, pod_classes: Sequence[PriorityClass], now: int
    ) -> None:
        self._scenario, self._now = scenario, now
        self._frameworks = found.configuration.integrations.frameworks
        classes = found.priority_classes
        self._framework = JobFramework(found.configuration, found.namespaces, found.local_queues, classes, pod_classes)
        self._pods: dict[str, list[Pod]] = {}
        groups: dict[str, list[Pod]] = {}
        for item in scenario.expanded.pods:
            group = (item.pod.metadata.labels or {}).get(POD_GROUP_LABEL)
            if group and not item.owner:
                # The first pod of a group stands for all of them.
                members = groups.setdefault(f"{item.pod.namespace}/{group}", [])
                self._pods[f"Pod {item.pod.key}"] = [] if members else members
                members.append(item.pod)
            else:
                self._pods.setdefault(item.owner or f"Pod {item.pod.key}", []).append(item.pod)

    def make(self) -> list[AskedJob]:
        """The new jobs, in the order of their manifests; those that are updated keep the Workloads that they have."""
        updated = {each.name for each in self._scenario.expanded.rollouts}
        found: list[AskedJob] = []
        for manifest in self._scenario.manifests:
            obj = complete_object(manifest)
            if display_name_of(obj) not in updated and group_of(obj) != GROUP:
                found += self._jobs_of(obj, str(manifest.origin))
        return found

    def _jobs_of(self, obj: Object, origin: str) -> Iterator[AskedJob]:
        group, kind, name = group_of(obj), obj["kind"], display_name_of(obj)
        if (group, kind) == ("batch", "Job"):
            stored = self._scenario.expanded.world.get("Job", namespace_of(obj), name_of(obj))
            if stored is not None:
                outcome = self._make(stored, BATCH_JOB, _BATCH)
                yield AskedJob(name, origin, obj, outcome, {pod.key: "main" for pod in self._pods.get(name, ())})
            return
        row, names_queue = row_of(group, kind), QUEUE_LABEL in labels_of(obj)
        if row is not None and (pods := self._pods.get(name)):
            for job in self._parts_of(row, obj, origin, pods):
                if job.outcome != JobOutcome() or not row.optional or names_queue:
                    yield job
        elif names_queue and name not in self._pods:
            yield AskedJob(name, origin, obj, None)

    def _parts_of(self, row: JobRow, obj: Object, origin: str, pods: Sequence[Pod]) -> Iterator[AskedJob]:
        """A job for each Workload."""
        for part, members in part_pods(row, pods).items():
            pod_sets, names = pod_sets_of(row, obj, members)
            kind = job_kind(row, pod_sets)
            own, name = obj, display_name_of(obj)
            if row.single:
                own = {**obj, "metadata": {**section(obj, "metadata"), "name": part}}
                name = f"Pod {namespace_of(obj)}/{part}"
            elif row.apart:
                name = f"{name} group {part}"
            outcome = self._make(own, kind, row.framework)
            if row.apart and outcome.workload is not None:
                metadata = outcome.workload.metadata
                called = workload_name(name_of(obj), metadata.uid or "", kind, part)
                uid = f"{metadata.uid}/{part}"
                named = replace(outcome.workload, metadata=replace(metadata, name=called, uid=uid))
                outcome = JobOutcome(named)
            yield AskedJob(name, origin, obj, outcome, names)

    def _make(self, job: Object, kind: JobKind, framework: str) -> JobOutcome:
        if self._frameworks is not None and framework not in self._frameworks:
            return JobOutcome()
        metadata = dict(section(job, "metadata"))
        metadata["uid"] = metadata.get("uid") or f"{namespace_of(job)}/{name_of(job)}"
        metadata["creationTimestamp"] = format_time(self._now // SECOND)
        return self._framework.make({**job, "metadata": metadata}, kind)


def names_of(jobs: Iterable[AskedJob]) -> set[str]:
    """How the jobs are called, and what they were made of."""
    return {name for job in jobs for name in (job.name, display_name_of(job.manifest))}
