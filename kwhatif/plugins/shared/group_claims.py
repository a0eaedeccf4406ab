"""Claims that the pods of a group share, and their ``reservedFor``.

Upstream: BindTo, IsReservedForPod and IsForPod in dynamic-resource-allocation/resourceclaim/resourceclaim.go.
"""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.api.core import PodResourceClaim
from kwhatif.api.devices import ClaimConsumer, ResourceClaim
from kwhatif.api.pod_groups import GROUP, PodGroup, PodGroupResourceClaim
from kwhatif.cluster.claim_store import Devices, consumer_of, is_reserved_for
from kwhatif.cluster.pod_group_states import PodGroupStates, group_key
from kwhatif.cluster.shapes import PodInfo

POD_GROUPS = "podgroups"


def consumers_of(pod: PodInfo, groups: PodGroupStates, devices: Devices) -> list[ClaimConsumer]:
    """The consumer for which each of the claims in the pod's spec is reserved: the pod, or its group, if that has the
    same claim.
    """
    group = groups.of(pod) if devices.features.dra_workload_resource_claims else None
    shared = (group.spec.resource_claims or ()) if group is not None else ()
    consumers = []
    for claim in pod.pod.spec.resource_claims or ():
        is_shared = group is not None and any(
            _is_same(claim, pod_group_resource_claim) for pod_group_resource_claim in shared
        )
        consumers.append(_consumer(group) if group is not None and is_shared else consumer_of(pod.pod))
    return consumers


def _consumer(group: PodGroup) -> ClaimConsumer:
    return ClaimConsumer(api_group=GROUP, resource=POD_GROUPS, name=group.name, uid=group.identity)


def _is_same(claim: PodResourceClaim, of_group: PodGroupResourceClaim) -> bool:
    return (claim.name, claim.resource_claim_name, claim.resource_claim_template_name) == (
        of_group.name,
        of_group.resource_claim_name,
        of_group.resource_claim_template_name,
    )


def is_reserved(pod: PodInfo, claim: ResourceClaim, devices: Devices) -> bool:
    """Whether a claim is reserved for the pod, or for its group."""
    if is_reserved_for(pod.pod, claim):
        return True
    key = group_key(pod)
    if key is None or not devices.features.dra_workload_resource_claims:
        return False
    users = claim.status.reserved_for or ()
    return any((user.api_group, user.resource, user.name) == (GROUP, POD_GROUPS, key[1]) for user in users)


def is_made_for_group(claim: ResourceClaim, name: str) -> bool:
    """Whether the controller of a claim is the PodGroup of this name."""
    owner = claim.controller
    if owner is None or owner.kind != "PodGroup" or owner.name != name:
        return False
    return (owner.api_version or "").startswith(f"{GROUP}/")


def unreserve_for_group(pod: PodInfo, groups: PodGroupStates, devices: Devices) -> bool:
    """Deallocate the first claim that is reserved for the pod's group; False if there is none."""
    group = groups.of(pod)
    for resource_claim in (group.spec.resource_claims or ()) if group is not None else ():
        claim = _claim_of(resource_claim, group, devices) if group is not None else None
        if claim is None or claim.status.allocation is None or not is_reserved(pod, claim, devices):
            continue
        users = [user for user in claim.status.reserved_for or () if group is None or user.uid != group.identity]
        devices.put(replace(claim, status=replace(claim.status, reserved_for=users or None)))
        return True
    return False


def _claim_of(of_group: PodGroupResourceClaim, group: PodGroup, devices: Devices) -> ResourceClaim | None:
    if of_group.resource_claim_name is not None:
        return devices.claims.get((group.namespace, of_group.resource_claim_name))
    names = {
        resource_claim_statuse.name: resource_claim_statuse.resource_claim_name
        for resource_claim_statuse in group.status.resource_claim_statuses or ()
    }
    claim = devices.claims.get((group.namespace, names.get(of_group.name) or ""))
    return claim if claim is not None and is_made_for_group(claim, group.name) else None
