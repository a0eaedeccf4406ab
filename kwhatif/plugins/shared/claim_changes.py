"""Suggestions of single changes to device claims that might make a pod schedulable, each as a text and the changed
claim.

A request of a claim that no other pod uses may be reduced; a claim of other pods may be deallocated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.devices import (
    ALL,
    Constraint,
    DeviceRequest,
    DeviceTaint,
    DeviceToleration,
    ExactRequest,
    ResourceClaim,
)
from kwhatif.cluster.cluster import Cluster
from kwhatif.devices.claim_outcomes import Ledger, plan_of
from kwhatif.devices.claim_shortages import count_free_devices, shorten_expression
from kwhatif.devices.inventory import Inventory
from kwhatif.devices.plan import RequestData

Edit = tuple[str, ResourceClaim]

MOST_COUNTS = 2
"""How many smaller counts are suggested per request."""
MOST_FREED = 5
"""How many claims of other pods are suggested to be deallocated."""
MOST_TAINTS = 3


def suggest_claims(pod: Pod, cluster: Cluster, rows: Sequence[int]) -> Iterator[Edit]:
    """Changes for a pod that only its claims keep from these nodes."""
    inventory, ledger = Inventory.for_cluster(cluster), Ledger.for_cluster(cluster)
    wanted: set[int] = set()
    own = [claim for claim in cluster.devices.of_pod(pod) if claim.status.allocation is None]
    for claim in own:
        plan = plan_of(cluster, [claim.spec]).claims[0]
        requests = claim.spec.devices.requests or []
        for place, (request, wants) in enumerate(zip(requests, plan.requests, strict=True)):
            want = wants[0]
            if want.selection is None:
                continue
            for unit in (u for row in rows for pool in inventory.pools[row] for u in pool.units):
                if want.selection.of_class[unit.number]:
                    wanted.add(unit.number)
            if request.exactly is None:
                continue
            for change, exactly in _easier(request.exactly, want, ledger, rows):
                yield f"{change} in request {request.name} of claim {claim.name}", _with_request(claim, place, exactly)
        yield from _without_constraints(claim)
    yield from _free_devices(cluster, {inventory.units[number].id for number in wanted})


def _easier(
    exactly: ExactRequest, want: RequestData, ledger: Ledger, rows: Sequence[int]
) -> Iterator[tuple[str, ExactRequest]]:
    if exactly.allocation_mode != ALL:
        fewer = sorted(
            {n for n in (count_free_devices(want, ledger, row) for row in rows) if 0 < n < want.count}, reverse=True
        )
        for count in fewer[:MOST_COUNTS]:
            yield f"lower the count from {want.count} to {count}", replace(exactly, count=count)
    selectors = exactly.selectors or []
    for place, selector in enumerate(selectors):
        text = shorten_expression(selector.cel.expression) if selector.cel else ""
        yield f"drop selector #{place} ({text})", replace(exactly, selectors=selectors[:place] + selectors[place + 1 :])
    for taint in _taints(want, ledger, rows):
        toleration = DeviceToleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        more = replace(exactly, tolerations=[*(exactly.tolerations or ()), toleration])
        yield f"tolerate device taint {taint.text}", more


def _taints(want: RequestData, ledger: Ledger, rows: Sequence[int]) -> list[DeviceTaint]:
    """Taints that keep devices from the request, which they would serve otherwise."""
    assert want.selection is not None
    taints: dict[tuple[str, str | None, str], DeviceTaint] = {}
    for unit in (u for row in rows for pool in ledger.inventory.pools[row] for u in pool.units):
        if want.tainted[unit.number] and want.selection.passes[unit.number]:
            for taint in unit.device.taints or ():
                if not any(toleration.tolerates(taint) for toleration in want.tolerations):
                    taints.setdefault((taint.key, taint.value, taint.effect), taint)
    return list(taints.values())[:MOST_TAINTS]


def _without_constraints(claim: ResourceClaim) -> Iterator[Edit]:
    constraints = claim.spec.devices.constraints or []
    for place, constraint in enumerate(constraints):
        rest = constraints[:place] + constraints[place + 1 :]
        devices = replace(claim.spec.devices, constraints=rest)
        yield (
            f"drop constraint #{place} ({_format_constraint(constraint)}) of claim {claim.name}",
            replace(claim, spec=replace(claim.spec, devices=devices)),
        )


def _format_constraint(constraint: Constraint) -> str:
    if constraint.match_attribute is not None:
        return f"matchAttribute {constraint.match_attribute}"
    return f"distinctAttribute {constraint.distinct_attribute}"


def _free_devices(cluster: Cluster, devices: set[tuple[str, str, str]]) -> Iterator[Edit]:
    """Claims that have wanted devices, those with the most of them first."""
    having = []
    for claim in cluster.devices.claims.values():
        allocation = claim.status.allocation
        results = (allocation.devices.results if allocation else None) or ()
        number = sum(result.id in devices and not result.admin_access for result in results)
        if number:
            having.append((-number, claim.key, claim))
    for _, key, claim in sorted(having)[:MOST_FREED]:
        users = ", ".join(consumer.name for consumer in claim.status.reserved_for or ())
        status = replace(claim.status, allocation=None, reserved_for=None, devices=None)
        yield f"free claim {key}, used by {users or 'nobody'}", replace(claim, status=status)


def _with_request(claim: ResourceClaim, place: int, exactly: ExactRequest) -> ResourceClaim:
    requests: list[DeviceRequest] = list(claim.spec.devices.requests or ())
    requests[place] = replace(requests[place], exactly=exactly)
    devices = replace(claim.spec.devices, requests=requests)
    return replace(claim, spec=replace(claim.spec, devices=devices))
