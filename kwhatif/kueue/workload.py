"""A Workload while Kueue decides: what it asks for, its conditions, its admission.

Upstream: pkg/workload/workload.go and admissionchecks.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.kueue import KueueWorkload
from kwhatif.api.kueue_topology import TopologyAssignment, decode_assignment
from kwhatif.api.times import nanoseconds_of
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.admission_gates import GATED_BY
from kwhatif.kueue.amounts import FlavorResource, Quantities, Requests, add, divide, multiply, requests_of
from kwhatif.kueue.pod_amounts import CountedPodSet, PodCounter, PodSetRequests

QUOTA_RESERVED, ADMITTED, EVICTED = "QuotaReserved", "Admitted", "Evicted"
PREEMPTED, REQUEUED, FINISHED = "Preempted", "Requeued", "Finished"
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
_ON_HOLD, _WAITING_FOR_PODS = "OnHold", "WaitingForReplacementPods"
_REORDERING = ("AdmissionCheck", "PodsReadyTimeout")
_LONGEST_MESSAGE = 32 * 1024


class Condition(msgspec.Struct, frozen=True):
    """A condition; ``time`` is that of its last change of status, in nanoseconds since 1970."""

    status: bool
    reason: str
    message: str
    time: int


class PodSetAdmission(msgspec.Struct, frozen=True):
    """The flavors of a pod set that holds quota, what counts, and where its pods go; ``is_delayed`` while that is not
    said, since its nodes are yet to come, or are another cluster's.
    """

    name: str
    count: int
    flavors: Mapping[str, str]
    usage: Requests
    topology: TopologyAssignment | None = None
    is_delayed: bool = False


class DomainUse(msgspec.Struct, frozen=True):
    """So many pods of these requests in a domain of the topology."""

    values: tuple[str, ...]
    requests: Requests
    count: int


class Usage(msgspec.Struct, frozen=True):
    """Quota by flavor and resource, and room in domains by flavor."""

    quota: Quantities = {}
    topology: Mapping[str, Sequence[DomainUse]] = {}

    @property
    def without_topology(self) -> Usage:
        return Usage(self.quota) if self.topology else self


_NO_USAGE = Usage()


class ScanProgress(msgspec.Struct):
    """How far the search through the flavors has come (upstream: AssignmentClusterQueueState)."""

    tried: list[dict[str, int]]
    generation: int
    cycle: int

    @property
    def is_unfinished(self) -> bool:
        """Whether there are flavors left to be tried."""
        return any(index != -1 for tried_flavors in self.tried for index in tried_flavors.values())

    def next_flavor(self, pod_set: int, resource: str) -> int:
        return self.tried[pod_set].get(resource, -1) + 1 if pod_set < len(self.tried) else 0


class Check(msgspec.Struct):
    """The state of an admission check."""

    name: str
    state: str = "Pending"
    message: str = ""


class Workload:
    """A Workload. ``pod_sets`` are adjusted: with overheads, defaults, and limits as requests."""

    def __init__(self, source: KueueWorkload, counter: PodCounter) -> None:
        self.source = source
        self.key = source.key
        self.namespace, self.name, self.uid = source.namespace, source.name, source.metadata.uid or ""
        self.queue_name = source.spec.queue_name or ""
        self.queue_key = f"{self.namespace}/{self.queue_name}"
        self.priority = source.spec.priority or 0
        created = source.metadata.creation_timestamp
        self.created = nanoseconds_of(created) if created else 0
        self.active = source.spec.active is not False
        self.labels: Mapping[str, str] = source.metadata.labels or {}
        self.is_gated = bool((source.metadata.annotations or {}).get(GATED_BY))
        given = source.spec.pod_sets or ()
        self.counted = tuple([counter.count(pod_set, self.namespace) for pod_set in given])
        self.pod_sets = tuple([pod_set.pod_set for pod_set in self.counted])
        self.pod_requests = tuple([pod_set.requests for pod_set in self.counted])
        self._reclaimed = {
            reclaimable_pod.name: reclaimable_pod.count for reclaimable_pod in source.status.reclaimable_pods or ()
        }
        self.conditions = _conditions_of(source)
        self.checks = [
            Check(admission_check.name, admission_check.state or "Pending", admission_check.message or "")
            for admission_check in source.status.admission_checks or ()
        ]
        self.requeue_at = _requeue_time(source)
        self.progress: ScanProgress | None = None
        self.total_requests = tuple(map(self._total_left, self.counted))
        shape = [(pod_set.shape, total.count) for pod_set, total in zip(self.counted, self.total_requests, strict=True)]
        self.shape = counter.number_shape((self.priority, *shape))
        """Equal for workloads that get the same answer: same constraints, requests and priority (upstream:
        computeSchedulingHash).
        """
        self.cluster_queue = ""
        self.admission: tuple[PodSetAdmission, ...] | None = None
        self.usage = _NO_USAGE
        self.used_flavors: frozenset[FlavorResource] = frozenset()
        """The flavors of its admission, each with its resource."""
        if source.status.admission is not None:
            self.admit(source.status.admission.cluster_queue, _admissions_of(source))

    def __repr__(self) -> str:
        return f"<Workload {self.key}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Workload:
        """What is only ever replaced as a whole is shared."""
        made = memo[id(self)] = Workload.__new__(Workload)
        made.__dict__ |= self.__dict__
        made.conditions = dict(self.conditions)
        made.checks = [Check(check.name, check.state, check.message) for check in self.checks]
        return made

    def _count_left(self, pod_set: str, count: int) -> int:
        return max(count - self._reclaimed.get(pod_set, 0), 0)

    def _total_left(self, counted: CountedPodSet) -> PodSetRequests:
        """What the pods that are not reclaimed yet ask for."""
        name = counted.pod_set.name
        if name not in self._reclaimed:
            return counted.total
        count = self._count_left(name, counted.pod_set.count)
        return PodSetRequests(name, count, multiply(counted.counted, count))

    # --- what it is

    def is_true(self, kind: str) -> bool:
        condition = self.conditions.get(kind)
        return condition is not None and condition.status

    @property
    def holds_quota(self) -> bool:
        return self.is_true(QUOTA_RESERVED)

    @property
    def status(self) -> str:
        """``finished``, ``admitted``, ``quotaReserved`` or ``pending``."""
        if self.is_true(FINISHED):
            return "finished"
        if self.is_true(ADMITTED):
            return "admitted"
        return "quotaReserved" if self.holds_quota else "pending"

    @property
    def is_admissible(self) -> bool:
        """Whether it may stand in a queue."""
        return not (
            self.is_gated
            or self.is_true(FINISHED)
            or not self.active
            or self.holds_quota
            or self.is_on_hold
            or self.is_true(_WAITING_FOR_PODS)
        )

    @property
    def is_on_hold(self) -> bool:
        reserved = self.conditions.get(QUOTA_RESERVED)
        return reserved is not None and not reserved.status and reserved.reason == _ON_HOLD

    @property
    def counts(self) -> bool:
        """Whether the quota that it holds counts as used."""
        return self.holds_quota and self.active and not self.is_true(FINISHED)

    @property
    def queue_time(self) -> int:
        """The time by which it stands in its queue: its creation, unless something sent it back to the end."""
        evicted = self.conditions.get(EVICTED)
        if evicted is not None and evicted.status and evicted.reason in _REORDERING:
            return evicted.time
        return self.created

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place in a queue."""
        return -self.priority, self.queue_time, self.uid

    @property
    def can_shrink(self) -> bool:
        return any(pod_set.count > pod_set.min_count for pod_set in self.pod_sets if pod_set.min_count is not None)

    @property
    def wants_topology(self) -> bool:
        return any(pod_set.wants_topology for pod_set in self.pod_sets)

    # --- what happens to it

    def set_condition(self, kind: str, status: bool, reason: str, message: str, now: int) -> bool:
        """Whether anything changed. The time changes with the status only."""
        message = _truncate(message)
        old = self.conditions.get(kind)
        if old is not None and (old.status, old.reason, old.message) == (status, reason, message):
            return False
        time = old.time if old is not None and old.status == status else now
        self.conditions[kind] = Condition(status, reason, message, time)
        return True

    def admit(self, cluster_queue: str, pod_sets: Sequence[PodSetAdmission]) -> None:
        """Keep the admission, and work out what it uses."""
        self.cluster_queue, self.admission = cluster_queue, tuple(pod_sets)
        self.used_flavors = frozenset(
            (flavor, resource)
            for pod_set_admission in self.admission
            for resource, flavor in pod_set_admission.flavors.items()
        )
        own = {pod_set.name: requests for pod_set, requests in zip(self.pod_sets, self.pod_requests, strict=True)}
        counts = {pod_set.name: pod_set.count for pod_set in self.pod_sets}
        quota: Quantities = {}
        domains: dict[str, list[DomainUse]] = {}
        for admission in self.admission:
            used, left = admission.usage, self._count_left(admission.name, counts.get(admission.name, 0))
            if left < admission.count:
                used = multiply(divide(used, admission.count), left)
            for resource, amount in used.items():
                key: FlavorResource = admission.flavors.get(resource, ""), resource
                quota[key] = add(quota.get(key, 0), amount)
            if admission.topology is not None:
                requests = own.get(admission.name)
                if requests is None:
                    requests = divide(admission.usage, admission.count)
                uses = [DomainUse(values, requests, count) for values, count in admission.topology.domains]
                for flavor in sorted(set(admission.flavors.values())):
                    domains.setdefault(flavor, []).extend(uses)
        self.usage = Usage(quota, domains)

    def reserve_quota(self, cluster_queue: str, pod_sets: Sequence[PodSetAdmission], now: int) -> None:
        """Upstream: SetQuotaReservation."""
        self.admit(cluster_queue, pod_sets)
        reason = QUOTA_RESERVED
        self.set_condition(QUOTA_RESERVED, True, reason, f"Quota reserved in ClusterQueue {cluster_queue}", now)
        for kind in (EVICTED, PREEMPTED):
            if self.is_true(kind):
                self.set_condition(kind, False, reason, f"Previously: {self.conditions[kind].message}", now)

    def unset_quota(self, reason: str, message: str, now: int) -> bool:
        """Upstream: UnsetQuotaReservationWithCondition."""
        changed = self.set_condition(QUOTA_RESERVED, False, reason, message, now)
        if self.admission is not None:
            self.admission, self.usage, self.cluster_queue = None, _NO_USAGE, ""
            self.used_flavors = frozenset()
            changed = True
        return self.sync_admitted(now) or changed

    def sync_admitted(self, now: int) -> bool:
        """Upstream: SyncAdmittedCondition."""
        reserved, was_admitted = self.holds_quota, self.is_true(ADMITTED)
        if not reserved and not was_admitted:
            return False
        ready = all(check.state == "Ready" for check in self.checks)
        is_delayed = any(pod_set.is_delayed for pod_set in self.admission or ())
        if was_admitted == (reserved and ready and not is_delayed):
            return False
        if reserved and ready and not is_delayed:
            return self.set_condition(ADMITTED, True, "Admitted", "The workload is admitted", now)
        if reserved and not ready:
            missing = "The workload has not all checks ready"
            return self.set_condition(ADMITTED, False, "UnsatisfiedChecks", missing, now)
        if reserved:
            pending = "There are pending delayed topology requests"
            return self.set_condition(ADMITTED, False, "PendingDelayedTopologyRequests", pending, now)
        reason, message = "NoReservation", "The workload has no reservation"
        if not ready:
            reason, message = "NoReservationUnsatisfiedChecks", f"{message} and not all checks ready"
        return self.set_condition(ADMITTED, False, reason, message, now)

    def evict(self, reason: str, message: str, now: int) -> None:
        """Upstream: pkg/workload/evict."""
        self.set_condition(EVICTED, True, reason, message, now)
        for check in self.checks:
            if check.state != "Pending":
                check.message = f"Reset to Pending after eviction. Previously: {check.state}"
                check.state = "Pending"


def copy_workloads(workloads: Mapping[str, Workload], memo: dict[int, Any]) -> dict[str, Workload]:
    """As ``deepcopy``, which would look at each key, too."""
    return {key: memo.get(id(workload)) or workload.__deepcopy__(memo) for key, workload in workloads.items()}


class WorkloadTrace(msgspec.Struct, frozen=True, eq=False):
    """What a cycle can change of a workload: its conditions but for their times, and how far its search has come."""

    conditions: Mapping[str, Condition]
    tried: Sequence[Mapping[str, int]] | None

    @classmethod
    def of(cls, workload: Workload) -> WorkloadTrace:
        progress = workload.progress
        is_unfinished = progress is not None and progress.is_unfinished
        return cls(dict(workload.conditions), progress.tried if progress is not None and is_unfinished else None)

    def says_the_same(self, other: WorkloadTrace) -> bool:
        if self.tried != other.tried:
            return False
        # Most conditions are untouched, and so the same objects.
        return self.conditions == other.conditions or self._words == other._words

    @property
    def _words(self) -> dict[str, tuple[bool, str, str]]:
        return {
            kind: (condition.status, condition.reason, condition.message) for kind, condition in self.conditions.items()
        }


def _truncate(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 4] + " ..."


def _conditions_of(source: KueueWorkload) -> dict[str, Condition]:
    return {
        condition.type: Condition(
            condition.status == "True",
            condition.reason or "",
            condition.message or "",
            nanoseconds_of(condition.last_transition_time) if condition.last_transition_time else 0,
        )
        for condition in source.status.conditions or ()
    }


def _requeue_time(source: KueueWorkload) -> int | None:
    """When it may be tried again at the earliest: the latest of what it says itself and of its checks (upstream:
    GetMaxRetryTime).
    """
    state = source.status.requeue_state
    times = [nanoseconds_of(state.requeue_at)] if state is not None and state.requeue_at else []
    times += [
        nanoseconds_of(check.last_transition_time) + check.requeue_after_seconds * SECOND
        for check in source.status.admission_checks or ()
        if check.state == "Retry" and check.requeue_after_seconds is not None and check.last_transition_time
    ]
    return max(times, default=None)


def _admissions_of(source: KueueWorkload) -> list[PodSetAdmission]:
    admission = source.status.admission
    counts = {pod_set.name: pod_set.count for pod_set in source.spec.pod_sets or ()}
    return [
        PodSetAdmission(
            pod_set_assignment.name,
            counts.get(pod_set_assignment.name, 0) if pod_set_assignment.count is None else pod_set_assignment.count,
            pod_set_assignment.flavors or {},
            requests_of(pod_set_assignment.resource_usage or {}),
            None
            if pod_set_assignment.topology_assignment is None
            else decode_assignment(pod_set_assignment.topology_assignment),
            pod_set_assignment.delayed_topology_request == "Pending",
        )
        for pod_set_assignment in (admission.pod_set_assignments if admission else None) or ()
    ]
