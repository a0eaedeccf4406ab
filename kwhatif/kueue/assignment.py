"""Flavors for the pod sets of a workload, and how well they fit.

Upstream: Assignment and PodSetAssignment in pkg/scheduler/flavorassigner/flavorassigner.go.
"""

from __future__ import annotations

import enum

import msgspec

from kwhatif.api.kueue_topology import TopologyAssignment
from kwhatif.kueue.amounts import Quantities, Requests, add
from kwhatif.kueue.topology.flavor_topology import PlacementResults
from kwhatif.kueue.topology.pod_set_request import TopologyRequests
from kwhatif.kueue.workload import DomainUse, PodSetAdmission, ScanProgress, Usage, Workload


class Mode(enum.IntEnum):
    """How a flavor could be assigned, the worst first."""

    NO_FIT = 0
    PREEMPT = 1
    FIT = 2

    @property
    def text(self) -> str:
        return ("NoFit", "Preempt", "Fit")[self]


class FlavorChoice(msgspec.Struct):
    """A flavor for a resource. Pod sets of one group share it. ``tried`` is -1 after the last flavor."""

    name: str
    mode: Mode
    borrowing_level: int
    tried: int = 0


class PodSetChoice(msgspec.Struct):
    """What was found for a pod set, and why it does not fit."""

    name: str
    count: int
    requests: Requests
    flavors: dict[str, FlavorChoice] = {}
    reasons: list[str] = []
    error: str = ""
    topology: TopologyAssignment | None = None
    topology_flavor: str = ""
    is_delayed: bool = False

    @property
    def mode(self) -> Mode:
        if self.error:
            return Mode.NO_FIT
        if not self.reasons:
            return Mode.FIT
        if not self.flavors:
            return Mode.NO_FIT
        return min(flavor.mode for flavor in self.flavors.values())

    @property
    def has_failed(self) -> bool:
        return bool(self.error or (self.requests and not self.flavors))

    def as_admission(self) -> PodSetAdmission:
        """Only resources with a flavor count."""
        flavors = {resource: flavor.name for resource, flavor in self.flavors.items()}
        usage = {resource: amount for resource, amount in self.requests.items() if resource in flavors}
        return PodSetAdmission(self.name, self.count, flavors, usage, self.topology, self.is_delayed)


class Assignment:
    """The flavors of all pod sets. Pod sets after one for which there is no flavor are missing.

    ``topology`` is what they want of the topologies of their flavors, ``when_empty`` where they would go in an empty
    cluster, which is looked for if others have to leave.
    """

    def __init__(self, workload: Workload, generation: int, cycle: int) -> None:
        self.workload = workload
        self.pod_sets: list[PodSetChoice] = []
        self.borrowing_level = 0
        self.quota: Quantities = {}
        self.progress = ScanProgress([], generation, cycle)
        self.topology: TopologyRequests = {}
        self.when_empty: PlacementResults = {}
        self._mode: Mode | None = None
        self._usage: Usage | None = None

    def append(self, choice: PodSetChoice) -> None:
        self.pod_sets.append(choice)
        self._usage = None
        tried: dict[str, int] = {}
        for resource, flavor in choice.flavors.items():
            self.borrowing_level = max(self.borrowing_level, flavor.borrowing_level)
            key = flavor.name, resource
            self.quota[key] = add(self.quota.get(key, 0), choice.requests.get(resource, 0))
            tried[resource] = flavor.tried
        self.progress.tried.append(tried)

    @property
    def mode(self) -> Mode:
        """The worst of the pod sets, unless the topology has said another one since."""
        if not self.pod_sets:
            return Mode.NO_FIT
        if self._mode is None:
            self._mode = min(pod_set.mode for pod_set in self.pod_sets)
        return self._mode

    def set_mode(self, pod_set: str, mode: Mode) -> None:
        choice = self.choice_of(pod_set)
        for flavor in choice.flavors.values():
            flavor.mode = mode
        self._mode = mode

    def fail(self, choice: PodSetChoice, error: str) -> None:
        choice.error = error
        self._mode = None

    def put_topology(self, placed: PlacementResults) -> None:
        """Write where the pods would go into their pod sets."""
        self._usage = None
        for name, place in placed.items():
            self.choice_of(name).topology = None if isinstance(place, str) else place

    def choice_of(self, pod_set: str) -> PodSetChoice:
        return next(filter(lambda choice: choice.name == pod_set, self.pod_sets))

    @property
    def message(self) -> str:
        """Why it does not fit, in Kueue's words; nothing if it does."""
        parts = []
        for pod_set in self.pod_sets:
            if pod_set.error:
                return f"failed to assign flavors to pod set {pod_set.name}: {pod_set.error}"
            if pod_set.reasons:
                parts.append(f"couldn't assign flavors to pod set {pod_set.name}: {', '.join(sorted(pod_set.reasons))}")
        return "; ".join(parts)

    @property
    def needs_preemption(self) -> frozenset[tuple[str, str]]:
        """Flavors and resources that others would have to leave."""
        return frozenset(
            (flavor.name, resource)
            for pod_set in self.pod_sets
            for resource, flavor in pod_set.flavors.items()
            if flavor.mode is Mode.PREEMPT
        )

    @property
    def preemptor_quota(self) -> Quantities:
        """What the workload needs when others have left: its own requests, without the count of its pods.

        Upstream: TotalRequestsFor.
        """
        amounts: Quantities = {}
        for choice, own in zip(self.pod_sets, self.workload.total_requests, strict=False):
            for resource, amount in own.scale(choice.count).requests.items():
                if amount and (flavor := choice.flavors.get(resource)) is not None:
                    key = flavor.name, resource
                    amounts[key] = add(amounts.get(key, 0), amount)
        return amounts

    @property
    def usage(self) -> Usage:
        """What it would use: quota, and room in the domains where pods would go (upstream: ComputeTASNetUsage)."""
        if self._usage is None:
            self._usage = Usage(self.quota, self._domain_uses())
        return self._usage

    def _domain_uses(self) -> dict[str, list[DomainUse]]:
        own = self._pod_requests()
        domains: dict[str, list[DomainUse]] = {}
        for pod_set in self.pod_sets:
            if pod_set.topology is not None:
                uses = [DomainUse(values, own[pod_set.name], count) for values, count in pod_set.topology.domains]
                domains.setdefault(pod_set.topology_flavor, []).extend(uses)
        return domains

    def _pod_requests(self) -> dict[str, Requests]:
        names = (pod_set.name for pod_set in self.workload.pod_sets)
        return dict(zip(names, self.workload.pod_requests, strict=True))
