"""DynamicResources: devices for a pod's claims, and for extended resources that a device class serves.

The allocator is in ``devices/``. Upstream: plugins/dynamicresources/dynamicresources.go and
dynamic-resource-allocation/resourceclaim/resourceclaim.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import PodResourceClaim
from kwhatif.api.devices import ResourceClaim
from kwhatif.cluster.claim_store import Devices, claim_name, is_reserved_for
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_group_states import group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.framework.arithmetic import default_normalize
from kwhatif.framework.declaration import Args, DefaultPlugin
from kwhatif.framework.interface import (
    ClusterEvent,
    Dependency,
    EventOccurrence,
    Plugin,
    PostFilterResult,
    Suggestion,
    always,
)
from kwhatif.framework.signature import Signature
from kwhatif.framework.status import SKIP, Code, Diagnosis, Rejection, Skip, Status
from kwhatif.golang.field_validation import Path
from kwhatif.golang.parsing import SECOND, Duration
from kwhatif.plugins.shared.group_claims import consumers_of, is_made_for_group, is_reserved, unreserve_for_group
from kwhatif.versions import Features

if TYPE_CHECKING:
    from kwhatif.plugins.shared.device_claims import ClaimsOfPod, Group


def usable_claims(pod: PodInfo, devices: Devices) -> list[ResourceClaim] | str:
    """The claims that the pod names, or why one of them cannot be used (upstream: foreachPodResourceClaim)."""
    claims = []
    for resource_claim in pod.pod.spec.resource_claims or ():
        problem = _unmade(pod, resource_claim)
        if problem:
            return problem
        name = claim_name(pod.pod, resource_claim)
        if name is None:
            continue
        claim = devices.claims.get((pod.shape.namespace, name))
        if claim is None:
            return f'could not find ResourceClaim "{pod.shape.namespace}/{name}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'resourceclaim "{name}" is being deleted'
        owners = claim.metadata.owner_references or ()
        if resource_claim.resource_claim_name is None and not any(o.controller and o.uid == pod.uid for o in owners):
            group = group_key(pod) if devices.features.dra_workload_resource_claims else None
            if group is not None and is_made_for_group(claim, group[1]):
                claims.append(claim)
                continue
            word = "Pod" if devices.features.claim_messages_capitalize_pod else "pod"
            who = f"{word} is not owner" if group is None else f"neither Pod nor PodGroup {group[1]} is the owner"
            return f"ResourceClaim {claim.key} was not created for {word} {pod.key} ({who})"
        claims.append(claim)
    return claims


def _unmade(pod: PodInfo, claim: PodResourceClaim) -> str:
    """Why one of the pod's claims does not exist yet."""
    if claim.resource_claim_name is not None:
        return ""
    if claim.resource_claim_template_name is None:
        return f'pod "{pod.key}", spec.resourceClaim "{claim.name}": none of the supported fields are set'
    if any(status.name == claim.name for status in pod.pod.status.resource_claim_statuses or ()):
        return ""
    return f'pod "{pod.key}": ResourceClaim not created yet'


def refusal_of(claim: ResourceClaim, devices: Devices) -> Status | None:
    """Why a claim cannot be allocated on any node."""
    if devices.pending_allocation(claim) is not None:
        return None
    if claim.identity in devices.in_flight:
        return Status.unresolvable(f"resource claim {claim.key} is in the process of being allocated")
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            names = [(request.name, request.exactly.device_class_name)]
        elif request.first_available:
            if not devices.features.dra_prioritized_list:
                problem = "has subrequests, but the DRAPrioritizedList feature is disabled"
                return Status.unresolvable(f"resource claim {claim.key}, request {request.name}: {problem}")
            names = [
                (f"{request.name}/{subrequest.name}", subrequest.device_class_name)
                for subrequest in request.first_available
            ]
        else:
            return Status.unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
        for name, class_name in names:
            if not class_name:
                return Status.error(f"request {name}: unsupported request type")
            if class_name not in devices.classes:
                return Status.unresolvable(f"request {name}: device class {class_name} does not exist")
    return None


def is_own_device_claim(waiting: PodInfo, happening: EventOccurrence) -> bool:
    """Whether the claim that changed is one of the waiting pod's (upstream: isSchedulableAfterClaimChange)."""
    namespace, name = happening.claim or ("", "")
    claims = waiting.pod.spec.resource_claims or ()
    return namespace == waiting.shape.namespace and any(claim_name(waiting.pod, claim) == name for claim in claims)


NOT_AVAILABLE = "resourceclaim not available on the node"
NO_SOLUTION = "cannot allocate all claims"
STALE = "cannot schedule extended resource claim"
RESERVED_FOR_AT_MOST = 256


class DynamicResourcesArgs(Args):
    filter_timeout: Annotated[Duration | None, msgspec.Meta(extra={"always": True})] = None
    binding_timeout: Duration | None = None


class DynamicResources(Plugin["ClaimsOfPod", "ClaimsOfPod | None"]):
    name = "DynamicResources"
    args = DynamicResourcesArgs
    depends_on_labels = False
    needs_pre_filter = True
    dependencies = MappingProxyType(
        dict.fromkeys(
            ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
            Dependency("devices are allocated with it", lambda pod, cluster: _asks_for_devices(pod, cluster)),
        )
    )
    events_to_register = MappingProxyType(
        {ClusterEvent.DEVICES_FREED: always, ClusterEvent.DEVICE_CLAIM_CHANGED: is_own_device_claim}
    )

    @classmethod
    def exists(cls, features: Features) -> bool:
        return not features.legacy_plugins

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        # Before DefaultPreemption: deallocating an unused claim disturbs less than evicting a pod.
        weight = 2 if features.dynamic_resources_scores else 0
        return DefaultPlugin(180, weight) if features.dynamic_resource_allocation else None

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        points = set(super().points(features))
        if features.control_plane_controller_allocates:
            points |= {"preScore", "postBind"}
        return points - {
            *(() if features.dynamic_resources_scores else ("score",)),
            *(() if features.structured_parameters else ("preBind",)),
        }

    @classmethod
    def args_type(cls, features: Features) -> type[Args] | None:
        return cls.args if features.dynamic_resources_has_arguments else None

    @classmethod
    def unknown_fields(cls, features: Features) -> Collection[str]:
        return () if features.dynamic_resources_has_binding_timeout else ("bindingTimeout",)

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        known = _usual_timeouts(features)
        given = {name: getattr(args, name) for name in known}
        return replace(args, **{name: known[name] if value is None else value for name, value in given.items()})

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        known = _usual_timeouts(features)
        timeout, at = args.filter_timeout, path.child("filterTimeout")
        if timeout is not None:
            if known["filter_timeout"] is None:
                yield at.forbidden("DRASchedulingFilterTimeout feature gate is disabled")
            elif timeout < 0:
                yield at.invalid(str(timeout), "must be zero or positive")
        timeout, at = args.binding_timeout, path.child("bindingTimeout")
        if timeout is not None:
            if known["binding_timeout"] is None:
                gates = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus"
                yield at.forbidden(f"{gates} feature gate is disabled")
            elif timeout < SECOND:
                yield at.invalid(str(timeout), "must be at least 1 second")

    def applies_to(self, pod: PodInfo) -> bool:
        features = self.handle.features
        # With claims of groups, a pod whose group does not exist is turned down, claims or not.
        grouped = features.dra_workload_resource_claims and pod.shape.spec.scheduling_group is not None
        return features.dynamic_resource_allocation and (grouped or _asks_for_devices(pod, self.handle.cluster))

    # --- which claims

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if self.handle.cluster is None or not self.applies_to(pod):
            return None
        claims = usable_claims(pod, self.handle.cluster.devices)
        return Status.unresolvable(claims) if isinstance(claims, str) else None

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return None if pod.shape.spec.resource_claims else {}

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> ClaimsOfPod | Skip | Status:
        if not self.applies_to(pod):
            return SKIP
        claims = usable_claims(pod, cluster.devices)
        if isinstance(claims, str):
            return Status.unresolvable(claims)
        key = group_key(pod) if self.handle.features.dra_workload_resource_claims else None
        if key is not None and key not in cluster.pod_groups.objects:
            return Status.unresolvable(f'podgroup.scheduling.k8s.io "{key[1]}" not found')
        if not _asks_for_devices(pod, cluster):
            return SKIP
        # The search for devices takes long to import, and most clusters have none.
        from kwhatif.plugins.shared.device_claims import ClaimsOfPod

        state = ClaimsOfPod(pod, cluster, claims)
        if not state.claims:
            return SKIP
        for claim in state.claims:
            unallocated = claim.status.allocation is None and claim is not state.special
            refusal = refusal_of(claim, cluster.devices) if unallocated else None
            if refusal is not None:
                return refusal
        return state

    # --- where they can be had

    def filter(self, pod: PodInfo, nodes: NodeView, state: ClaimsOfPod) -> Iterator[Rejection]:
        state.filtered = True
        stale, homeless = state.stale, state.lacks_extended_resource
        if stale:
            yield Rejection(np.ones(nodes.size, np.bool_), STALE, unresolvable=True)
            return
        if homeless.any():
            yield Rejection(nodes.take_rows(homeless), "cannot fit resource", unresolvable=True)
        left = ~homeless & ~state.served_by_device_plugins
        for group in state.groups():
            answers = group.answers
            here = left & group.where
            failed = here & answers.fails
            if failed.any():
                yield from self._problems(nodes, failed, group, state)
            unsolved = here & ~answers.fails & ~answers.fits
            if unsolved.any():
                yield Rejection(
                    nodes.take_rows(unsolved),
                    NO_SOLUTION,
                    unresolvable=True,
                    detail=state.describe_shortages(nodes, group),
                )
            left = left & ~(group.where & ~answers.fits)
        away = left & state.lacks_allocated_claim
        if away.any():
            yield Rejection(
                nodes.take_rows(away), NOT_AVAILABLE, unresolvable=True, detail=state.describe_claim_locations(nodes)
            )

    def _problems(self, nodes: NodeView, failed: BoolArray, group: Group, state: ClaimsOfPod) -> Iterator[Rejection]:
        from kwhatif.devices.claim_results import format_problem

        texts: dict[tuple[str, bool], list[int]] = {}
        for row in np.flatnonzero(failed).tolist():
            problem = group.answers.outcomes[row].problem
            assert problem is not None
            text = format_problem(problem, state.inventory, row, group.claims)
            texts.setdefault((text, problem.mild), []).append(row)
        for (text, mild), rows in texts.items():
            where = np.zeros(len(failed), np.bool_)
            where[rows] = True
            yield Rejection(nodes.take_rows(where), text, unresolvable=True, error=not mild)

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, state: ClaimsOfPod | None) -> PostFilterResult:
        features = self.handle.features
        if not features.dynamic_resource_allocation:
            return PostFilterResult(Status.unschedulable("plugin disabled"))
        if features.dynamic_resources_is_silent_without_claims and not pod.pod.spec.resource_claims:
            return PostFilterResult(Status(Code.UNSCHEDULABLE, ()))
        if self.name not in diagnosis.evaluation.reached:
            # An earlier plugin's PreFilter refused the pod; upstream then misses its own state here and stops.
            return PostFilterResult(Status.error("not found"))
        if state is None:
            return PostFilterResult(Status.unschedulable("no new claims to deallocate"))
        claim = self._idle_claim(pod, state, diagnosis)
        if claim is not None:
            state.cluster.devices.put(
                replace(claim, status=replace(claim.status, allocation=None, reserved_for=None, devices=None))
            )
            return PostFilterResult(Status.unschedulable("deallocation of ResourceClaim completed"))
        if state.stale:
            assert state.special is not None
            state.cluster.devices.remove((state.special.namespace, state.special.name))
            return PostFilterResult(Status.unschedulable("deletion of ResourceClaim completed"))
        key, groups = group_key(pod), state.cluster.pod_groups
        nobody_runs = key is not None and not groups.has_bound(key, state.cluster.find)
        if (
            features.dra_workload_resource_claims
            and nobody_runs
            and unreserve_for_group(pod, groups, state.cluster.devices)
        ):
            return PostFilterResult(Status.unschedulable("ResourceClaim unreserved for PodGroup"))
        return PostFilterResult(Status.unschedulable("still not schedulable"))

    def _idle_claim(self, pod: PodInfo, state: ClaimsOfPod, diagnosis: Diagnosis) -> ResourceClaim | None:
        """A claim that made some node infeasible and that no other pod uses; upstream takes any, here the first."""
        if diagnosis.verdicts is None:
            return None
        where = np.zeros(len(state.cluster), np.bool_)
        for blocker in diagnosis.verdicts.blockers:
            if blocker.plugin == self.name and blocker.rejection.reason == NOT_AVAILABLE:
                where |= blocker.counted
        for claim, away in state.allocated_claims:
            users = claim.status.reserved_for or ()
            idle = not users or (len(users) == 1 and users[0].uid == pod.uid)
            if claim is not state.special and (where & away).any() and idle:
                return claim
        return None

    # --- scores

    def score(self, pod: PodInfo, nodes: NodeView, state: ClaimsOfPod | None) -> Int64Array:
        if state is None or not state.filtered or not self.handle.features.dra_prioritized_list:
            return np.zeros(nodes.size, np.int64)
        scores: Int64Array = nodes.take_rows(state.alternatives())
        return scores

    def normalize(self, pod: PodInfo, nodes: NodeView, state: ClaimsOfPod | None, scores: Int64Array) -> Int64Array:
        return default_normalize(scores, reverse=False)

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        from kwhatif.plugins.shared.claim_changes import suggest_claims

        return suggest_claims(pod.pod, cluster, rows) if rows else iter(())

    # --- taking them

    def reserve(self, pod: PodInfo, node: str, state: ClaimsOfPod | None) -> Status | None:
        if state is None:
            return None
        state.reserved = True
        if not state.filtered:
            return Status.error("claim allocation not found for node") if state.to_allocate else None
        row = state.cluster.columns.row(node)
        assert row is not None
        for claim, allocation in state.allocate(row):
            state.cluster.devices.add_pending_allocation(
                replace(claim, status=replace(claim.status, allocation=allocation))
            )
            state.allocated[claim.identity] = allocation
        return None

    def unreserve(self, pod: PodInfo, node: str, state: ClaimsOfPod | None) -> None:
        if state is None or not state.reserved:
            return
        devices = state.cluster.devices
        for claim in state.claims:
            devices.remove_pending_allocation(claim)
        for claim in state.named:
            current = devices.claims.get((claim.namespace, claim.name))
            if current is not None and current.status.allocation is not None and is_reserved_for(pod.pod, current):
                rest = [user for user in current.status.reserved_for or () if user.uid != pod.uid]
                devices.put(replace(current, status=replace(current.status, reserved_for=rest or None)))
        for extended in (state.created, state.special):
            if extended is not None and (extended.namespace, extended.name) in devices.claims:
                devices.remove((extended.namespace, extended.name))

    def pre_bind(self, pod: PodInfo, node: str, state: ClaimsOfPod | None) -> Status | None:
        if state is None or not state.reserved:
            return None
        row = state.cluster.columns.row(node)
        assert row is not None
        devices = state.cluster.devices
        consumers = consumers_of(pod, state.cluster.pod_groups, devices)
        for index, claim in enumerate(state.claims):
            allocation = state.allocated.get(claim.identity)
            if claim is state.special:
                if allocation is None:
                    continue
                problem = state.create_special(row, allocation)
                if problem:
                    return Status(Code.ERROR, (problem,))
                continue
            current = devices.claims[claim.namespace, claim.name]
            # What was known when the cycle began: others of the group may have written the claim since.
            if is_reserved(pod, claim, devices):
                continue
            if allocation is not None and current.status.allocation is not None:
                devices.remove_pending_allocation(claim)
                return Status(Code.ERROR, (f"claim {claim.key} got allocated elsewhere in the meantime",))
            before = current.status.reserved_for or ()
            users = [*before, consumers[index]]
            problem = ""
            if len(users) > RESERVED_FOR_AT_MOST:
                problem = f"status.reservedFor: Too many: {len(users)}: must have at most {RESERVED_FOR_AT_MOST} items"
            elif any(user.uid == consumers[index].uid for user in before):
                where = f'ResourceClaim.resource.k8s.io "{claim.name}" is invalid: status.reservedFor[{len(before)}]'
                problem = f'{where}: Duplicate value: "{consumers[index].uid}"'
            if problem:
                return Status(Code.ERROR, (f"add reservation to claim {claim.key}: {problem}",))
            status = replace(current.status, reserved_for=users)
            if allocation is not None:
                devices.remove_pending_allocation(claim, recorded=True)
                status = replace(status, allocation=allocation)
            devices.put(replace(current, status=status))
        state.forget_nodes()
        return None


def _asks_for_devices(pod: PodInfo, cluster: Cluster | None) -> bool:
    if pod.pod.spec.resource_claims:
        return True
    serving = cluster.devices.serving if cluster is not None else {}
    return bool(serving) and any(name in serving for name in pod.shape.requests)


def _usual_timeouts(features: Features) -> dict[str, Duration | None]:
    """The default timeout; None where a feature gate turns it off."""
    binds = features.dra_device_binding_conditions and features.dra_resource_claim_device_status
    return {
        "filter_timeout": Duration.of_seconds(10) if features.dra_scheduler_filter_timeout else None,
        "binding_timeout": Duration.of_seconds(600) if binds else None,
    }
