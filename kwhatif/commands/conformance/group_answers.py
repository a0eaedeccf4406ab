"""Replays scenarios with pod groups, with answers in the form of the recording.

A scenario is a cluster and steps: pods and PodGroups are created and deleted, and the scheduler runs until its queue is
empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kwhatif.api.core import Node, Pod
from kwhatif.api.pod_groups import POD_GROUP_SCHEDULED, PodGroup
from kwhatif.api.times import check_times
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.conformance.compare_scheduler import RecordedGroups
from kwhatif.commands.conformance.scenario import NodesRecorder, read_objects, status_record
from kwhatif.errors import InputError
from kwhatif.framework.status import Code, Status
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import MOST_ATTEMPTS, Driver
from kwhatif.scheduling.pod_group_outcome import attempt_pod_group, is_gated
from kwhatif.scheduling.pod_group_preemption import PodGroupPreemption, PreemptionUnit
from kwhatif.scheduling.pod_group_results import MemberResult, PlacementAttempt, PodGroupCycle
from kwhatif.scheduling.round_queue import Entity, RoundQueue
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.read.objects import decode, inside

_Stored = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]


class Step(msgspec.Struct):
    """What happens: first all of ``delete`` (``resource/namespace/name``), then all of ``create``."""

    delete: list[str] = []
    create: list[_Stored] = []


class GroupScenario(msgspec.Struct):
    """One line of a file of scenarios with groups of pods. ``varies`` names what is left to chance upstream."""

    name: Annotated[str, Meta(min_length=1)]
    objects: list[_Stored]
    steps: list[Step]
    gates: dict[str, bool] = {}
    config: dict[str, Any] | None = None
    varies: list[str] = []
    expected: RecordedGroups | None = None

    @property
    def size(self) -> int:
        """How many objects are created on the way."""
        return sum(len(step.create) for step in self.steps)


def group_answer(scenario: GroupScenario, setup: Setup) -> dict[str, Any]:
    """The scenario's outcome, in the shape of ``expected`` with the scenario's name."""
    objects = read_objects(scenario.objects)
    cluster = Cluster.load(objects, setup.features, setup.queues)
    replay = _Replay(cluster, setup)
    return {"name": scenario.name, "steps": [replay.run(k, step) for k, step in enumerate(scenario.steps)]}


class _Replay:
    """One scheduler process, step after step."""

    def __init__(self, cluster: Cluster, setup: Setup) -> None:
        self._everywhere = NodesRecorder(by_group=True)
        self._driver = Driver(cluster, setup, observer=self._everywhere, ties_by_name=True)
        self._driver.set_up_all()
        self._cluster = cluster
        self._pending = RoundQueue(self._driver)

    def run(self, number: int, step: Step) -> dict[str, Any]:
        """What one step came to."""
        if number:
            self._pending.come_back()
        for name in step.delete:
            self._delete(name)
        for k, raw in enumerate(step.create):
            self._create(raw, f"$.steps[{number}].create[{k}]")
        cycles: list[dict[str, Any]] = []
        while (entity := self._pending.pop()) is not None:
            cycles += self._run_cycles(entity)
        groups = self._cluster.pod_groups.objects
        return {
            "cycles": cycles,
            "nodeOrder": self._cluster.columns.names,
            "gated": self._pending.gated_pods,
            "pending": self._pending.all,
            "podGroups": {"/".join(key): _conditions(group) for key, group in sorted(groups.items())},
        }

    def _create(self, raw: msgspec.Raw, place: str) -> None:
        try:
            kind = decode(raw, _Kind).kind
            if kind == "Pod":
                pod = decode(raw, Pod)
                check_times(pod)
                if self._driver.scheduler(pod.spec.scheduler_name) is not None:
                    self._pending.add(self._cluster.shapes.info(pod))
            elif kind == "PodGroup":
                group = decode(raw, PodGroup)
                check_times(group)
                key = group.namespace, group.name
                self._cluster.pod_groups.objects[key] = group
                self._pending.hear_of_group(key)
            elif kind == "Node":
                node = decode(raw, Node)
                check_times(node)
                self._driver.add_nodes([node], ())
            else:
                raise InputError(f"expected a Pod, a PodGroup or a Node, found {kind or 'no kind'}")
        except InputError as error:
            raise inside(error, "", place) from None

    def _delete(self, name: str) -> None:
        resource, namespace, own = name.split("/")
        if resource == "pods":
            key = f"{namespace}/{own}"
            pending = self._pending.find(key)
            if pending is not None:
                self._pending.remove(pending)
                self._cluster.remove_nomination(pending.uid)
                return
            for pod, _ in list(self._cluster.pods()):
                if pod.key == key:
                    self._cluster.remove_pod(pod.uid)
                    self._cluster.pod_groups.remove(pod)
        elif resource == "podgroups":
            self._cluster.pod_groups.objects.pop((namespace, own), None)
        else:
            raise InputError(f"steps delete pods and podgroups, found {name}")

    def _run_cycles(self, entity: Entity) -> list[dict[str, Any]]:
        if entity.key is None:
            return self._of_pod(entity.pods[0])
        cycles = []
        pods = list(entity.pods)
        for attempt in range(1, MOST_ATTEMPTS + 1):
            before = self._claims()
            self._everywhere.records.clear()
            cycle = attempt_pod_group(self._driver, entity.key, pods)
            self._pending.mark_bound(pod for pod in cycle.members if pod.key in cycle.bound)
            self._pending.requeue_failed(failure.pod for failure in cycle.failed.values())
            self._pending.activate(cycle.activated)
            answer = _group_record(self._driver, cycle, self._everywhere.records, self._claims_since(before))
            if attempt > 1:
                answer["again"] = attempt
            cycles.append(answer)
            pods = [pod for pod in pods if pod.key in cycle.failed and not is_gated(self._driver, pod)]
            if not cycle.waiting_on_preemption or not pods:
                break
        return cycles

    def _of_pod(self, pod: PodInfo) -> list[dict[str, Any]]:
        answers = []
        for number in range(1, MOST_ATTEMPTS + 1):
            before = self._claims()
            self._everywhere.records.clear()
            attempt = self._driver.attempt(pod)
            answer: dict[str, Any] = {"pod": pod.key}
            if number > 1:
                answer["again"] = number
            answer["attempts"] = [_attempt_record(self._driver, attempt, self._everywhere.records[0])]
            if attempt.is_placed:
                answer["bound"] = {pod.key: self._cluster.columns.names[attempt.row or 0]}
                self._pending.mark_bound([pod])
            else:
                self._driver.handle_failure(attempt)
                evicted = sorted(victim.key for victim in attempt.victims_to_evict)
                self._driver.evict(attempt, to_the_end=False)
                self._pending.requeue_failed([pod])
                accident = attempt.lost or (attempt.refused is not None and not attempt.refused.is_rejected)
                failure: dict[str, Any] = {
                    "reason": "SchedulerError" if accident else "Unschedulable",
                    "message": attempt.message,
                }
                if pod.nominated:
                    failure["nominated"] = pod.nominated
                answer["failed"] = {pod.key: failure}
                answer["deleted"] = evicted
            answer["claims"] = self._claims_since(before)
            answers.append(answer)
            if attempt.is_placed or not attempt.nominated:
                break
        return answers

    def _claims(self) -> dict[tuple[str, str], Any]:
        return dict(self._cluster.devices.claims)

    def _claims_since(self, before: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """The claims that were written since."""
        claims = {}
        for key, claim in sorted(self._cluster.devices.claims.items()):
            if claim is before.get(key):
                continue
            results = (claim.status.allocation.devices.results if claim.status.allocation else None) or ()
            users = [f"{user.resource}/{user.name}" for user in claim.status.reserved_for or ()]
            record = claims["/".join(key)] = {"reservedFor": users}
            if results:
                record["devices"] = [
                    f"{result.request}={result.driver}/{result.pool}/{result.device}" for result in results
                ]
        return claims


class _Kind(msgspec.Struct):
    kind: str = ""


def _conditions(group: PodGroup) -> list[dict[str, str]]:
    return [
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason or "",
            "message": condition.message or "",
        }
        for condition in group.status.conditions or ()
    ]


def _group_record(
    driver: Driver, cycle: PodGroupCycle, records: list[dict[str, Any]], claims: dict[str, Any]
) -> dict[str, Any]:
    answer: dict[str, Any] = {"group": cycle.name, "members": [pod.key for pod in cycle.members]}
    looked = iter(records)
    placements = [_placement_record(driver, tried, looked) for tried in cycle.tried]
    if len(cycle.tried) == 1 and not cycle.tried[0].placement.name:
        answer["attempts"] = placements[0]["attempts"]
    elif placements:
        answer["placements"] = placements
        if cycle.chosen is not None and cycle.chosen.works:
            answer["placement"] = cycle.chosen.placement.name
    if cycle.scores:
        answer["placementScores"] = cycle.scores
    if cycle.preemption is not None:
        answer["preemption"] = _preemption_record(cycle.preemption)
    if cycle.ended:
        answer["result"] = _verdict(cycle.status)
        if cycle.waiting_on_preemption:
            answer["result"]["waitingOnPreemption"] = True
    if cycle.condition is not None:
        condition = cycle.condition
        answer["condition"] = {
            "type": POD_GROUP_SCHEDULED,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        }
    answer["failed"] = {
        key: {
            "reason": member_failure.reason,
            "message": member_failure.message,
            **({"nominated": member_failure.nominated} if member_failure.nominated else {}),
        }
        for key, member_failure in cycle.failed.items()
    }
    answer["bound"], answer["claims"] = cycle.bound, claims
    answer["deleted"] = sorted(pod.key for pod in cycle.evicted)
    return answer


def _placement_record(driver: Driver, tried: PlacementAttempt, looked: Iterable[dict[str, Any]]) -> dict[str, Any]:
    names = driver.cluster.columns.names
    attempts = [_member_record(driver, member, record) for member, record in zip(tried.members, looked, strict=False)]
    return {
        "name": tried.placement.name,
        "nodes": [names[row] for row in tried.placement.rows.tolist()],
        "attempts": attempts,
        "status": _verdict(tried.status),
    }


def _verdict(status: Status | None) -> dict[str, Any]:
    if status is None:
        return {"code": "Success"}
    return {"code": str(status.code), "message": status.message}


def _member_record(driver: Driver, member: MemberResult, everywhere: Mapping[str, Any]) -> dict[str, Any]:
    record = _attempt_record(driver, member.attempt, everywhere)
    if member.permit:
        record["permit"] = member.permit
    if member.found_node and member.row is not None:
        record["selected"] = driver.cluster.columns.names[member.row]
        record.pop("message", None)
    if member.failure is not None and not member.found_node and everywhere.get("feasible"):
        record["reserve"] = member.failure.message
    return record


def _attempt_record(driver: Driver, attempt: Attempt, everywhere: Mapping[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {**everywhere, "pod": attempt.pod.key}
    names = driver.cluster.columns.names
    totals = record.get("totals")
    if attempt.refused is not None and attempt.diagnosis is not None:
        record["preFilter"] = status_record(attempt.refused)
    if attempt.row is not None:
        record["selected"] = names[attempt.row]
    elif attempt.message:
        record["message"] = attempt.message
    if totals:
        top = max(totals.values())
        record["winners"] = sorted(name for name, total in totals.items() if total == top)
    if attempt.nominated:
        record["nominated"] = attempt.nominated
        record["victims"] = sorted(victim.key for victim in attempt.victims_to_evict)
    return record


def _preemption_record(preemption: PodGroupPreemption) -> dict[str, Any]:
    record: dict[str, Any] = {
        "candidates": [
            {"pods": _names(unit), "priority": unit.priority, **({"group": True} if unit.names_group else {})}
            for unit in preemption.candidates
        ],
        "violating": [_names(unit) for unit in preemption.violating],
        "reprieve": [{"pods": _names(unit), "kept": kept} for unit, kept in preemption.reprieved],
        "victims": sorted(pod.key for pod in preemption.victims),
        "status": str(preemption.status.code) if preemption.status is not None else str(Code.SUCCESS),
        "message": preemption.status.message if preemption.status is not None else "",
    }
    return {name: value for name, value in record.items() if value}


def _names(unit: PreemptionUnit) -> list[str]:
    return sorted(pod.key for pod in unit.pods)
