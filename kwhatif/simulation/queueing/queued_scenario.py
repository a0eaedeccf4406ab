"""A scenario once Kueue has decided: pods of workloads that wait are held, those of admitted ones have their flavors.

Kueue comes to rest before the scheduler begins, since nothing that the scheduler does gives or takes quota.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.admission.response import Doubts
from kwhatif.api.core import Pod
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.objects import part_of
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.bounds import make_room
from kwhatif.kueue.controllers import waits_for_topology
from kwhatif.kueue.jobs.job_kinds import pod_group_of
from kwhatif.kueue.workload import QUOTA_RESERVED, Workload
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Gap
from kwhatif.results.expand import ChangeRecord
from kwhatif.results.outcome import EvictedPod, PendingPod
from kwhatif.results.place import Refusal
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.queueing.admitted_pods import AdmittedPodSet, hold, is_held
from kwhatif.simulation.queueing.decisions import Decisions
from kwhatif.simulation.queueing.queue_run import decide_queues
from kwhatif.simulation.queueing.queued_copies import count_copies
from kwhatif.simulation.queueing.queued_pods import QueuedCopies, QueuedPods
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.kueue_admission import kueue_doubts

_STARTED = ("admitted", "finished")
_FIELDS = ("nodeSelector", "tolerations", "schedulingGates")
"""What Kueue changes of a pod."""


def queue_pods(
    scenario: PreparedScenario, *, asks_autoscalers: bool = False, counts_copies: bool = False
) -> PreparedScenario:
    """Let Kueue decide about the pods of the manifests, and about workloads of the cluster.

    Raises InputError for objects that Kueue could not read.
    """
    decisions = decide_queues(scenario, asks_autoscalers=asks_autoscalers)
    return _QueuedScenario(scenario, decisions, count_copies(decisions) if counts_copies else None).build()


def describe_wait(workload: Workload) -> str:
    """Why a workload does not start, in Kueue's words."""
    if workload.status == "quotaReserved":
        checks = ", ".join(f"{check.name} ({check.state})" for check in workload.checks if check.state != "Ready")
        return f"Kueue: quota is reserved in ClusterQueue {workload.cluster_queue}, admission checks are open: {checks}"
    reserved = workload.conditions.get(QUOTA_RESERVED)
    why = "" if reserved is None else reserved.message
    if not workload.active:
        why = "the workload is not active"
    return f"Kueue: {why or 'the workload waits behind others of its queue'}"


class _QueuedScenario:
    def __init__(self, scenario: PreparedScenario, decisions: Decisions, copies: QueuedCopies | None) -> None:
        self._copies = copies
        self._scenario, self._decisions, self._state = scenario, decisions, decisions.state
        self._jobs = [job for job in decisions.jobs if job.outcome is not None]
        self._sets: dict[str, dict[str, AdmittedPodSet]] = {}
        self._taken: Counter[tuple[str, str]] = Counter()
        self._held: dict[str, str] = {}
        self._evicted: list[EvictedPod] = []
        self._pending: list[PendingPod] = []
        self._started: list[PodToSchedule] = []
        # Updates write what they make into the same ones.
        self._whole, self._trails = scenario.expanded.whole, scenario.expanded.trails

    def build(self) -> PreparedScenario:
        """The scenario with its pods as Kueue lets them start."""
        scenario, decisions = self._scenario, self._decisions
        expanded = structs.replace(
            scenario.expanded,
            pods=list(self._release_all(scenario.expanded.pods)),
            whole=self._whole,
            trails=self._trails,
            refusals=[*scenario.expanded.refusals, *self._refusals()],
            doubts=list(map(self._drop_answered, scenario.expanded.doubts)),
        )
        snapshot, pods = scenario.snapshot, scenario.snapshot.objects.list_all(Pod)
        left = list(self._pods_of_cluster(pods))
        if len(left) != len(pods) or any(new is not old for new, old in zip(left, pods, strict=True)):
            snapshot = snapshot.copy()
            snapshot.objects.put(Pod, left)
        edited = structs.replace(
            scenario.edited,
            snapshot=snapshot,
            waiting_pods=(*scenario.edited.waiting_pods, *self._started),
            queues=QueuedPods(
                self._held, tuple(self._evicted), tuple(self._pending), tuple(self._words()), self._copies
            ),
        )
        released = [*expanded.pods, *self._release_all(scenario.beside.pods if scenario.beside else ())]
        gaps = (*scenario.read.gaps, *decisions.gaps, *self._check_gaps())
        return dataclasses.replace(
            scenario,
            edited=edited,
            expanded=expanded,
            read=structs.replace(scenario.read, gaps=gaps),
            pods_to_schedule=self._select_again(scenario.pods_to_schedule, released),
            named_pods=self._select_again(scenario.named_pods, released),
        )

    @staticmethod
    def _select_again(before: Sequence[PodToSchedule], released: Sequence[PodToSchedule]) -> list[PodToSchedule]:
        """Pods that were selected already, as they are now."""
        now = {pod.pod.key: pod for pod in released}
        return [now.get(pod.pod.key, pod) for pod in before]

    # --- the manifests

    def _release_all(self, items: Iterable[PodToSchedule]) -> Iterator[PodToSchedule]:
        jobs = {key: job for job in self._jobs for key in job.pods}
        for item in items:
            job = jobs.get(item.pod.key)
            outcome = None if job is None else job.outcome
            if job is None or outcome is None:
                yield item
            elif outcome.failed:
                yield self._hold(item, f"Kueue: {outcome.failed}")
            elif job.workload is not None:
                yield from self._of_workload(item, self._state.workloads[job.workload.key], job.pods[item.pod.key])
            elif not outcome.refused:
                yield item

    def _of_workload(self, item: PodToSchedule, workload: Workload, name: str) -> Iterator[PodToSchedule]:
        """The pod as it is, nothing where partial admission leaves it out or its group has enough pods."""
        if workload.status not in _STARTED or workload.admission is None:
            yield self._hold(item, describe_wait(workload))
            return
        sets = self._sets_of(workload)
        self._taken[workload.key, name] += 1
        if name not in sets:
            yield item
        elif self._taken[workload.key, name] <= sets[name].count or not (workload.can_shrink or pod_group_of(item.pod)):
            yield self._change(item, sets[name].release(item.pod))

    def _sets_of(self, workload: Workload) -> dict[str, AdmittedPodSet]:
        if workload.key not in self._sets:
            made = {
                admission.name: AdmittedPodSet(admission, self._state.flavors) for admission in workload.admission or ()
            }
            self._sets[workload.key] = made
        return self._sets[workload.key]

    def _hold(self, item: PodToSchedule, why: str) -> PodToSchedule:
        self._held[item.pod.key] = why
        return self._change(item, hold(item.pod))

    def _change(self, item: PodToSchedule, pod: Pod) -> PodToSchedule:
        """The item with another pod, also as it is kept whole, with a trail of what Kueue has changed."""
        whole = self._whole.get(pod.key)
        if whole is not None:
            now = msgspec.to_builtins(pod.spec, enc_hook=plain_quantity)
            before = msgspec.to_builtins(item.pod.spec, enc_hook=plain_quantity)
            changed = [name for name in _FIELDS if now.get(name) != before.get(name)]
            spec = {**part_of(whole, "spec"), **{name: now.get(name) for name in changed}}
            trail = (ChangeRecord("Kueue", f"spec.{name}", f"set to {json.dumps(now.get(name))}") for name in changed)
            self._trails[pod.key] = (*self._trails.get(pod.key, ()), *trail)
            self._whole[pod.key] = {**whole, "spec": {key: value for key, value in spec.items() if value is not None}}
        return structs.replace(item, pod=pod)

    def _refusals(self) -> Iterator[Refusal]:
        yield from self._decisions.refusals
        for job in self._jobs:
            if job.outcome is not None and job.outcome.refused:
                webhook = f"v{job.name.partition(' ')[0].lower()}.kb.io"
                message = f'admission webhook "{webhook}" denied the request: {job.outcome.refused}'
                yield Refusal(object=job.name, origin=job.origin, code=403, reason="Forbidden", message=message)

    def _drop_answered(self, doubts: Doubts) -> Doubts:
        """Doubts less those about what Kueue does with jobs that it has decided about."""
        answered = {doubt for job in self._jobs for doubt in kueue_doubts(job.manifest)}
        return {doubt: about for doubt, about in doubts.items() if doubt not in answered}

    # --- the cluster

    @cached_property
    def _owners(self) -> Owners:
        return Owners(self._scenario.snapshot)

    def _pods_of_cluster(self, pods: Sequence[Pod]) -> Iterator[Pod]:
        """Pods of evicted workloads are gone; those behind Kueue's gate start once their workload is admitted."""
        seen = set(self._decisions.keys)
        own = [other for other in self._state.workloads.values() if other.key not in seen]
        of_workloads = WorkloadPods(own, self._scenario.snapshot)
        evicted = {evicted_workload.key for evicted_workload in self._decisions.run.evicted_workloads}
        there: set[str] = set()
        for pod in pods:
            workload = of_workloads.find(pod)
            if workload is None or pod.is_finished:
                yield pod
            elif pod.spec.node_name:
                if workload.key in evicted:
                    self._lose(pod, workload)
                else:
                    yield pod
            elif not is_held(pod):
                yield pod
            elif workload.status in _STARTED and workload.admission is not None:
                there.add(workload.key)
                sets = self._sets_of(workload)
                name = pod_set_of(pod.metadata.labels or {}, sets)
                released = sets[name].release(pod) if name in sets else pod
                self._started.append(PodToSchedule(released, self._scenario.snapshot.source, edited=True))
                yield released
            else:
                self._held[pod.key] = describe_wait(workload)
                yield pod
        for key in sorted(self._decisions.borrowing_levels.keys() - seen - there):
            self._started += self._make_pods(self._state.workloads[key])

    def _lose(self, pod: Pod, workload: Workload) -> None:
        top = self._owners.workload_of(pod)
        path = None if pod.controller is None else f"{top.kind}/{top.namespace}/{top.name}"
        self._evicted.append(EvictedPod(pod=pod.key, workload=path))
        if workload.status not in _STARTED:
            self._pending.append(PendingPod(pod=pod.key, workload=path, cause="evicted", why=describe_wait(workload)))

    def _make_pods(self, workload: Workload) -> Iterator[PodToSchedule]:
        """The pods of a job that begins in the course of the answer, by its pod sets."""
        if workload.status != "admitted":
            return
        classes = {
            priority_class.name: priority_class.value
            for priority_class in self._scenario.snapshot.objects.list_all(PriorityClass)
        }
        sources = {pod_set.name: pod_set for pod_set in workload.pod_sets}
        owners = [
            owner_reference
            for owner_reference in workload.source.metadata.owner_references or ()
            if owner_reference.controller
        ]
        stem = (owners[0].name if owners else "") or workload.name
        for name, chosen in self._sets_of(workload).items():
            template = sources[name].template
            make_room(chosen.count, f"workload {workload.key}")
            priority = classes.get(template.spec.priority_class_name or "", template.spec.priority)
            for k in range(chosen.count):
                metadata = ObjectMeta(
                    name=f"{stem}-{name}-{k}",
                    namespace=workload.namespace,
                    labels=template.metadata.labels,
                    annotations=template.metadata.annotations,
                    owner_references=owners or None,
                )
                pod = chosen.release(Pod(metadata=metadata, spec=replace(template.spec, priority=priority)))
                yield PodToSchedule(pod, self._scenario.snapshot.source, edited=True, ran_before=True)

    # --- in words

    def _words(self) -> Iterator[str]:
        workloads = [self._state.workloads[key] for key in self._decisions.keys]
        if workloads:
            admitted = sum(workload.status in _STARTED for workload in workloads)
            yield f"Kueue admits {admitted} of {format_count(len(workloads), 'workload')}"
        if lost := len(self._decisions.run.evicted_workloads):
            yield f"Kueue evicts {format_count(lost, 'workload')}"

    def _check_gaps(self) -> Iterator[Gap]:
        """Admission checks that nobody answers here, by name."""
        waiting: dict[str, list[str]] = {}
        delayed: list[str] = []
        for workload in self._state.workloads.values():
            if workload.status == "quotaReserved":
                for check in workload.checks:
                    if check.state == "Pending":
                        waiting.setdefault(check.name, []).append(workload.key)
                if waits_for_topology(self._state, workload):
                    delayed.append(workload.key)
        for name, keys in sorted(waiting.items()):
            effect = "the workloads are taken to wait for it"
            yield Gap(what=f"admission check {name} is not modelled", effect=effect, pods=tuple(keys))
        if delayed:
            what = "domains that Kueue chooses once an autoscaler has made the nodes are not modelled"
            yield Gap(what=what, effect="the workloads are taken to wait for them", pods=tuple(delayed))


_WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
_SET_LABELS = (
    "kueue.x-k8s.io/podset",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "training.kubeflow.org/replica-type",
    "ray.io/group",
    "spark-role",
)


class WorkloadPods:
    """Finds the Workload of a pod: by an annotation, by who owns both, or by the name of its group."""

    def __init__(self, workloads: Iterable[Workload], snapshot: Snapshot) -> None:
        self._owners = Owners(snapshot)
        self._by_key: dict[str, Workload] = {}
        self._by_owner: dict[tuple[str, str, str], Workload] = {}
        for workload in workloads:
            self._by_key[workload.key] = workload
            for owner in workload.source.metadata.owner_references or ():
                self._by_owner[owner.kind or "", workload.namespace, owner.name or ""] = workload

    def find(self, pod: Pod) -> Workload | None:
        """None for a pod that Kueue does not manage."""
        if not self._by_key:
            return None
        metadata = pod.metadata
        for name in ((metadata.annotations or {}).get(_WORKLOAD_ANNOTATION), pod_group_of(pod)):
            if name and (workload := self._by_key.get(f"{pod.namespace}/{name}")):
                return workload
        owner, top = pod.controller, self._owners.workload_of(pod)
        for kind, name in (("Pod", pod.name), *([(owner.kind, owner.name)] if owner else ()), (top.kind, top.name)):
            if workload := self._by_owner.get((kind or "", pod.namespace, name or "")):
                return workload
        return None


def pod_set_of(labels: Mapping[str, str], names: Collection[str]) -> str:
    """The pod set of a pod with these labels; empty if they do not tell."""
    if len(names) == 1:
        return next(iter(names))
    values = (labels.get(label, "").lower() for label in _SET_LABELS)
    return next((value for value in values if value in names), "")
