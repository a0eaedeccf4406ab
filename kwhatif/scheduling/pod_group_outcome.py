"""What follows from the verdict on a group: victims leave, members are bound or requeued, the condition is written.

Upstream: submitPodGroupAlgorithmResult and updatePodGroupCondition in pkg/scheduler/schedule_one_podgroup.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from kwhatif.api.pod_groups import POD_GROUP_SCHEDULED, PodGroupCondition
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.status import Status
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.pod_group_cycle import PodGroupScheduler
from kwhatif.scheduling.pod_group_results import (
    ERROR,
    REJECTED,
    UNSCHEDULABLE,
    GroupCondition,
    MemberFailure,
    MemberResult,
    PodGroupCycle,
    is_leaving,
)
from kwhatif.scheduling.schedule_one import Scheduler

Evict = Callable[[PodInfo, PodInfo], None]
"""Evicts a victim, which has a node, for a preemptor."""


def attempt_pod_group(
    driver: Driver, key: GroupKey, members: Sequence[PodInfo], evict: Evict | None = None
) -> PodGroupCycle:
    """One cycle of a group, its members tried in this order, with all its consequences. Victims are gone at once,
    unless ``evict`` tells them to leave.
    """
    names = [pod.pod.spec.scheduler_name or "" for pod in members]
    other = next((name for name in names if name != names[0]), None)
    if other is not None:
        return _fail_all(driver, key, members, f'got: "{other}" and "{names[0]}"')
    scheduler = driver.scheduler_for(members[0])
    candidates = [pod for pod in members if not is_leaving(pod)]
    cycle = PodGroupScheduler(scheduler, key, candidates).decide()
    # Members that Permit wants to be tried are being tried: none of them is in the queue.
    driver.take_activated()
    _evict(driver, cycle, evict)
    _Submission(driver, scheduler, cycle).submit()
    _write_condition(driver, cycle)
    cycle.members = list(members)
    return cycle


def pod_group_at_once(driver: Driver, key: GroupKey, members: Sequence[PodInfo], attempts: int) -> list[PodGroupCycle]:
    """Try a group until it has its nodes or no further attempt would help, up to a limit.

    Members that failed are tried again together once the victims have left.
    """
    cycles = [attempt_pod_group(driver, key, members)]
    while cycles[-1].waiting_on_preemption and len(cycles) < attempts:
        left = [pod for pod in members if pod.key in cycles[-1].failed and not is_gated(driver, pod)]
        if not left:
            break
        cycles.append(attempt_pod_group(driver, key, left))
    return cycles


def is_gated(driver: Driver, pod: PodInfo) -> bool:
    """Whether a PreEnqueue plugin keeps a pod out of the queue now."""
    return driver.scheduler_for(pod).framework.pre_enqueue(pod) is not None


def _fail_all(driver: Driver, key: GroupKey, members: Sequence[PodInfo], text: str) -> PodGroupCycle:
    message = f"all pods in a single pod group should have the same .spec.schedulerName set, {text}"
    cycle = PodGroupCycle(key, list(members), status=Status.error(message), ended=False)
    for pod in members:
        _denominate(driver, pod)
        cycle.failed[pod.key] = MemberFailure(pod, ERROR, message)
    return cycle


def _denominate(driver: Driver, pod: PodInfo) -> None:
    driver.cluster.remove_nomination(pod.uid)
    pod.nominated = ""


def _evict(driver: Driver, cycle: PodGroupCycle, evict: Evict | None) -> None:
    """Evict victims: those that single members chose in any placement, or those of the whole group, for whose first
    member they leave.
    """
    chosen = [member.attempt for tried in cycle.tried for member in tried.members if member.attempt.nominated]
    members = {pod.uid for pod in cycle.members}
    for attempt in chosen:
        for other in list(driver.cluster.nominated.get(attempt.nominated, ())) if attempt.victims_to_evict else ():
            if other.priority < attempt.pod.priority and other.uid not in members:
                _denominate(driver, other)
    victims = [(victim, attempt.pod) for attempt in chosen for victim in attempt.victims_to_evict]
    if cycle.preemption is not None:
        first = cycle.members[0]
        victims += [(victim, first) for victim in cycle.preemption.victims if not victim.shape.terminating]
    evicted: set[str] = set()
    for victim, preemptor in victims:
        if victim.uid in evicted or driver.cluster.find(victim.uid) is None:
            continue
        evicted.add(victim.uid)
        cycle.evicted.append(victim)
        if evict is not None:
            evict(victim, preemptor)
        elif not driver.turn_away(victim):
            driver.cluster.remove_pod(victim.uid)
    if victims:
        cycle.settled += driver.settle()


class _Submission:
    """Acts on the verdict on one group."""

    def __init__(self, driver: Driver, scheduler: Scheduler, cycle: PodGroupCycle) -> None:
        self._driver, self._scheduler, self._cycle = driver, scheduler, cycle
        self._cluster = driver.cluster
        self._attempts: list[Attempt] = []

    def submit(self) -> None:
        results = self._cycle.results
        for k, pod in enumerate(self._cycle.members):
            self._submit_member(pod, results[k] if k < len(results) else None)
        # Bindings follow one another in the order of the members, those that had to wait among them.
        own = {attempt.pod.uid for attempt in self._attempts}
        self._cycle.settled += [attempt for attempt in self._driver.settle() if attempt.pod.uid not in own]
        names = self._cluster.columns.names
        for attempt in self._attempts:
            if attempt.waiting:
                self._cycle.held.append(attempt)
            elif attempt.row is not None:
                self._cluster.pod_groups.pending.pop(attempt.pod.uid, None)
                self._cycle.bound[attempt.pod.key] = names[attempt.row]
            else:
                self._fail(attempt.pod, ERROR, attempt.message)

    def _submit_member(self, pod: PodInfo, result: MemberResult | None) -> None:
        cycle, status = self._cycle, self._cycle.status
        if status is not None and cycle.is_error:
            own = result.failure if result is not None else None
            is_own = own is not None and not own.is_rejected
            self._fail(pod, ERROR, own.message if own is not None and is_own else status.message)
        elif result is None:
            assert status is not None
            self._fail(pod, REJECTED, status.message, keep=True)
        elif result.row is None:
            assert result.failure is not None
            reason = REJECTED if result.failure.is_rejected else ERROR
            self._fail(pod, reason, result.failure.message, keep=result.attempt.keeps_nomination)
        elif status is None:
            self._bind(result)
        elif not cycle.waiting_on_preemption:
            self._fail(pod, REJECTED, f"{UNSCHEDULABLE}, {result.permit_message}")
        else:
            message = result.attempt.message if result.requires_preemption else status.message
            self._fail(pod, REJECTED, message, nominated=self._cluster.columns.names[result.row])

    def _bind(self, result: MemberResult) -> None:
        """Assume a member. It is bound when all of them are assumed, if its permit has come by then."""
        attempt, scheduler = result.attempt, self._scheduler
        assert attempt.row is not None
        row = attempt.row
        if (refusal := scheduler.binding.assume_and_reserve(attempt, row)) is not None:
            self._fail(attempt.pod, REJECTED if refusal.is_rejected else ERROR, attempt.message)
            return
        self._driver.take_activated()
        answer = scheduler.framework.permit(attempt.pod, self._cluster.columns.names[row], attempt.states)
        if activated := self._driver.take_activated():
            in_flight = {pod.uid for pod in self._cycle.members if pod.key not in self._cycle.failed}
            self._cycle.activated |= set(activated) - in_flight
        if isinstance(answer, Status):
            scheduler.binding.take_back(attempt)
            scheduler.binding.refuse(attempt, answer)
            self._fail(attempt.pod, REJECTED if answer.is_rejected else ERROR, attempt.message)
            return
        scheduler.binding.hold(attempt, answer or {})
        self._attempts.append(attempt)

    def _fail(self, pod: PodInfo, reason: str, message: str, *, nominated: str = "", keep: bool = False) -> None:
        """Requeue a member; it may be nominated to a node (``nominated``), or stay nominated (``keep``)."""
        node = pod.nominated if keep else nominated
        if node:
            self._cluster.nominate(pod, node)
        else:
            _denominate(self._driver, pod)
        self._cycle.failed[pod.key] = MemberFailure(pod, reason, message, node)


def _write_condition(driver: Driver, cycle: PodGroupCycle) -> None:
    """Write PodGroupScheduled if it changes; once True it never becomes False again."""
    states = driver.cluster.pod_groups
    group = states.objects.get(cycle.key)
    if group is None or not cycle.ended:
        return
    status = cycle.status
    if status is None:
        condition = GroupCondition("True", "Scheduled", "")
    else:
        condition = GroupCondition("False", REJECTED if status.is_rejected else ERROR, status.message)
    conditions = list(group.status.conditions or ())
    before = next(
        (pod_group_condition for pod_group_condition in conditions if pod_group_condition.type == POD_GROUP_SCHEDULED),
        None,
    )
    if before is not None:
        is_same = (before.status, before.reason or "", before.message or "") == (
            condition.status,
            condition.reason,
            condition.message,
        )
        is_same &= (before.observed_generation or 0) == (group.metadata.generation or 0)
        if is_same or (before.status == "True" and condition.status != "True"):
            return
        conditions.remove(before)
    cycle.condition = condition
    written = PodGroupCondition(
        type=POD_GROUP_SCHEDULED,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        observed_generation=group.metadata.generation,
    )
    states.objects[cycle.key] = replace(group, status=replace(group.status, conditions=[*conditions, written]))
