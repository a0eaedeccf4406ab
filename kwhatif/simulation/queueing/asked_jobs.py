"""The jobs of manifests as Kueue sees them: which Workloads it makes of each, and which pods are whose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.admission.response import Object
from kwhatif.api.core import Pod
from kwhatif.api.kueue import GROUP, QUEUE_LABEL
from kwhatif.api.objects import part_of, section
from kwhatif.api.times import format_time
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.jobs.batch_job import BATCH_JOB
from kwhatif.kueue.jobs.job_framework import JobFramework, JobKind, JobOutcome, workload_name
from kwhatif.kueue.jobs.job_kinds import (
    POD_ROW,
    JobRow,
    failure_of,
    job_kind,
    part_pods,
    pod_group_of,
    pod_sets_of,
    row_of,
)
from kwhatif.kueue.kueue_objects import KueueObjects
from kwhatif.simulation.expansion.objects import complete_object, display_name_of
from kwhatif.simulation.queueing.decisions import AskedJob
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import PodToSchedule
from kwhatif.workloads.objects import group_of, labels_of, name_of, namespace_of
from kwhatif.workloads.operators.train_jobs import job_set_of
from kwhatif.workloads.workload_kind import Companions

_BATCH = "batch/job"


class AskedJobs:
    """Kueue's job framework for the manifests of a scenario, whose pods have been made."""

    def __init__(
        self, scenario: PreparedScenario, kueue_objects: KueueObjects, pod_classes: Sequence[PriorityClass], now: int
    ) -> None:
        self._scenario, self._now = scenario, now
        self._configuration = kueue_objects.configuration
        self._companions = Companions(map(complete_object, scenario.all_manifests))
        classes = kueue_objects.priority_classes
        self._framework = JobFramework(
            kueue_objects.configuration, kueue_objects.namespaces, kueue_objects.local_queues, classes, pod_classes
        )
        self._unmanaged: list[AskedJob] = []
        self._items = _by_manifest(
            item for expanded_manifests in scenario.all_expanded for item in expanded_manifests.pods
        )

    def make(self) -> list[AskedJob]:
        """The new jobs, in the order of their manifests; those that are updated keep the Workloads that they have.

        Where there are none, objects whose pods could name a queue and do not.
        """
        updated = {rollout.name for expanded in self._scenario.all_expanded for rollout in expanded.rollouts}
        jobs: list[AskedJob] = []
        for manifest in self._scenario.all_manifests:
            obj = complete_object(manifest)
            if display_name_of(obj) not in updated and group_of(obj) != GROUP:
                jobs += self._jobs_of(obj, str(manifest.origin))
        return jobs or self._unmanaged

    def _jobs_of(self, obj: Object, origin: str) -> Iterator[AskedJob]:
        name = display_name_of(obj)
        key = origin, name if name_of(obj) else part_of(obj, "kind")
        items = self._items.get(key, [])
        pods = [item.pod for item in items]
        if (group_of(obj), part_of(obj, "kind")) == ("batch", "Job"):
            # One without a name has got its name from the API server.
            name = items[0].owner if items and items[0].owner else name
            where = namespace_of(obj), name.rpartition("/")[2]
            stored = next(
                filter(
                    None,
                    (expanded_manifests.world.get("Job", *where) for expanded_manifests in self._scenario.all_expanded),
                ),
                None,
            )
            if stored is not None:
                outcome = self._make(stored, BATCH_JOB, _BATCH)
                yield AskedJob(name, origin, obj, outcome, {pod.key: "main" for pod in pods})
            return
        row, names_queue = row_of(group_of(obj), part_of(obj, "kind")), QUEUE_LABEL in labels_of(obj)
        if row is None and any(QUEUE_LABEL in (pod.metadata.labels or {}) for pod in pods):
            # Whoever made them: Kueue looks at pods that name a queue themselves.
            row = POD_ROW
        if row is not None and pods:
            for job in self._parts_of(row, obj, origin, pods):
                if names_queue or not row.optional or job.outcome is None or not job.outcome.unmanaged:
                    yield job
                elif name not in (unmanaged_job.name for unmanaged_job in self._unmanaged[-1:]):
                    self._unmanaged.append(AskedJob(name, origin, obj, job.outcome))
        elif names_queue and key not in self._items:
            yield AskedJob(name, origin, obj, None)
        elif pods:
            self._unmanaged.append(
                AskedJob(name, origin, obj, JobOutcome(unmanaged=f"its pods have no {QUEUE_LABEL} label"))
            )

    def _parts_of(self, row: JobRow, obj: Object, origin: str, pods: Sequence[Pod]) -> Iterator[AskedJob]:
        """A job for each Workload."""
        for part, members in part_pods(row, pods).items():
            source = job_set_of(obj, self._companions) if row.kind == "TrainJob" else None
            pod_sets, names = pod_sets_of(row, source or obj, members)
            kind = job_kind(row, obj, pod_sets)
            # An object of another kind may not say its namespace, which its pods have.
            metadata = {**section(obj, "metadata"), "namespace": members[0].namespace}
            own = {**obj, "metadata": metadata}
            name = display_name_of(own)
            if row.single:
                labels = {**(members[0].metadata.labels or {}), **labels_of(obj)}
                own["metadata"] = {**metadata, "name": part, "labels": labels}
                name = f"Pod {members[0].namespace}/{part}"
            elif row.apart:
                name = f"{name} group {part}"
            outcome = self._make(own, kind, row.framework, row.gate)
            if outcome.workload is not None and (why := failure_of(row, obj, members)):
                outcome = JobOutcome(failed=why)
            if row.apart and outcome.workload is not None:
                made = outcome.workload.metadata
                called = workload_name(name_of(obj), made.uid or "", kind, part)
                named = replace(outcome.workload, metadata=replace(made, name=called, uid=f"{made.uid}/{part}"))
                outcome = JobOutcome(named)
            yield AskedJob(name, origin, obj, outcome, names)

    def _make(self, job: Object, kind: JobKind, framework: str, gate: str = "") -> JobOutcome:
        frameworks, gates = self._configuration.frameworks, self._configuration.feature_gates or {}
        if frameworks is not None and framework not in frameworks:
            return JobOutcome(unmanaged=f"integration {framework} is not enabled")
        if gate and not gates.get(gate):
            return JobOutcome(unmanaged=f"integration {framework} takes feature gate {gate}, which is off by default")
        metadata = dict(section(job, "metadata"))
        metadata["uid"] = metadata.get("uid") or f"{namespace_of(job)}/{name_of(job)}"
        metadata["creationTimestamp"] = format_time(self._now // SECOND)
        return self._framework.make({**job, "metadata": metadata}, kind)


def _by_manifest(pods: Iterable[PodToSchedule]) -> dict[tuple[str, str], list[PodToSchedule]]:
    """The pods by the manifest that they come from: its origin, and its name in answers, or only its kind.

    The first pod of a group stands for all of them; others have none.
    """
    pods_of: dict[tuple[str, str], list[PodToSchedule]] = {}
    groups: dict[str, list[PodToSchedule]] = {}
    for item in pods:
        owner = item.owner or f"Pod {item.pod.key}"
        group = pod_group_of(item.pod)
        members: list[PodToSchedule] | None = None
        if group and not item.owner:
            members = groups.setdefault(f"{item.pod.namespace}/{group}", [])
            members.append(item)
            members = members if len(members) == 1 else []
        for key in ((item.origin, owner), (item.origin, owner.partition(" ")[0])):
            if members is None:
                pods_of.setdefault(key, []).append(item)
            else:
                pods_of[key] = members
    return pods_of


def names_of(jobs: Iterable[AskedJob]) -> set[str]:
    """How the jobs are called, and what they were made of."""
    return {name for job in jobs for name in (job.name, display_name_of(job.manifest))}
