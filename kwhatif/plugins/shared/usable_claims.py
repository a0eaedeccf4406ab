"""Whether a pod's claims can be used at all, before any device is looked at.

Upstream: plugins/dynamicresources/dynamicresources.go and dynamic-resource-allocation/resourceclaim/resourceclaim.go.
"""

from __future__ import annotations

from kwhatif.api.core import PodResourceClaim
from kwhatif.api.devices import ResourceClaim
from kwhatif.cluster.claim_store import Devices, claim_name
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.events import Happening
from kwhatif.framework.status import Status


def usable_claims(pod: PodInfo, devices: Devices) -> list[ResourceClaim] | str:
    """The claims that the pod names, or why one of them cannot be used (upstream: foreachPodResourceClaim)."""
    found = []
    for each in pod.pod.spec.resource_claims or ():
        problem = _unmade(pod, each)
        if problem:
            return problem
        name = claim_name(pod.pod, each)
        if name is None:
            continue
        claim = devices.claims.get((pod.shape.namespace, name))
        if claim is None:
            return f'could not find ResourceClaim "{pod.shape.namespace}/{name}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'resourceclaim "{name}" is being deleted'
        owners = claim.metadata.owner_references or ()
        if each.resource_claim_name is None and not any(o.controller and o.uid == pod.uid for o in owners):
            word = "Pod" if devices.features.claim_messages_capitalize_pod else "pod"
            return f"ResourceClaim {claim.key} was not created for {word} {pod.key} ({word} is not owner)"
        found.append(claim)
    return found


def _unmade(pod: PodInfo, claim: PodResourceClaim) -> str:
    """Why there is no claim yet behind one of the pod's."""
    if claim.resource_claim_name is not None:
        return ""
    if claim.resource_claim_template_name is None:
        return f'pod "{pod.key}", spec.resourceClaim "{claim.name}": none of the supported fields are set'
    if any(status.name == claim.name for status in pod.pod.status.resource_claim_statuses or ()):
        return ""
    return f'pod "{pod.key}": ResourceClaim not created yet'


def refusal_of(claim: ResourceClaim, devices: Devices) -> Status | None:
    """Why a claim that has to be allocated cannot be, on any node."""
    if claim.identity in devices.in_flight:
        return Status.unresolvable(f"resource claim {claim.key} is in the process of being allocated")
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            names = [(request.name, request.exactly.device_class_name)]
        elif request.first_available:
            if not devices.features.dra_prioritized_list:
                problem = "has subrequests, but the DRAPrioritizedList feature is disabled"
                return Status.unresolvable(f"resource claim {claim.key}, request {request.name}: {problem}")
            names = [(f"{request.name}/{each.name}", each.device_class_name) for each in request.first_available]
        else:
            return Status.unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
        for name, class_name in names:
            if not class_name:
                return Status.error(f"request {name}: unsupported request type")
            if class_name not in devices.classes:
                return Status.unresolvable(f"request {name}: device class {class_name} does not exist")
    return None


def is_own_device_claim(waiting: PodInfo, happening: Happening) -> bool:
    """Whether the claim that changed is one of the waiting pod's (upstream: isSchedulableAfterClaimChange)."""
    namespace, name = happening.claim or ("", "")
    claims = waiting.pod.spec.resource_claims or ()
    return namespace == waiting.shape.namespace and any(claim_name(waiting.pod, each) == name for each in claims)
