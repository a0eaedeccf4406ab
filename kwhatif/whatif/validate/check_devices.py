"""Claims, classes and slices of devices that do not go together.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (what allocating leaves) and pkg/controller/resourceclaim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kwhatif.api.core import Pod
from kwhatif.api.devices import DeviceRequest, DeviceResult, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kwhatif.cluster.claim_store import DeviceId, claim_name
from kwhatif.results.snapshot_check import Finding
from kwhatif.whatif.validate.check_references import Known, error, named, warning


def device_findings(known: Known) -> Iterator[Finding]:
    """Findings about the devices of claims, and who uses these."""
    claims = known.objects.of(ResourceClaim)
    yield from _allocated(claims, known)
    yield from _used(claims, known)
    for claim in claims:
        if claim.status.allocation is None:
            for name in _classes(claim.spec.devices.requests):
                if known.lacks("DeviceClass", name):
                    yield warning("missing-device-class", claim, f"waits for DeviceClass {name}, which is not there")
    for template in known.objects.of(ResourceClaimTemplate):
        for name in _classes(template.spec.spec.devices.requests):
            if known.lacks("DeviceClass", name):
                yield warning("missing-device-class", template, f"asks for DeviceClass {name}, which is not there")
    for piece in known.objects.of(ResourceSlice):
        node = piece.spec.node_name
        if node and known.lacks("Node", node):
            yield warning("unknown-node", piece, f"is of node {node}, which is not there")


def _allocated(claims: Iterable[ResourceClaim], known: Known) -> Iterator[Finding]:
    """Devices that are not there, and those that several have where one of them has them for itself."""
    there = _devices(known.objects.of(ResourceSlice)) if "ResourceSlice" in known.objects.covered() else None
    holders: dict[DeviceId, list[tuple[ResourceClaim, bool]]] = defaultdict(list)
    for claim in claims:
        for result in _results(claim):
            if there is not None and result.id not in there:
                text = f"has device {'/'.join(result.id)}, which no ResourceSlice has"
                yield warning("unknown-device", claim, text)
            if not result.admin_access:
                holders[result.id].append((claim, result.share_id is None))
    for device, found in holders.items():
        if len(found) > 1 and any(alone for _, alone in found):
            first, *others = (claim for claim, _ in found)
            for claim in others:
                more = " twice" if claim is first else f", and so does {named(first)}"
                yield error("device-allocated-twice", claim, f"has device {'/'.join(device)}{more}")


def _devices(slices: Sequence[ResourceSlice]) -> set[DeviceId]:
    """The devices of the newest generation of each pool."""
    newest: dict[tuple[str, str], int] = {}
    for piece in slices:
        pool = piece.spec.driver, piece.spec.pool.name
        newest[pool] = max(newest.get(pool, 0), piece.spec.pool.generation)
    return {
        (piece.spec.driver, piece.spec.pool.name, device.name)
        for piece in slices
        if piece.spec.pool.generation == newest[piece.spec.driver, piece.spec.pool.name]
        for device in piece.spec.devices or ()
    }


def _results(claim: ResourceClaim) -> Sequence[DeviceResult]:
    allocation = claim.status.allocation
    return (allocation.devices.results if allocation else None) or ()


def _used(claims: Iterable[ResourceClaim], known: Known) -> Iterator[Finding]:
    """Claims kept for pods that are not there, and pods that run with claims that are not kept for them."""
    users: dict[tuple[str, str], set[str] | None] = {}
    for claim in claims:
        consumers = claim.status.reserved_for or ()
        pods = {user.name for user in consumers if user.resource == "pods" and not user.api_group}
        others = any(user.resource != "pods" or user.api_group for user in consumers)
        users[claim.namespace, claim.name] = None if others else pods
        for name in sorted(pods):
            if known.lacks("Pod", name, claim.namespace):
                yield warning("reserved-for-missing-pod", claim, f"is reserved for pod {name}, which is not there")
    for pod in known.unfinished:
        if pod.spec.node_name:
            yield from _runs_with(pod, users)


def _runs_with(pod: Pod, users: dict[tuple[str, str], set[str] | None]) -> Iterator[Finding]:
    for each in pod.spec.resource_claims or ():
        name = claim_name(pod, each)
        mine = users.get((pod.namespace, name)) if name else None
        if mine is not None and pod.name not in mine:
            text = f"has a node and uses ResourceClaim {name}, which is not reserved for it"
            yield warning("claim-not-reserved", pod, text)


def _classes(requests: Iterable[DeviceRequest] | None) -> list[str]:
    """The classes that are asked for, each once."""
    asked = [one for each in requests or () for one in (each.exactly, *(each.first_available or ())) if one is not None]
    return sorted({one.device_class_name for one in asked if one.device_class_name})
