"""Kueue's cycles on a cluster: first for what is there, then for what the manifests bring."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.api.core import Condition, Namespace
from kwhatif.api.kinds import Objects, struct_for
from kwhatif.api.kueue import GROUP, AdmissionCheckStatus, ClusterQueue, KueueWorkload
from kwhatif.api.meta import LabelSelector, ObjectMeta, Resource
from kwhatif.api.times import convert_object, format_time, nanoseconds_of
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.errors import InputError, UsageError
from kwhatif.golang.field_validation import aggregate
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.kueue_objects import KueueObjects, KueueState, kueue_objects
from kwhatif.kueue.object_webhooks import PROBLEMS
from kwhatif.kueue.run import KueueRun
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Gap
from kwhatif.results.place import Refusal
from kwhatif.simulation.expansion.objects import complete_object, display_name_of
from kwhatif.simulation.queueing.asked_jobs import AskedJobs, names_of
from kwhatif.simulation.queueing.configuration_file import read_configuration
from kwhatif.simulation.queueing.decisions import MOST_WORKLOADS, Decisions
from kwhatif.simulation.queueing.missing_kinds import missing_kinds
from kwhatif.simulation.queueing.unmodelled_features import unmodelled_features
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.snapshot.load import Manifest

_KIND_LABEL = "kubernetes.io/metadata.name"


def decide_queues(
    scenario: PreparedScenario, *, asks_autoscalers: bool = False, tries_fixes: bool = False
) -> Decisions:
    """Let Kueue come to rest, first with the workloads of the cluster, then with those of the manifests.

    Autoscalers, where there are any, answer ProvisioningRequests. Where fixes are tried, the run is kept as it was
    before the manifests. Raises UsageError where there is no Kueue, and
    InputError for objects that it could not read.
    """
    gaps: list[Gap] = []
    refusals: list[Refusal] = []
    objects = with_own_objects(scenario.snapshot.objects, scenario.all_manifests, refusals)
    if not objects.list_all(ClusterQueue):
        raise UsageError("there is no ClusterQueue in the snapshot: Kueue has nothing to decide")
    path = scenario.scheduler_options.kueue_config
    kueue = kueue_objects(objects, scenario.snapshot.whole, read_configuration(path) if path else {})
    now = _time_of(scenario, kueue.workloads)
    gaps += missing_kinds(scenario.snapshot.objects, kueue)
    _trust_new_checks(kueue, gaps)
    _know_namespaces(kueue, scenario, objects, gaps)
    jobs = AskedJobs(scenario, kueue, objects.list_all(PriorityClass), now).make()
    workloads = [job.workload for job in jobs if job.workload is not None]
    workloads += _workloads_of(scenario.all_manifests, now, refusals)
    taken, anew = {workload.key for workload in workloads}, names_of(jobs)
    kueue.workloads = [
        workload for workload in kueue.workloads if workload.key not in taken and not _is_owned(workload, anew)
    ]
    answers = asks_autoscalers or bool(scenario.inputs.autoscale)
    run = KueueRun(KueueState(kueue), kueue.workloads, now, answers_provisioning=answers)
    first = run.rest()
    before = copy.deepcopy(run) if tries_fixes and workloads and len(kueue.workloads) <= MOST_WORKLOADS else run
    run.create(workloads)
    decisions = Decisions(kueue, jobs, workloads, gaps, refusals, run, before)
    decisions.note([*first, *run.rest()] if workloads else first)
    gaps += unmodelled_features(decisions)
    return decisions


def with_own_objects(objects: Objects, manifests: Sequence[Manifest], refusals: list[Refusal]) -> Objects:
    """The objects with Kueue's own of the manifests, but for Workloads, in the place of the cluster's.

    Those that Kueue's webhooks refuse are left out, and added to ``refusals``.
    """
    merged = objects.copy()
    added: dict[type[Resource], dict[tuple[str, str], Resource]] = {}
    for manifest in manifests:
        kind = manifest.obj.kind or ""
        struct = own_struct(manifest)
        if struct is None or kind == "Workload":
            continue
        made = _decode(manifest, struct)
        if _is_refused(manifest, made, refusals):
            continue
        mine = added.setdefault(struct, {})
        # The last of one name counts, in its place.
        mine.pop((made.namespace, made.name), None)
        mine[made.namespace, made.name] = made
    for struct, new in added.items():
        kept = [resource for resource in merged.list_all(struct) if (resource.namespace, resource.name) not in new]
        merged.put(struct, [*kept, *new.values()])
    return merged


def own_struct(manifest: Manifest) -> type[Resource] | None:
    """The type of an object of Kueue's; None for any other."""
    version, kind = manifest.obj.api_version or "", manifest.obj.kind or ""
    return struct_for(version, kind) if version.startswith(f"{GROUP}/") else None


def _decode(manifest: Manifest, struct: type[Resource]) -> Resource:
    try:
        made = convert_object(manifest.raw, struct)
    except InputError as error:
        raise error.with_source(str(manifest.origin)) from None
    namespaced = manifest.obj.namespace
    return made if made.namespace or not namespaced else replace(made, metadata=_in(made.metadata, namespaced))


def _is_refused(manifest: Manifest, obj: Resource, refusals: list[Refusal]) -> bool:
    webhook, problems_of = PROBLEMS.get(type(obj), ("", None))
    problems = [] if problems_of is None else list(problems_of(obj))
    if problems:
        message = f'admission webhook "{webhook}" denied the request: {aggregate(problems)}'
        name, origin = display_name_of(complete_object(manifest)), str(manifest.origin)
        refusals.append(Refusal(object=name, origin=origin, code=403, reason="Forbidden", message=message))
    return bool(problems)


def _in(metadata: ObjectMeta, namespace: str) -> ObjectMeta:
    return replace(metadata, namespace=namespace)


def _workloads_of(manifests: Sequence[Manifest], now: int, refusals: list[Refusal]) -> Iterator[KueueWorkload]:
    for manifest in manifests:
        made = _decode(manifest, KueueWorkload) if own_struct(manifest) is KueueWorkload else None
        if isinstance(made, KueueWorkload) and not _is_refused(manifest, made, refusals):
            yield _as_created(made, now)


def _as_created(workload: KueueWorkload, now: int) -> KueueWorkload:
    metadata = workload.metadata
    uid, created = metadata.uid or workload.key, metadata.creation_timestamp or format_time(now // SECOND)
    return replace(workload, metadata=replace(metadata, uid=uid, creation_timestamp=created))


def _is_owned(workload: KueueWorkload, names: Collection[str]) -> bool:
    """Whether a workload is that of a job, which comes anew."""
    owners = (
        owner_reference for owner_reference in workload.metadata.owner_references or () if owner_reference.controller
    )
    return any(f"{owner.kind} {workload.namespace}/{owner.name}" in names for owner in owners)


def _trust_new_checks(kueue: KueueObjects, gaps: list[Gap]) -> None:
    """Checks as files have them have no status: only in a cluster does a controller say that they are active."""
    new = [check.name for check in kueue.checks if not check.status.conditions]
    if new:
        ready = AdmissionCheckStatus(conditions=[Condition(type="Active", status="True")])
        kueue.checks = [check if check.status.conditions else replace(check, status=ready) for check in kueue.checks]
        what = f"without a status: {format_count(len(new), 'AdmissionCheck')}, {', '.join(sorted(new))}"
        gaps.append(Gap(what=what, effect="each is taken to be active, as its controller would say"))


def _know_namespaces(kueue: KueueObjects, scenario: PreparedScenario, objects: Objects, gaps: list[Gap]) -> None:
    """Without any Namespace in the snapshot each is taken to be there, without labels of its own."""
    if kueue.namespaces or "Namespace" in objects.known_kinds():
        return
    places = {
        *(workload.namespace for workload in kueue.workloads),
        *(all_manifest.obj.namespace for all_manifest in scenario.all_manifests),
    }
    names = sorted(places | {pod.pod.namespace for pod in scenario.expanded.pods})
    kueue.namespaces = [Namespace(metadata=ObjectMeta(name=name, labels={_KIND_LABEL: name})) for name in names]
    if any(
        cluster_queue.spec.namespace_selector not in (None, LabelSelector()) for cluster_queue in kueue.cluster_queues
    ):
        effect = "each is taken to be there, with its name as its only label"
        closed_by = ("kubectl get namespaces -o yaml",)
        gaps.append(Gap(what="the snapshot has no Namespaces", effect=effect, closed_by=closed_by))


def _time_of(scenario: PreparedScenario, workloads: Iterable[KueueWorkload]) -> int:
    """What was asked for, else when the snapshot was taken, else just after the last workload was made."""
    if scenario.inputs.now is not None:
        return int(scenario.inputs.now.timestamp()) * SECOND
    if scenario.snapshot.taken_at:
        return nanoseconds_of(scenario.snapshot.taken_at)
    created = [workload.metadata.creation_timestamp for workload in workloads if workload.metadata.creation_timestamp]
    return max(map(nanoseconds_of, created), default=0) + SECOND
