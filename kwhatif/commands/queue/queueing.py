"""Kueue's cycles on a cluster: first for what is there, then for what the manifests bring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Namespace
from kwhatif.api.kinds import Objects, struct_for
from kwhatif.api.kueue import GROUP, QUEUE_LABEL, ClusterQueue, KueueWorkload, WorkloadPriorityClass
from kwhatif.api.meta import LabelSelector, ObjectMeta, Resource
from kwhatif.api.times import convert_object, format_time, nanoseconds_of
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.commands.queue.decisions import AskedJob, Decisions
from kwhatif.commands.queue.report import describe, result_of
from kwhatif.commands.queue.result import QueueResult
from kwhatif.errors import InputError, UsageError
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.jobs.batch_job import BATCH_JOB
from kwhatif.kueue.jobs.job_framework import JobFramework
from kwhatif.kueue.kueue_objects import KueueObjects, KueueState, kueue_objects
from kwhatif.kueue.run import KueueRun
from kwhatif.results.base import Gap
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.snapshot.load import Manifest

_KIND_LABEL = "kubernetes.io/metadata.name"


def run_queue(scenario: PreparedScenario, configuration: Mapping[str, Any]) -> QueueResult:
    """Raises UsageError where there is no Kueue, and InputError for objects that it could not read."""
    gaps: list[Gap] = []
    objects = _with_manifests(scenario.snapshot.objects, scenario.manifests)
    if not objects.list_all(ClusterQueue):
        raise UsageError("there is no ClusterQueue in the snapshot: Kueue has nothing to decide")
    found = kueue_objects(objects, scenario.snapshot.whole, configuration)
    now = _time_of(scenario, found.workloads)
    _know_namespaces(found, scenario.manifests, objects, gaps)
    jobs = list(_jobs_of(scenario, found, objects, now, gaps))
    workloads = [each.workload for each in jobs if each.workload is not None]
    workloads += _workloads_of(scenario.manifests, now)
    taken = {each.key for each in workloads}
    run = KueueRun(KueueState(found), [each for each in found.workloads if each.key not in taken], now)
    decisions = Decisions(run.state)
    decisions.note(run.rest())
    if workloads:
        run.create(workloads)
        decisions.note(run.rest())
    decisions.is_restless = run.is_restless
    return result_of(scenario, decisions, jobs, [each.key for each in workloads], gaps)


def _with_manifests(objects: Objects, manifests: Sequence[Manifest]) -> Objects:
    """Kueue's own objects of manifests take the place of the cluster's."""
    merged = objects.copy()
    for manifest in manifests:
        kind = manifest.obj.kind or ""
        struct = _own_struct(manifest)
        if struct is None or kind == "Workload":
            continue
        made = _decode(manifest, struct)
        name = made.namespace, made.name
        merged.put(struct, [*(each for each in merged.list_all(struct) if (each.namespace, each.name) != name), made])
    return merged


def _own_struct(manifest: Manifest) -> type[Resource] | None:
    version, kind = manifest.obj.api_version or "", manifest.obj.kind or ""
    return struct_for(version, kind) if version.startswith(f"{GROUP}/") else None


def _decode(manifest: Manifest, struct: type[Resource]) -> Resource:
    try:
        made = convert_object(manifest.raw, struct)
    except InputError as error:
        raise error.with_source(str(manifest.origin)) from None
    namespaced = manifest.obj.namespace
    return made if made.namespace or not namespaced else replace(made, metadata=_in(made.metadata, namespaced))


def _in(metadata: ObjectMeta, namespace: str) -> ObjectMeta:
    return replace(metadata, namespace=namespace)


def _workloads_of(manifests: Sequence[Manifest], now: int) -> list[KueueWorkload]:
    made = [_decode(each, KueueWorkload) for each in manifests if _own_struct(each) is KueueWorkload]
    return [_as_created(each, now) for each in made if isinstance(each, KueueWorkload)]


def _as_created(workload: KueueWorkload, now: int) -> KueueWorkload:
    metadata = workload.metadata
    uid, created = metadata.uid or workload.key, metadata.creation_timestamp or format_time(now // SECOND)
    return replace(workload, metadata=replace(metadata, uid=uid, creation_timestamp=created))


def _jobs_of(
    scenario: PreparedScenario, found: KueueObjects, objects: Objects, now: int, gaps: list[Gap]
) -> Iterator[AskedJob]:
    """Jobs as the API server stores them. Of other kinds it is said that they are not modelled."""
    classes, pod_classes = objects.list_all(WorkloadPriorityClass), objects.list_all(PriorityClass)
    framework = JobFramework(found.configuration, found.namespaces, found.local_queues, classes, pod_classes)
    for manifest in scenario.manifests:
        version, kind = manifest.obj.api_version or "", manifest.obj.kind or ""
        name = describe(kind, manifest.obj.namespace, manifest.obj.name)
        if (version, kind) == ("batch/v1", "Job"):
            stored = scenario.expanded.world.get("Job", manifest.obj.namespace, manifest.obj.name)
            if stored is not None:
                yield AskedJob(name, framework.make(_as_new(stored, now), BATCH_JOB))
        elif _names_a_queue(manifest.raw) and not version.startswith(f"{GROUP}/"):
            what = f"{kind} is not a kind whose workloads are made here"
            effect = f"{name} was left out; its Workload, written as a manifest, is decided on"
            gaps.append(Gap(what=what, effect=effect, pods=(name,)))
            yield AskedJob(name, None)


def _names_a_queue(obj: Mapping[str, Any]) -> bool:
    metadata = obj.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return isinstance(labels, dict) and QUEUE_LABEL in labels


def _as_new(job: Mapping[str, Any], now: int) -> dict[str, Any]:
    metadata = dict(job.get("metadata") or {})
    metadata["uid"] = metadata.get("uid") or f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    metadata["creationTimestamp"] = format_time(now // SECOND)
    return {**job, "metadata": metadata}


def _know_namespaces(found: KueueObjects, manifests: Sequence[Manifest], objects: Objects, gaps: list[Gap]) -> None:
    """Without any Namespace in the snapshot each is taken to be there, without labels of its own."""
    if found.namespaces or "Namespace" in objects.known_kinds():
        return
    names = sorted({*(each.namespace for each in found.workloads), *(each.obj.namespace for each in manifests)})
    found.namespaces = [Namespace(metadata=ObjectMeta(name=name, labels={_KIND_LABEL: name})) for name in names]
    if any(each.spec.namespace_selector not in (None, LabelSelector()) for each in found.cluster_queues):
        effect = "each is taken to be there, with its name as its only label"
        closed_by = ("kubectl get namespaces -o yaml",)
        gaps.append(Gap(what="the snapshot has no Namespaces", effect=effect, closed_by=closed_by))


def _time_of(scenario: PreparedScenario, workloads: Iterable[KueueWorkload]) -> int:
    """What was asked for, else when the snapshot was taken, else just after the last workload was made."""
    if scenario.inputs.now is not None:
        return int(scenario.inputs.now.timestamp()) * SECOND
    if scenario.snapshot.taken_at:
        return nanoseconds_of(scenario.snapshot.taken_at)
    created = [each.metadata.creation_timestamp for each in workloads if each.metadata.creation_timestamp]
    return max(map(nanoseconds_of, created), default=0) + SECOND
