"""The search for flavors: resource by resource, flavor by flavor in the order of the ClusterQueue.

Upstream: pkg/scheduler/flavorassigner/flavorassigner.go and tas_flavorassigner.go.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kwhatif.api.kueue import WorkloadPodSet
from kwhatif.kueue.amounts import (
    UNLIMITED,
    FlavorResource,
    Requests,
    add,
    limit_text,
    quantity_text,
    sort_requests,
    subtract,
    sum_requests,
)
from kwhatif.kueue.assignment import Assignment, FlavorChoice, Mode, PodSetChoice
from kwhatif.kueue.cluster_queue import NEVER, TRY_NEXT, ClusterQueue, Fungibility, Group
from kwhatif.kueue.flavor_match import FlavorMatcher, is_topology_implied, is_topology_requested
from kwhatif.kueue.pod_amounts import PodSetRequests
from kwhatif.kueue.topology.flavor_topology import PlacementResults
from kwhatif.kueue.topology.pod_set_request import PodSetTopologyRequest, TopologyRequests
from kwhatif.kueue.workload import Workload

_PODS = "pods"


class PreemptionMode(enum.IntEnum):
    """How a flavor could be had, the worst first: by nothing, by preemption if only somebody were a candidate, by
    preempting workloads of the own queue, by reclaiming quota of others, or at once.
    """

    NO_FIT = 0
    NO_PREEMPTION_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def mode(self) -> Mode:
        return _MODES[self]


_MODES = (Mode.NO_FIT, Mode.PREEMPT, Mode.PREEMPT, Mode.PREEMPT, Mode.FIT)
"""By ``PreemptionMode``."""


class GranularMode(NamedTuple):
    """How good a flavor is: how it could be had, and the height of the subtree that it borrows from (0: its own)."""

    preemption_mode: PreemptionMode
    borrowing_level: int


_BEST, _WORST = GranularMode(PreemptionMode.FIT, 0), GranularMode(PreemptionMode.NO_FIT, UNLIMITED)


class Oracle(Protocol):
    """Says what preemption could do for a resource in a flavor, and keeps what is known of a queue's tree."""

    def memo_of(self, queue: ClusterQueue, flavors: frozenset[str]) -> dict[Hashable, Any]: ...

    def simulate(self, queue: ClusterQueue, workload: Workload, key: FlavorResource, amount: int) -> GranularMode: ...


class FlavorAssigner:
    """One search for one workload. ``pinned`` are the flavors to stay with, by pod set and resource."""

    def __init__(
        self,
        workload: Workload,
        queue: ClusterQueue,
        flavors: FlavorMatcher,
        oracle: Oracle,
        *,
        cycle: int,
        fair: bool,
        ignores_undeclared: bool,
        pinned: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._workload, self._queue, self._flavors, self._oracle = workload, queue, flavors, oracle
        self._cycle, self._ignores_undeclared, self._pinned = cycle, ignores_undeclared, pinned
        preemption = queue.preemption
        self._may_preempt_while_borrowing = preemption.borrow_within_cohort or (
            fair and preemption.reclaim_within_cohort != NEVER
        )

    def assign(self, counts: Sequence[int] | None = None) -> Assignment:
        """Flavors for all pod sets; ``counts`` for fewer pods than they would have."""
        assignment = Assignment(self._workload, self._queue.generation, self._cycle)
        totals = self._workload.total_requests
        if counts is not None:
            totals = tuple(total.scale(count) for total, count in zip(totals, counts, strict=True))
        totals = tuple(map(self._with_pods, totals))
        for members in _groups_of(self._workload.pod_sets):
            if not self._assign_group(assignment, members, totals):
                return assignment
        if assignment.mode is not Mode.NO_FIT:
            self._assign_topology(assignment)
        return assignment

    def _with_pods(self, total: PodSetRequests) -> PodSetRequests:
        if self._queue.group_of(_PODS) is None:
            return total
        return PodSetRequests(total.name, total.count, sort_requests({**total.requests, _PODS: total.count}))

    def _assign_group(self, assignment: Assignment, members: Sequence[int], totals: Sequence[PodSetRequests]) -> bool:
        """Flavors for pod sets that go together; False if there are none."""
        requests = totals[members[0]].requests
        if len(members) > 1:
            requests = sum_requests(totals[index].requests for index in members)
        flavors: dict[str, FlavorChoice] | None = {}
        reasons: list[str] = []
        for resource, amount in requests.items():
            assert flavors is not None
            if self._queue.group_of(resource) is None and (not amount or self._ignores_undeclared):
                continue
            if resource in flavors:
                continue
            chosen, why = self._find_flavor(members, requests, resource, assignment)
            if not chosen:
                flavors, reasons = None, why
                break
            flavors |= chosen
            reasons += why
        complete = True
        for index in members:
            total = totals[index]
            choice = PodSetChoice(total.name, total.count, total.requests, reasons=list(reasons))
            choice.flavors = self._flavors_of(index, total, flavors or {})
            assignment.append(choice)
            complete = complete and not choice.has_failed
        return complete

    def _flavors_of(
        self, member: int, total: PodSetRequests, flavors: dict[str, FlavorChoice]
    ) -> dict[str, FlavorChoice]:
        """Those of the group that the pod set asks for; one that asks for nothing goes where its group goes."""
        if total.requests:
            return {resource: choice for resource, choice in flavors.items() if resource in total.requests}
        request = self._workload.pod_sets[member].topology_request
        if request is None or request.pod_set_group_name is None:
            return {}
        return {resource: choice for resource, choice in flavors.items() if choice.name in self._queue.topologies}

    # --- one resource

    def _find_flavor(
        self, members: Sequence[int], requests: Requests, resource: str, assignment: Assignment
    ) -> tuple[dict[str, FlavorChoice], list[str]]:
        """The best flavor for all resources that come with this one, and why it, or those before it, do not fit."""
        group = self._queue.group_of(resource)
        if group is None:
            return {}, [f"resource {resource} unavailable in ClusterQueue"]
        covered = {name: amount for name, amount in requests.items() if name in group.covered}
        best: dict[str, FlavorChoice] = {}
        best_mode = _WORST
        reasons: list[str] = []
        tried = -1
        progress = self._workload.progress
        first = progress.next_flavor(members[0], resource) if progress is not None else 0
        for index in range(first, len(group.flavors)):
            tried, name = index, group.flavors[index]
            if self._pinned is not None and not self._is_pinned(members, resource, name):
                reasons.append(
                    f"skipping flavor {name} as it is not found in the nomination mapping for resource {resource}"
                )
                continue
            if problem := self._flavor_problem(members, group, name):
                reasons.append(problem)
                continue
            choices, mode = self._assess_flavor(name, covered, assignment, reasons)
            if not _should_try_next(mode, self._queue.fungibility):
                best, best_mode = choices, mode
                break
            if _is_preferred(mode, best_mode, self._queue.fungibility):
                best, best_mode = choices, mode
        for choice in best.values():
            choice.tried = -1 if tried == len(group.flavors) - 1 else tried
        return best, [] if best_mode.preemption_mode is PreemptionMode.FIT else reasons

    def _is_pinned(self, members: Sequence[int], resource: str, flavor: str) -> bool:
        names = (self._workload.pod_sets[index].name for index in members)
        return any((self._pinned or {}).get(name, {}).get(resource) == flavor for name in names)

    def _flavor_problem(self, members: Sequence[int], group: Group, name: str) -> str:
        for index in members:
            if problem := self._flavors.problem(name, group, self._queue, self._workload, index):
                return problem
        return ""

    def _assess_flavor(
        self, flavor: str, requests: Requests, assignment: Assignment, reasons: list[str]
    ) -> tuple[dict[str, FlavorChoice], GranularMode]:
        """How the flavor could be had for all of these resources: as for the worst (upstream: representativeMode)."""
        choices: dict[str, FlavorChoice] = {}
        worst = _BEST
        memo = self._oracle.memo_of(self._queue, frozenset((flavor,)))
        modes = memo.setdefault(("modes", self._queue.name, self._queue.rank_of(self._workload)), {})
        for resource, amount in requests.items():
            key = flavor, resource
            asked = key, assignment.quota.get(key, 0), amount
            known = modes.get(asked)
            if known is None:
                known = modes[asked] = self._fits_resource_quota(*asked)
            mode, reason = known
            if reason:
                reasons.append(reason)
            if _is_preferred(worst, mode, self._queue.fungibility):
                worst = mode
            if worst.preemption_mode is not PreemptionMode.NO_FIT:
                choices[resource] = FlavorChoice(flavor, mode.preemption_mode.mode, mode.borrowing_level)
        return choices, worst

    def _fits_resource_quota(self, key: FlavorResource, assumed: int, amount: int) -> tuple[GranularMode, str]:
        """Upstream: fitsResourceQuota. ``assumed`` is what pod sets before this one use."""
        flavor, resource = key
        queue = self._queue
        total = add(assumed, amount)
        max_capacity = queue.potential_available(key)
        if total > max_capacity:
            return GranularMode(PreemptionMode.NO_FIT, 0), (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
                f"({limit_text(resource, assumed)}) + current podset request ({quantity_text(resource, amount)}) > "
                f"maximum capacity ({limit_text(resource, max_capacity)})"
            )
        available = queue.free_quota(key)
        height, may_reclaim = queue.borrowing_height(key, total)
        if total <= available:
            return GranularMode(PreemptionMode.FIT, height), ""
        missing = limit_text(resource, subtract(total, available))
        reason = f"insufficient unused quota for {resource} in flavor {flavor}, {missing} more needed"
        if queue.quota(key).nominal >= total or may_reclaim or self._may_preempt_while_borrowing:
            return self._oracle.simulate(queue, self._workload, key, total), reason
        return GranularMode(PreemptionMode.NO_FIT, height), reason

    # --- the topology

    def _assign_topology(self, assignment: Assignment) -> None:
        requests = assignment.topology = _topology_requests(assignment, self._queue)
        if assignment.mode is Mode.FIT:
            placed = self._queue.place(requests)
            failed = first_failure(placed)
            if failed is None:
                assignment.put_topology(placed)
            else:
                assignment.choice_of(failed).reasons.append(str(placed[failed]))
                assignment.set_mode(failed, Mode.PREEMPT)
        if assignment.mode is Mode.PREEMPT:
            assignment.when_empty = self._queue.place(requests, empty=True)
            failed = first_failure(assignment.when_empty)
            if failed is not None:
                assignment.set_mode(failed, Mode.NO_FIT)
            else:
                # Quota may be there and room as well, only in too many pieces.
                for request in (
                    pod_set_topology_request
                    for of_flavor in requests.values()
                    for pod_set_topology_request in of_flavor
                ):
                    assignment.set_mode(request.pod_set.name, Mode.PREEMPT)


def _groups_of(pod_sets: Sequence[WorkloadPodSet]) -> Iterable[Sequence[int]]:
    """The pod sets, by index, that share a flavor: those of one group for the topology, each other one by itself."""
    if len(pod_sets) == 1:
        return ((0,),)
    groups: dict[str, list[int]] = {}
    for index, pod_set in enumerate(pod_sets):
        request = pod_set.topology_request
        group = request.pod_set_group_name if request else None
        groups.setdefault(str(index) if group is None else group, []).append(index)
    return groups.values()


def _should_try_next(mode: GranularMode, fungibility: Fungibility) -> bool:
    if mode.preemption_mode in (PreemptionMode.NO_FIT, PreemptionMode.NO_PREEMPTION_CANDIDATES):
        return True
    if (
        mode.preemption_mode in (PreemptionMode.PREEMPT, PreemptionMode.RECLAIM)
        and fungibility.when_can_preempt == TRY_NEXT
    ):
        return True
    return mode.borrowing_level != 0 and fungibility.when_can_borrow == TRY_NEXT


def _is_preferred(left: GranularMode, right: GranularMode, fungibility: Fungibility) -> bool:
    """Whether the left one is better."""
    if left == right:
        return False
    if left.preemption_mode is PreemptionMode.NO_FIT or right.preemption_mode is PreemptionMode.NO_FIT:
        return left.preemption_mode is not PreemptionMode.NO_FIT
    # Preemption without candidates gives nothing now, however little it would borrow.
    in_vain = right.preemption_mode is PreemptionMode.NO_PREEMPTION_CANDIDATES
    if (left.preemption_mode is PreemptionMode.NO_PREEMPTION_CANDIDATES) != in_vain:
        return in_vain
    if fungibility.prefers_preemption and left.borrowing_level != right.borrowing_level:
        return left.borrowing_level < right.borrowing_level
    if left.preemption_mode != right.preemption_mode:
        return left.preemption_mode > right.preemption_mode
    return left.borrowing_level < right.borrowing_level


def _topology_requests(assignment: Assignment, queue: ClusterQueue) -> TopologyRequests:
    """What the pod sets want of the topologies of their flavors (upstream: WorkloadsTopologyRequests).

    A pod set whose flavors have no topology, or several, fails for it.
    """
    requests: TopologyRequests = {}
    workload = assignment.workload
    for counted in workload.counted:
        pod_set = counted.pod_set
        if not is_topology_requested(pod_set, queue):
            continue
        choice = assignment.choice_of(pod_set.name)
        if choice.error or not choice.count or choice.topology is not None:
            continue
        if not queue.topologies:
            assignment.fail(choice, "workload requires Topology, but there is no TAS cache information")
            continue
        flavors = sorted({flavor.name for flavor in choice.flavors.values()} & queue.topologies.keys())
        if len(flavors) != 1:
            several = f"more than one TAS flavor assigned: {', '.join(flavors)}"
            assignment.fail(choice, several if flavors else "no TAS flavor assigned")
            continue
        choice.topology_flavor = flavors[0]
        if queue.is_multi_cluster or flavors[0] in queue.delayed_flavors:
            # The topology is assigned once the nodes are there, or in the other cluster.
            choice.is_delayed = True
            continue
        implied = is_topology_implied(pod_set, queue)
        request = PodSetTopologyRequest(counted, choice.count, flavors[0], implied)
        requests.setdefault(flavors[0], []).append(request)
    return requests


def first_failure(placed: PlacementResults) -> str | None:
    """The first pod set by name that found no place; upstream takes any."""
    return min((name for name, place in placed.items() if isinstance(place, str)), default=None)
