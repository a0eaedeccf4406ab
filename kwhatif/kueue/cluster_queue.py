"""A ClusterQueue as the scheduler sees it: its flavors in order, its policies, and the workloads that hold its quota.

Upstream: pkg/cache/scheduler/clusterqueue.go and clusterqueue_snapshot.go.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from kwhatif.api import kueue as api
from kwhatif.kueue.amounts import FlavorResource, subtract
from kwhatif.kueue.namespace_selectors import readable_selector
from kwhatif.kueue.quota_tree import CohortNode, QuotaNode
from kwhatif.kueue.topology.flavor_topology import Assumed, FlavorTopology, PlacementResults
from kwhatif.kueue.topology.pod_set_request import TopologyRequests
from kwhatif.kueue.workload import Usage, Workload, copy_workloads

NEVER, ANY = "Never", "Any"
LOWER_PRIORITY, LOWER_OR_NEWER = "LowerPriority", "LowerOrNewerEqualPriority"
STRICT, BEST_EFFORT = "StrictFIFO", "BestEffortFIFO"
TRY_NEXT, MAY_STOP = "TryNextFlavor", "MayStopSearch"
_MULTIKUEUE, _PROVISIONING = "kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/provisioning-request"


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Resources that come in the same flavor, and the flavors in the order in which they are tried.

    Made by ``group_for``, so that equal ones of many ClusterQueues are the same.
    """

    covered: frozenset[str]
    flavors: tuple[str, ...]


@lru_cache(maxsize=1 << 12)
def group_for(covered: frozenset[str], flavors: tuple[str, ...]) -> Group:
    return Group(covered, flavors)


@dataclass(frozen=True, slots=True)
class Preemption:
    """Who may be preempted. Without ``borrow_within_cohort`` nobody is while the preemptor would borrow."""

    within_cluster_queue: str = NEVER
    reclaim_within_cohort: str = NEVER
    borrow_within_cohort: bool = False
    max_priority_threshold: int | None = None


@dataclass(frozen=True, slots=True)
class Fungibility:
    """When the search for a flavor goes on although one would do."""

    when_can_borrow: str = MAY_STOP
    when_can_preempt: str = TRY_NEXT
    prefers_preemption: bool = False


class ClusterQueue(QuotaNode):
    """A ClusterQueue. ``generation`` counts what may have made room; ``topologies`` are those of its flavors."""

    def __init__(self, source: api.ClusterQueue) -> None:
        spec = source.spec
        super().__init__(source.name, spec.resource_groups or (), spec.fair_sharing)
        self.source = source
        self.groups = tuple(
            group_for(
                frozenset(resource_group.covered_resources or ()),
                tuple(flavor.name for flavor in resource_group.flavors or ()),
            )
            for resource_group in spec.resource_groups or ()
        )
        self._group_of = {resource: group for group in reversed(self.groups) for resource in group.covered}
        self.preemption = _preemption_of(spec.preemption)
        self.fungibility = _fungibility_of(spec.flavor_fungibility)
        self.strategy = spec.queueing_strategy or BEST_EFFORT
        self.selector = readable_selector(
            spec.namespace_selector, f"ClusterQueue {source.name}", "spec.namespaceSelector"
        )
        everything = frozenset(flavor for group in self.groups for flavor in group.flavors)
        self.checks = {name: frozenset(flavors) or everything for name, flavors in spec.checks.items()}
        self.flavors = everything
        self.workloads: dict[str, Workload] = {}
        self.generation = 1
        self.inactive_reason: tuple[str, str] | None = None
        self.is_in_circle = False
        self.lacks_topology = False
        self.topologies: dict[str, FlavorTopology] = {}
        self.has_only_topologies = False
        self.delayed_flavors: frozenset[str] = frozenset()
        self.provisioning: frozenset[str] = frozenset()
        self.is_multi_cluster = False

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = super().__deepcopy__(memo)
        made.workloads, made.topologies = copy_workloads(self.workloads, memo), copy.deepcopy(self.topologies, memo)
        return made

    @property
    def is_active(self) -> bool:
        return self.inactive_reason is None

    @property
    def is_skipped(self) -> bool:
        """Whether the scheduler leaves it out although it is active (upstream: skipInactiveCQReason)."""
        return self.is_in_circle or self.lacks_topology

    def rank_of(self, preemptor: Workload) -> tuple[int, int]:
        """What of a preemptor decides whom its queue's policies let it preempt."""
        by_age = LOWER_OR_NEWER in (self.preemption.within_cluster_queue, self.preemption.reclaim_within_cohort)
        return preemptor.priority, preemptor.queue_time if by_age else 0

    @property
    def path(self) -> str:
        """From the root to here, as messages have it."""
        return "/" + "/".join([*(node.name for node in reversed([*self.ancestors])), self.name])

    def group_of(self, resource: str) -> Group | None:
        return self._group_of.get(resource)

    def set_up(
        self,
        flavors: Mapping[str, api.ResourceFlavor],
        topologies: Mapping[str, FlavorTopology],
        checks: Mapping[str, api.AdmissionCheck],
    ) -> None:
        """Find what it refers to, and whether it is active (upstream: updateQueueStatus, inactiveReason)."""
        named = [flavor for group in self.groups for flavor in group.flavors]
        tas = {name: flavors[name].spec.topology_name for name in named if name in flavors}
        self.has_only_topologies = all(tas.get(name) is not None for name in named)
        self.topologies = {name: topologies[name] for name in named if name in topologies}
        self.lacks_topology = any(topology is not None and name not in topologies for name, topology in tas.items())
        by_controller: dict[str, list[str]] = {}
        for name in sorted(self.checks):
            if name in checks:
                by_controller.setdefault(checks[name].spec.controller_name, []).append(name)
        remote, provisioning = by_controller.get(_MULTIKUEUE, []), by_controller.get(_PROVISIONING, [])
        self.is_multi_cluster = bool(remote)
        self.provisioning = frozenset(provisioning)
        self.delayed_flavors = frozenset().union(*(self.checks[name] for name in provisioning))
        if self.source.metadata.deletion_timestamp:
            self.inactive_reason = "Terminating", "Can't admit new workloads; clusterQueue is terminating"
            return
        problems: list[tuple[str, str]] = []
        if self.source.spec.is_stopped:
            problems.append(("Stopped", "is stopped"))
        if missing := [name for name in named if name not in flavors]:
            problems.append(("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}"))
        if missing := sorted(self.checks.keys() - checks.keys()):
            problems.append(("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(missing)}"))
        if inactive := sorted(name for name in self.checks if name in checks and not checks[name].active):
            problems.append(("AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(inactive)}"))
        problems += self._remote_problems(remote, provisioning)
        # With MultiKueue the topologies are those of other clusters: the queue is active, and yet nobody is let in.
        if not remote or problems:
            problems += [
                ("TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{name}"')
                for name, topology in sorted(tas.items())
                if topology is not None and name not in topologies
            ]
        if problems:
            said = ", ".join(message for _, message in problems)
            self.inactive_reason = problems[0][0], f"Can't admit new workloads: {said}."

    def _remote_problems(self, remote: Sequence[str], provisioning: Sequence[str]) -> list[tuple[str, str]]:
        problems = []
        if len(remote) > 1:
            message = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "
            problems.append(("MultipleMultiKueueAdmissionChecks", message + ",".join(remote)))
        if partial := [name for name in remote if self.checks[name] != self.flavors]:
            message = f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {','.join(partial)}"
            problems.append(("MultiKueueAdmissionCheckAppliedPerFlavor", message))
        if remote and provisioning:
            message = "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: "
            problems.append(
                ("MultiKueueWithProvisioningRequest", f"{message}{','.join(remote)}, {','.join(provisioning)}")
            )
        return problems

    # --- what is used

    def count(self, usage: Usage) -> None:
        for key, amount in usage.quota.items():
            self.add_usage(key, amount)
        for flavor, uses in usage.topology.items():
            if (topology := self.topologies.get(flavor)) is not None:
                topology.count(uses, 1)

    def discount(self, usage: Usage) -> None:
        for key, amount in usage.quota.items():
            self.remove_usage(key, amount)
        for flavor, uses in usage.topology.items():
            if (topology := self.topologies.get(flavor)) is not None:
                topology.count(uses, -1)

    def add_workload(self, workload: Workload, *, with_topology: bool = True) -> None:
        self.workloads[workload.key] = workload
        self.count(workload.usage if with_topology else workload.usage.without_topology)

    def remove_workload(self, workload: Workload, *, with_topology: bool = True) -> None:
        del self.workloads[workload.key]
        self.discount(workload.usage if with_topology else workload.usage.without_topology)

    def free_quota(self, key: FlavorResource) -> int:
        """What may be used right now; none where more is used than there is."""
        return max(0, self.available(key))

    def has_quota_for(self, usage: Usage) -> bool:
        return all(self.free_quota(key) >= amount for key, amount in usage.quota.items())

    def has_room_for(self, usage: Usage) -> bool:
        """Whether the domains still have room; the number of pods is not looked at, as upstream has it."""
        return all(self.topologies[flavor].fits(uses) for flavor, uses in usage.topology.items())

    def is_borrowing(self, keys: frozenset[FlavorResource]) -> bool:
        return self.parent is not None and any(self.is_borrowing_with(key, 0) for key in keys)

    def borrowing_height(self, key: FlavorResource, amount: int) -> tuple[int, bool]:
        """The height of the smallest subtree that has so much more, and whether there is a larger one.

        Upstream: FindHeightOfLowestSubtreeThatFits in pkg/scheduler/preemption/classical.
        """
        if self.parent is None or not self.is_borrowing_with(key, amount):
            return 0, self.parent is not None
        rest = subtract(amount, self.local_available(key))
        root = self.parent
        for node in self.ancestors:
            if not node.is_borrowing_with(key, rest):
                return height_of(node), node.parent is not None
            rest = subtract(rest, node.local_available(key))
            root = node
        return height_of(root), False

    def place(self, requests: TopologyRequests, *, empty: bool = False) -> PlacementResults:
        """Where the pods would go, by pod set (upstream: FindTopologyAssignmentsForWorkload).

        Flavors whose lowest level is the node share what is assumed, since they may share nodes.
        """
        if len(requests) == 1:
            ((flavor, alone),) = requests.items()
            return self.topologies[flavor].place(alone, None if len(alone) == 1 else {}, empty=empty)
        shared: Assumed = {}
        placements: PlacementResults = {}
        for flavor in sorted(requests):
            topology = self.topologies[flavor]
            assumed = shared if topology.tree.ends_in_nodes else {}
            placements.update(topology.place(requests[flavor], assumed, empty=empty))
        return placements


def height_of(cohort: CohortNode) -> int:
    """The distance to the furthest leaf, of those that are active."""
    height = 1 if cohort.cohorts or active_members(cohort) else 0
    return max([height, *(height_of(child) + 1 for child in cohort.cohorts)])


def active_members(cohort: CohortNode) -> tuple[ClusterQueue, ...]:
    """The active ClusterQueues right below; found once, since that does not change in the course of a run."""
    if cohort.active_members is None:
        active = (member for member in cohort.members if isinstance(member, ClusterQueue) and member.is_active)
        cohort.active_members = tuple(active)
    return cohort.active_members


def active_queues(cohort: CohortNode) -> list[ClusterQueue]:
    """All active ClusterQueues of a subtree."""
    queues = [*active_members(cohort)]
    for child in cohort.cohorts:
        queues += active_queues(child)
    return queues


def _preemption_of(spec: api.ClusterQueuePreemption | None) -> Preemption:
    if spec is None:
        return Preemption()
    borrow = spec.borrow_within_cohort
    allowed = borrow is not None and (borrow.policy or NEVER) != NEVER
    return Preemption(
        spec.within_cluster_queue or NEVER,
        spec.reclaim_within_cohort or NEVER,
        allowed,
        borrow.max_priority_threshold if borrow is not None and allowed else None,
    )


def _fungibility_of(spec: api.FlavorFungibility | None) -> Fungibility:
    """``Borrow`` and ``Preempt`` are v1beta1's words for a search that stops."""
    if spec is None:
        return Fungibility()
    old = {"Borrow": MAY_STOP, "Preempt": MAY_STOP}
    borrow, preempt = spec.when_can_borrow or MAY_STOP, spec.when_can_preempt or TRY_NEXT
    return Fungibility(old.get(borrow, borrow), old.get(preempt, preempt), spec.preference == "PreemptionOverBorrowing")
