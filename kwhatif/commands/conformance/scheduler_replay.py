"""Replays scenarios recorded with kube-scheduler, with answers in the form of the recording.

A scenario is a cluster, a policy and pods that arrive one at a time, or that go through the queue where ties are not
pinned; the format is described in ``docs/contributing/conformance.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kwhatif.api.core import Pod
from kwhatif.api.objects import part_of
from kwhatif.api.times import check_times
from kwhatif.api.watcher_metrics import Moments, WatcherMetrics
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.conformance.compare_scheduler import Recorded
from kwhatif.commands.conformance.scenario import NodesRecorder, read_objects, status_record
from kwhatif.commands.conformance.scenario_queue import QueueReplay
from kwhatif.errors import InputError
from kwhatif.framework.status import Status
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.describe import devices_of
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.read.objects import check_name, decode, inside

_Stored = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
"""An object as the API server stores it, to be read by its kind."""


class SchedulerScenario(msgspec.Struct):
    """One line of a scenario file. ``expected`` may be absent; a legacy ``policy`` stands in place of ``config``.

    With ``ties: real`` the pods go through the queue, and no tie is pinned by name. ``gates`` are feature gates that
    differ from their defaults.
    """

    name: Annotated[str, Meta(min_length=1)]
    objects: list[_Stored]
    pods: list[_Stored]
    config: dict[str, Any] | None = None
    expected: Recorded | None = None
    policy: dict[str, Any] | None = None
    ties: Literal["real"] | None = None
    gates: dict[str, bool] | None = None
    queue: bool = False
    metrics: WatcherMetrics | None = None
    varies: list[str] | None = None


# The moments of recordings: the scheduler started, and saw the bound pods, an hour before pods are bound.
_MOMENTS = Moments(now=1772366400.0, started=1772362800.0)


def scheduler_answer(scenario: SchedulerScenario, setup: Setup) -> dict[str, Any]:
    """The scenario's outcome, in the shape of ``expected`` with the scenario's name."""
    objects = read_objects(scenario.objects)
    objects.put(Moments, [_MOMENTS])
    if scenario.metrics is not None:
        objects.put(WatcherMetrics, [scenario.metrics])
    pods = list(_pods(scenario))
    cluster = Cluster.load(objects, setup.features, setup.queues)
    for pod in pods:
        cluster.pending.add(pod)
    if scenario.ties is not None:
        return {"name": scenario.name, "nodeOrder": cluster.columns.names, **queued_answers(cluster, setup, pods)}
    everywhere = NodesRecorder()
    driver = Driver(cluster, setup, observer=everywhere, ties_by_name=True)
    driver.set_up_all()
    if scenario.queue:
        replay = QueueReplay(driver, lambda attempt: _record(driver, attempt, everywhere.records[-1]))
        outcome = replay.run([driver.cluster.shapes.info(pod) for pod in pods])
        return {"name": scenario.name, "nodeOrder": cluster.columns.names, **outcome}
    _nominate(driver, pods)
    answers = []
    for i, pod in enumerate(pods):
        try:
            answers.append(_answer(driver, everywhere, pod))
        except ValueError as error:
            raise InputError(f"pod {pod.key}: {error}", place=f"$.pods[{i}]") from error
    return {"name": scenario.name, "nodeOrder": cluster.columns.names, "pods": answers}


def _pods(scenario: SchedulerScenario) -> Iterator[Pod]:
    for i, raw in enumerate(scenario.pods):
        try:
            pod = decode(raw, Pod)
            check_name(pod)
            check_times(pod)
        except InputError as error:
            raise inside(error, "", f"$.pods[{i}]") from None
        yield pod


def _nominate(driver: Driver, pods: Sequence[Pod]) -> None:
    """Nominations hold from the moment their pods enter the queue, not only once these are tried."""
    for pod in pods:
        info = driver.cluster.shapes.info(pod)
        scheduler = driver.scheduler(pod.spec.scheduler_name)
        if info.nominated and scheduler is not None and scheduler.framework.pre_enqueue(info) is None:
            driver.cluster.nominate(info, info.nominated)


def _answer(driver: Driver, everywhere: NodesRecorder, pod: Pod) -> dict[str, Any]:
    info = driver.cluster.shapes.info(pod)
    if driver.scheduler(pod.spec.scheduler_name) is None:
        raise ValueError(f"schedulerName {pod.spec.scheduler_name} is none of the configuration's profiles")
    everywhere.records.clear()
    attempts = driver.schedule_with_preemption(info, to_the_end=False)
    records = [_record(driver, *record) for record in zip(attempts, everywhere.records, strict=True)]
    return {"pod": info.key, "attempts": records}


def _record(driver: Driver, attempt: Attempt, everywhere: Mapping[str, Any]) -> dict[str, Any]:
    cluster = driver.cluster
    record: dict[str, Any] = {**everywhere, "evaluated": attempt.evaluated}
    if attempt.gated is not None:
        return {"preFilter": status_record(attempt.gated), "evaluated": 0, "error": "gated"}
    if attempt.refused is not None and attempt.diagnosis is not None:
        record["preFilter"] = status_record(attempt.refused)
        if not cluster.shapes.features.nodes_left_out_by_prefilter_are_counted:
            # The refusal stood for every node, and such nodes count as looked at.
            record["evaluated"] = len(cluster)
    if attempt.refused is not None and not attempt.refused.is_rejected:
        record["error"] = attempt.message
    elif attempt.row is None:
        record["message"] = attempt.message
    row = attempt.chosen if attempt.permit is not None else attempt.row
    if attempt.permit is not None:
        record["permit"] = _permit(attempt.permit)
    if row is not None:
        names = cluster.columns.names
        totals = part_of(record, "totals")
        sampled = [names[row] for row in attempt.sampled]
        top = max(totals[name] for name in sampled)
        record["sampled"] = sampled
        record["winners"] = sorted(name for name in sampled if totals[name] == top)
        record["selected"] = names[row]
        if allocations := _allocations(cluster, attempt.pod):
            record["allocations"] = allocations
    if attempt.nominated:
        record["nominated"] = attempt.nominated
        record["victims"] = sorted(victim.key for victim in attempt.victims_to_evict)
    return record


def _allocations(cluster: Cluster, info: PodInfo) -> dict[str, list[str]]:
    """The devices of each of the pod's claims; those behind extended resources go by that name."""
    allocations: dict[str, list[str]] = {}
    for claim in devices_of(cluster, info):
        for device in claim.devices:
            text = f"{device.driver}/{device.pool}/{device.device}"
            if claim.extended:
                allocations.setdefault("extended", []).append(text)
                continue
            consumed = ",".join(f"{name}={amount}" for name, amount in device.consumes.items())
            text = f"{device.request}={text}" + (f"[{consumed}]" if consumed else "")
            allocations.setdefault(claim.claim.partition("/")[2], []).append(text)
    return allocations


def _permit(answer: Status | Mapping[str, float]) -> Mapping[str, Any]:
    """What Permit plugins answered: the least that one is willing to wait, or who refused."""
    if isinstance(answer, Status):
        return {"code": str(answer.code), "plugin": answer.plugin}
    seconds = min(answer.values())
    return {"code": "Wait", "seconds": int(seconds) if seconds == int(seconds) else seconds}


def queued_answers(cluster: Cluster, setup: Setup, pods: Sequence[Pod]) -> dict[str, Any]:
    """``queueOrder``, and each queued pod with its one attempt. Raises InputError for a pod without a profile."""
    observer = _Start()
    driver = Driver(cluster, setup, detailed=True, observer=observer)
    driver.set_up_all()
    queued = []
    for i, pod in enumerate(pods):
        scheduler = driver.scheduler(pod.spec.scheduler_name)
        if scheduler is None:
            problem = f"schedulerName {pod.spec.scheduler_name} is none of the configuration's profiles"
            raise InputError(f"pod {pod.key}: {problem}", place=f"$.pods[{i}]")
        info = cluster.shapes.info(pod)
        if scheduler.framework.pre_enqueue(info) is None:
            queued.append(info)
            if info.nominated:
                cluster.nominate(info, info.nominated)
    in_order = driver.in_order(queued, lambda info: info)
    answers = []
    for info in in_order:
        attempt = driver.attempt(info)
        answers.append({"pod": info.key, "attempts": [_attempt_record(driver, attempt, observer)]})
        if not attempt.is_placed:
            driver.handle_failure(attempt)
    return {"queueOrder": [info.key for info in in_order], "pods": answers}


class _Start(Observer):
    """Notes before each cycle where its search would begin, and which nodes are feasible without sampling."""

    start = 0
    feasible: Sequence[str] = ()
    narrowed: Sequence[str] | None = None

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        names = scheduler.cluster.columns.names
        evaluation = scheduler.evaluate_all_nodes(pod)
        self.start, self.feasible, self.narrowed = scheduler.shared.next_start, (), None
        if evaluation is None:
            return
        passing = {names[row] for row in evaluation.passing(pod).nonzero()[0].tolist()}
        if evaluation.narrowed is not None:
            self.narrowed = sorted(evaluation.narrowed_names)
            passing.intersection_update(self.narrowed)
        self.feasible = sorted(passing)


def _attempt_record(driver: Driver, attempt: Attempt, start: _Start) -> Mapping[str, Any]:
    names = driver.cluster.columns.names
    record: dict[str, Any] = {"start": start.start, "evaluated": attempt.evaluated, "feasible": list(start.feasible)}
    if start.narrowed is not None:
        record["preFilterNodes"] = list(start.narrowed)
    if (batching := attempt.batching) is not None:
        record |= {"signed": True} if batching.signed else {}
        record |= {"hint": batching.hint, "hinted": attempt.is_hinted} if batching.hint else {}
        record |= {"flushed": list(batching.flushed)} if batching.flushed else {}
        record |= {"kept": batching.kept} if batching.kept is not None else {}
    if attempt.refused is not None:
        record["preFilter"] = status_record(attempt.refused)
    if attempt.row is None:
        return record | {"message": attempt.message}
    sampled = [names[row] for row in attempt.sampled]
    if attempt.score is not None:
        scores = {name: {s.plugin: int(s.weighted_score[k]) for s in attempt.scores} for k, name in enumerate(sampled)}
        record["scores"] = scores
        record["totals"] = {name: sum(own.values()) for name, own in scores.items()}
    winners = sorted(names[row] for row in attempt.best)
    return record | {"sampled": sampled, "winners": winners, "selected": names[attempt.row]}
