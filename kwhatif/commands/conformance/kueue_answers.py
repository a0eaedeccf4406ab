"""Replays scenarios recorded with Kueue, with answers in the form of the recording.

The format is described in ``docs/contributing/conformance.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kwhatif.api.kinds import Objects
from kwhatif.api.kueue import WorkloadPriorityClass
from kwhatif.api.kueue_topology import TopologyAssignment
from kwhatif.api.objects import part_of
from kwhatif.api.times import nanoseconds_of
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.commands.conformance.scenario import plain_objects, read_objects
from kwhatif.kueue.amounts import limit_text, quantity_text
from kwhatif.kueue.controllers import local_queue_condition
from kwhatif.kueue.cycle import INADMISSIBLE, Entry
from kwhatif.kueue.jobs.batch_job import BATCH_JOB
from kwhatif.kueue.jobs.job_framework import JobFramework, JobOutcome
from kwhatif.kueue.kueue_objects import KueueObjects, KueueState, kueue_objects
from kwhatif.kueue.quota_tree import CohortNode
from kwhatif.kueue.run import KueueRun, RecordedCycle
from kwhatif.kueue.shares import share_of
from kwhatif.kueue.workload import PodSetAdmission, Workload

_Stored = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
_SHOWN = ("QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued", "Finished")


class KueueStep(msgspec.Struct):
    """What happens: first workloads finish, then others are created."""

    finish: list[str] = []
    create: list[_Stored] = []


class RecordedKueue(msgspec.Struct):
    """What Kueue did. The parts are kept as they were recorded."""

    steps: list[dict[str, Any]] = []
    made: dict[str, Any] | None = None
    refused: dict[str, str] | None = None
    failed: dict[str, str] | None = None


class KueueScenario(msgspec.Struct):
    """One line of a file of such scenarios. ``expected`` may be absent; ``varies`` tells what is left to chance."""

    name: Annotated[str, Meta(min_length=1)]
    now: str
    config: dict[str, Any]
    objects: list[_Stored]
    steps: list[KueueStep] = []
    expected: RecordedKueue | None = None
    varies: list[str] = []

    @property
    def size(self) -> int:
        """How many objects there are on the way."""
        return len(self.objects) + sum(len(step.create) for step in self.steps)


def kueue_answer(scenario: KueueScenario) -> dict[str, Any]:
    """The scenario's outcome, in the shape of ``expected`` with the scenario's name."""
    objects = read_objects(scenario.objects)
    plain = plain_objects(scenario.objects)
    kueue = kueue_objects(objects, plain, scenario.config)
    outcomes = _make_workloads(kueue, objects, plain)
    made = [outcome.workload for outcome in outcomes.values() if outcome.workload is not None]
    run = KueueRun(KueueState(kueue), [*kueue.workloads, *made], nanoseconds_of(scenario.now))
    answer = {"name": scenario.name, **_jobs(outcomes, run.state)}
    steps = [_step(run)]
    for step in scenario.steps:
        run.finish(step.finish)
        run.create(kueue_objects(read_objects(step.create), {}, {}).workloads)
        steps.append(_step(run))
    return {**answer, "steps": steps}


def _make_workloads(
    kueue: KueueObjects, objects: Objects, plain: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, JobOutcome]:
    """What becomes of each Job, by namespace and name."""
    classes, pod_classes = objects.list_all(WorkloadPriorityClass), objects.list_all(PriorityClass)
    framework = JobFramework(kueue.configuration, kueue.namespaces, kueue.local_queues, classes, pod_classes)
    jobs = {
        f"{part_of(job, 'metadata').get('namespace', '')}/{part_of(job, 'metadata', 'name')}": job
        for job in plain.get("Job", ())
    }
    return {key: framework.make(job, BATCH_JOB) for key, job in jobs.items()}


def _jobs(outcomes: Mapping[str, JobOutcome], state: KueueState) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for key, outcome in outcomes.items():
        if outcome.workload is not None:
            answer.setdefault("made", {})[key] = _job_workload(state.workloads[outcome.workload.key], state)
        for name, text in (("refused", outcome.refused), ("failed", outcome.failed)):
            if text:
                answer.setdefault(name, {})[key] = text
    return answer


def _job_workload(workload: Workload, state: KueueState) -> dict[str, Any]:
    spec = workload.source.spec
    answer: dict[str, Any] = {
        "name": workload.name,
        "queueName": workload.queue_name,
        "priority": workload.priority,
        "labels": dict(workload.labels),
    }
    if spec.priority_class_ref is not None:
        answer["priorityClassRef"] = msgspec.to_builtins(spec.priority_class_ref)
    if spec.maximum_execution_time_seconds is not None:
        answer["maximumExecutionTimeSeconds"] = spec.maximum_execution_time_seconds
    answer["podSets"] = []
    for pod_set, total in zip(workload.pod_sets, workload.total_requests, strict=True):
        part: dict[str, Any] = {"name": pod_set.name, "count": pod_set.count}
        if pod_set.min_count is not None:
            part["minCount"] = pod_set.min_count
        if pod_set.topology_request is not None:
            part["topologyRequest"] = msgspec.to_builtins(pod_set.topology_request)
        if workload.queue_key in state.items:
            part["requests"] = {name: quantity_text(name, amount) for name, amount in total.requests.items()}
        answer["podSets"].append(part)
    return answer


def _step(run: KueueRun) -> dict[str, Any]:
    cycles = [_cycle(recorded_cycle) for recorded_cycle in run.rest()]
    state = run.state
    answer: dict[str, Any] = {
        "cycles": cycles,
        "workloads": {key: _workload(workload) for key, workload in sorted(state.workloads.items())},
        "clusterQueues": _cluster_queues(state),
        "localQueues": _local_queues(state),
    }
    if cohorts := _cohorts(state):
        answer["cohorts"] = cohorts
    return answer


def _cycle(cycle: RecordedCycle) -> dict[str, Any]:
    answer: dict[str, Any] = {"heads": [_head(entry) for entry in cycle.entries]}
    if cycle.evicted:
        answer["evicted"] = sorted(cycle.evicted)
    if cycle.requeued:
        answer["requeued"] = cycle.requeued
    return answer


def _head(entry: Entry) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "workload": entry.workload.key,
        "clusterQueue": entry.queue_name,
        "result": entry.result,
    }
    assignment = entry.assignment
    if assignment is not None and entry.result != INADMISSIBLE:
        answer["mode"] = assignment.mode.text
        if assignment.borrowing_level:
            answer["borrowing"] = assignment.borrowing_level
        answer["podSets"] = [_pod_set(pod_set.as_admission()) for pod_set in assignment.pod_sets]
    if entry.targets:
        answer["targets"] = [
            {"workload": target.workload.key, "clusterQueue": target.queue.name, "reason": target.reason}
            for target in entry.targets
        ]
    if entry.requeue:
        answer["requeue"] = entry.requeue
    if entry.message:
        answer["message"] = entry.message
    return answer


def _pod_set(admission: PodSetAdmission) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": admission.name, "count": admission.count}
    if admission.flavors:
        answer["flavors"] = dict(admission.flavors)
        answer["usage"] = {name: quantity_text(name, amount) for name, amount in admission.usage.items()}
    if admission.topology is not None:
        answer["topology"] = _topology(admission.topology)
    return answer


def _topology(topology: TopologyAssignment) -> dict[str, Any]:
    domains = [{"values": list(values), "count": count} for values, count in topology.domains]
    return {"levels": list(topology.levels), "domains": domains}


def _workload(workload: Workload) -> dict[str, Any]:
    answer: dict[str, Any] = {"status": workload.status}
    if not workload.active:
        answer["active"] = False
    if workload.admission is not None:
        answer["clusterQueue"] = workload.cluster_queue
        answer["podSets"] = [_pod_set(admission) for admission in workload.admission]
    conditions = {
        kind: {"status": str(condition.status), "reason": condition.reason, "message": condition.message}
        for kind, condition in workload.conditions.items()
        if kind in _SHOWN
    }
    if conditions:
        answer["conditions"] = conditions
    if workload.checks:
        answer["checks"] = [
            {"name": check.name, "state": check.state, **({"message": check.message} if check.message else {})}
            for check in workload.checks
        ]
    return answer


def _cluster_queues(state: KueueState) -> dict[str, Any]:
    cluster_queues: dict[str, Any] = {}
    for name, queue in state.queues.items():
        pending = state.pending[name]
        usage: dict[str, Any] = {}
        for group in queue.groups:
            for flavor in group.flavors:
                for resource in sorted(group.covered):
                    used = queue.used_amount((flavor, resource))
                    amounts = {"total": quantity_text(resource, used)}
                    borrowed = used - queue.quota((flavor, resource)).nominal
                    if borrowed > 0 and queue.source.spec.parent:
                        amounts["borrowed"] = quantity_text(resource, borrowed)
                    usage.setdefault(flavor, {})[resource] = amounts
        waiting = pending.in_order()
        cluster_queues[name] = {
            "active": _queue_condition(queue.inactive_reason),
            "reserving": len(queue.workloads),
            "admitted": _count_admitted(queue.workloads.values()),
            "pending": len(pending),
            "usage": usage,
            "queue": [workload.key for workload in waiting],
            "inadmissible": [workload.key for workload in waiting if workload.key in pending.aside],
        }
        if state.configuration.is_fair:
            cluster_queues[name]["weightedShare"] = share_of(queue).rounded_share
    return cluster_queues


def _queue_condition(inactive: tuple[str, str] | None) -> dict[str, str]:
    if inactive is None:
        return {"status": "True", "reason": "Ready", "message": "Can admit new workloads"}
    return {"status": "False", "reason": inactive[0], "message": inactive[1]}


def _count_admitted(workloads: Iterable[Workload]) -> int:
    return sum(workload.status == "admitted" for workload in workloads)


def _cohorts(state: KueueState) -> dict[str, Any]:
    cohorts = {}
    for name, cohort in sorted(state.cohorts.items()):
        answer: dict[str, Any] = {"usage": _cohort_usage(cohort)}
        if state.configuration.is_fair:
            answer["weightedShare"] = share_of(cohort).rounded_share
        cohorts[name] = answer
    return cohorts


def _cohort_usage(cohort: CohortNode) -> dict[str, Any]:
    usage: dict[str, Any] = {}
    for (flavor, resource), quota in sorted(cohort.subtree_quota.items()):
        used = limit_text(resource, cohort.used_amount((flavor, resource)))
        usage.setdefault(flavor, {})[resource] = f"{used}/{limit_text(resource, quota)}"
    return usage


def _local_queues(state: KueueState) -> dict[str, Any]:
    local_queues = {}
    for key, local in state.local_queues.items():
        active, reason, message = local_queue_condition(state, key)
        queue = state.queues.get(local.spec.cluster_queue)
        own = [] if queue is None else [workload for workload in queue.workloads.values() if workload.queue_key == key]
        local_queues[key] = {
            "active": {"status": str(active), "reason": reason, "message": message},
            "reserving": len(own),
            "admitted": _count_admitted(own),
            "pending": len(state.items.get(key, ())),
        }
    return local_queues
