"""A pod's device claims in one scheduling cycle, and the devices they get on each node.

Upstream: plugins/dynamicresources (dynamicresources.go, claims.go, extendeddynamicresources.go) and
dynamic-resource-allocation/resourceclaim/resourceclaim.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from uuid import NAMESPACE_OID, uuid5

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import ExtendedResourceClaimStatus, ExtendedResourceRequest
from kwhatif.api.devices import (
    EXTENDED_CLAIM,
    IMPLICIT_RESOURCE,
    Allocation,
    ClaimStatus,
    ResourceClaim,
)
from kwhatif.api.meta import ObjectMeta, OwnerReference
from kwhatif.cluster.claim_store import consumer_of
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import is_extended
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.devices.claim_outcomes import ClaimOutcomes, Ledger, plan_of
from kwhatif.devices.claim_results import allocations, requests_of
from kwhatif.devices.claim_shortages import describe_shortages
from kwhatif.devices.inventory import Inventory, nodes_of
from kwhatif.plugins.shared.node_resources import nodes_with

ALTERNATIVES_AT_MOST = 8
IN_MEMORY = "<extended-resources>"
"""What upstream calls the claim for extended resources until it is written."""


class Group(msgspec.Struct, frozen=True, eq=False):
    """Nodes (``where`` bool[N]) that the same claims are to be allocated for, and the outcomes.

    ``mappings`` say which container gets what of the claim behind extended resources, the last of ``claims``.
    """

    where: BoolArray
    claims: list[ResourceClaim]
    answers: ClaimOutcomes
    mappings: tuple[ExtendedResourceRequest, ...] = ()


class ClaimsOfPod:
    """The claims of one pod in one scheduling cycle.

    claims      those it names, then the ``special`` one behind its extended resources
    pending     by identity, what other pods of the group have reserved of them in the same cycle
    filtered    whether Filter has run, which a profile may leave out
    reserved    whether Reserve has run; ``allocated``, by identity, is what it allocated for them
    """

    def __init__(self, pod: PodInfo, cluster: Cluster, named: list[ResourceClaim]) -> None:
        self.pod, self.cluster = pod, cluster
        self.named = named
        pending = ((claim, cluster.devices.pending_allocation(claim)) for claim in named)
        self.pending = {claim.identity: allocation for claim, allocation in pending if allocation is not None}
        self.special = self._special()
        self.claims = [*named, *([self.special] if self.special else [])]
        self.allocated: dict[str, Allocation] = {}
        self.created: ResourceClaim | None = None
        self.filtered = self.reserved = False
        self._chosen: tuple[int, list[tuple[ResourceClaim, Allocation]]] | None = None

    def forget_nodes(self) -> None:
        """Drop per-node data: once the pod is bound, only its claims matter."""
        for name, attribute in vars(type(self)).items():
            if isinstance(attribute, cached_property):
                self.__dict__.pop(name, None)

    @property
    def inventory(self) -> Inventory:
        return Inventory.for_cluster(self.cluster)

    @cached_property
    def to_allocate(self) -> list[ResourceClaim]:
        """Claims without an allocation, recorded or pending; the special one is not among them."""
        return [c for c in self.named if c.status.allocation is None and c.identity not in self.pending]

    # --- extended resources

    @cached_property
    def _extended_resources(self) -> dict[str, int]:
        """What the pod asks for of resources that device plugins or classes serve."""
        return {
            name: amount
            for name, amount in self.pod.shape.requests.items()
            if amount and (is_extended(name) or (name.startswith(IMPLICIT_RESOURCE) and self._reuse))
        }

    @property
    def _reuse(self) -> bool:
        return self.cluster.devices.features.extended_resources_reuse_devices

    def _special(self) -> ResourceClaim | None:
        """The claim for extended resources: left over from an earlier try, or a new one without requests."""
        devices = self.cluster.devices
        if not devices.serving or not any(name in devices.serving for name in self._extended_resources):
            return None
        claim = devices.extended_claim(self.pod.pod)
        if claim is not None:
            return claim
        owner = OwnerReference(
            api_version="v1", kind="Pod", name=self.pod.pod.metadata.name, uid=self.pod.uid, controller=True
        )
        meta = ObjectMeta(
            name=IN_MEMORY,
            namespace=self.pod.shape.namespace,
            uid=f"{self.pod.uid}/extended-resources",
            annotations={EXTENDED_CLAIM: "true"},
            owner_references=[owner],
        )
        return ResourceClaim(api_version="resource.k8s.io/v1", kind="ResourceClaim", metadata=meta)

    @property
    def stale(self) -> bool:
        """Whether the special claim is left over, which keeps the pod from all nodes until it is deleted."""
        return self.special is not None and self.special.spec.devices.requests is not None

    @cached_property
    def _by_devices(self) -> dict[str, BoolArray]:
        """Extended resource -> bool[N]: nodes where devices have to serve it, since no device plugin does."""
        served = self.cluster.devices.serving
        by_name = {}
        for name in self._extended_resources:
            if name in served:
                has = nodes_with(self.cluster, name) if not self._reuse else self._column(name) > 0
                by_name[name] = ~has
        return by_name

    def _column(self, name: str) -> Int64Array:
        return self.cluster.shapes.resources.amounts(self.cluster.columns.allocatable, name)

    @cached_property
    def lacks_extended_resource(self) -> BoolArray:
        """bool[N]: nodes that lack an extended resource which no class serves."""
        mask = np.zeros(len(self.cluster), np.bool_)
        if self.special is not None:
            for name in self._extended_resources:
                if name not in self.cluster.devices.serving:
                    mask |= ~nodes_with(self.cluster, name)
        return mask

    @cached_property
    def served_by_device_plugins(self) -> BoolArray:
        """bool[N]: nodes where device plugins serve all there is, and nothing is left to do."""
        mask = np.full(len(self.cluster), self.special is not None and not self.named, np.bool_)
        for where in self._by_devices.values():
            mask &= ~where
        return mask

    # --- allocated claims

    @cached_property
    def allocated_claims(self) -> list[tuple[ResourceClaim, BoolArray]]:
        """Allocated claims, and bool[N]: nodes where they are not available."""
        return [(claim, self._away(claim)) for claim in self.claims if claim.status.allocation is not None]

    def _away(self, claim: ResourceClaim) -> BoolArray:
        allocation, size = claim.status.allocation, len(self.cluster)
        assert allocation is not None
        away: BoolArray = np.zeros(size, np.bool_)
        if allocation.node_selector is not None:
            away = ~nodes_of(self.cluster.columns, allocation.node_selector)
        features = self.cluster.devices.features
        if features.binding_conditions and _has_binding_failure(claim):
            away = np.ones(size, np.bool_)
        return away

    @cached_property
    def lacks_allocated_claim(self) -> BoolArray:
        """bool[N]: nodes where some allocated claim is not available."""
        mask = np.zeros(len(self.cluster), np.bool_)
        for _, away in self.allocated_claims:
            mask |= away
        return mask

    # --- claims to be allocated

    @cached_property
    def _layout(self) -> list[tuple[BoolArray, list[ResourceClaim], tuple[ExtendedResourceRequest, ...]]]:
        everywhere = np.ones(len(self.cluster), np.bool_)
        if self.special is None:
            return [(everywhere, self.to_allocate, ())] if self.to_allocate else []
        layout = []
        names = sorted(self._by_devices)
        code = np.zeros(len(self.cluster), np.int64)
        for bit, name in enumerate(names):
            code |= self._by_devices[name].astype(np.int64) << bit
        for value in np.unique(code).tolist():
            resources = [name for bit, name in enumerate(names) if value >> bit & 1]
            spec, mappings = requests_of(
                self.pod.shape.spec, resources, self.cluster.devices.serving, reuse=self._reuse
            )
            claims = [*self.to_allocate, replace(self.special, spec=spec)]
            layout.append((code == value, claims, mappings))
        return layout

    def groups(self) -> Iterator[Group]:
        """What there is to allocate, as things stand."""
        for where, claims, mappings in self._layout:
            plan = plan_of(self.cluster, [claim.spec for claim in claims])
            yield Group(where, claims, ClaimOutcomes.for_plan(self.cluster, plan), mappings)

    def group_of(self, row: int) -> Group | None:
        """What there is to allocate on one node; None for nothing."""
        if self.served_by_device_plugins[row]:
            return None
        return next((group for group in self.groups() if group.where[row]), None)

    def allocate(self, row: int) -> list[tuple[ResourceClaim, Allocation]]:
        """The allocation of each claim that needs one; the same when called again in the same cycle."""
        if self._chosen is None or self._chosen[0] != row:
            self._chosen = row, self._allocate(row)
        return self._chosen[1]

    def _allocate(self, row: int) -> list[tuple[ResourceClaim, Allocation]]:
        own = self._allocate_own(row)
        if not self.pending:
            return own
        # What is on its way comes last, whatever the order of the claims: upstream then mixes them up.
        results = [*(allocation for _, allocation in own), *self.pending.values()]
        open_claims = [claim for claim in self.named if claim.status.allocation is None]
        own_special = [
            claim
            for claim, _ in own
            if claim.identity not in {resource_claim.identity for resource_claim in self.named}
        ]
        return list(zip([*open_claims, *own_special], results, strict=False))

    def _allocate_own(self, row: int) -> list[tuple[ResourceClaim, Allocation]]:
        group = self.group_of(row)
        if group is None:
            return []
        devices = self.cluster.devices
        outcome = group.answers.outcomes[row]
        return list(
            zip(
                group.claims,
                allocations(self.inventory, row, outcome, group.claims, devices.features),
                strict=True,
            )
        )

    def create_special(self, row: int, allocation: Allocation) -> str:
        """Create the claim behind extended resources; returns the error, if there is one."""
        group = self.group_of(row)
        assert group is not None
        devices = self.cluster.devices
        if not group.mappings and self._reuse:
            return f"nil or empty request mappings, no update of pod {self.pod.key} ExtendedResourceClaimStatus"
        made = group.claims[-1]
        suffix = uuid5(NAMESPACE_OID, self.pod.uid).hex[:5]
        name = f"{self.pod.pod.metadata.name}-extended-resources-{suffix}"
        meta = replace(made.metadata, name=name, uid=f"{made.namespace}/{name}")
        status = ClaimStatus(allocation=allocation, reserved_for=[consumer_of(self.pod.pod)])
        devices.remove_pending_allocation(made, recorded=True)
        self.created = replace(made, metadata=meta, status=status)
        devices.put(self.created)
        claim_status = ExtendedResourceClaimStatus(request_mappings=list(group.mappings), resource_claim_name=name)
        status_of_pod = replace(self.pod.pod.status, extended_resource_claim_status=claim_status)
        self.pod.pod = replace(self.pod.pod, status=status_of_pod)
        return ""

    # --- in words

    def describe_shortages(self, nodes: NodeView, group: Group) -> Callable[[int], str]:
        """Place -> why the claims cannot be had there."""

        def detail(place: int) -> str:
            return describe_shortages(
                group.answers.plan, Ledger.for_cluster(self.cluster), nodes.row(place), group.claims
            )

        return detail

    def describe_claim_locations(self, nodes: NodeView) -> Callable[[int], str]:
        """Place -> where the claims are that cannot be used there."""

        def detail(place: int) -> str:
            row = nodes.row(place)
            return "; ".join(_whereabouts(claim) for claim, away in self.allocated_claims if away[row])

        return detail

    # --- which alternatives

    def alternatives(self) -> Int64Array:
        """int64[N]: the earlier the alternatives that are taken, the more (upstream: computeScore)."""
        scores = np.zeros(len(self.cluster), np.int64)
        base = sum(_rank(claim, _chosen_requests_of(claim)) for claim, _ in self.allocated_claims)
        for group in self.groups():
            chooses = any(len(r) > 1 or r[0].parent for claim in group.answers.plan.claims for r in claim.requests)
            known: dict[int, int] = {}
            for row in np.flatnonzero(group.where & group.answers.fits).tolist() if chooses or base else ():
                outcome = group.answers.outcomes[row]
                value = known.get(id(outcome))
                if value is None:
                    picks = zip(group.claims, outcome.picks or (), strict=True)
                    value = sum(_rank(claim, {pick.want.full_name for pick in some}) for claim, some in picks)
                    known[id(outcome)] = value
                scores[row] = base + value
        return scores


def _whereabouts(claim: ResourceClaim) -> str:
    allocation = claim.status.allocation
    results = (allocation.devices.results if allocation else None) or ()
    users = [user.name for user in claim.status.reserved_for or ()]
    used = f", used by {', '.join(users)}" if users else ", used by nobody"
    return f"claim {claim.name} has {', '.join('/'.join(result.id) for result in results) or 'no device'}{used}"


def _chosen_requests_of(claim: ResourceClaim) -> set[str]:
    allocation = claim.status.allocation
    return {result.request for result in (allocation.devices.results if allocation else None) or ()}


def _rank(claim: ResourceClaim, chosen: set[str]) -> int:
    return sum(
        ALTERNATIVES_AT_MOST - place
        for request in claim.spec.devices.requests or ()
        for place, subrequest in enumerate(request.first_available or ())
        if f"{request.name}/{subrequest.name}" in chosen
    )


def _has_binding_failure(claim: ResourceClaim) -> bool:
    """Whether binding one of the devices has failed (upstream: isClaimReadyForBinding)."""
    allocation = claim.status.allocation
    for result in (allocation.devices.results if allocation else None) or ():
        if not result.binding_conditions:
            continue
        status = next(
            (
                device
                for device in claim.status.devices or ()
                if (device.driver, device.pool, device.device) == result.id
            ),
            None,
        )
        if status is None:
            return False
        true = {condition.type for condition in status.conditions or () if condition.status == "True"}
        if true & set(result.binding_failure_conditions or ()):
            return True
        if not true >= set(result.binding_conditions):
            return False
    return False
