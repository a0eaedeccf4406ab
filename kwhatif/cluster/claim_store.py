"""Device claims in the scheduler's cache, with allocations that were made but not yet recorded in the API.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (dra_manager.go, allocateddevices.go, claims.go) and
dynamic-resource-allocation (resourceslice/tracker, deviceclass/extendedresourcecache).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Pod, PodResourceClaim
from kwhatif.api.devices import (
    EXTENDED_CLAIM,
    IMPLICIT_RESOURCE,
    Allocation,
    ClaimConsumer,
    DeviceClass,
    DeviceResult,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from kwhatif.api.kinds import Objects
from kwhatif.versions import Features

ClaimKey = tuple[str, str]
"""(namespace, name)."""
DeviceId = tuple[str, str, str]
"""(driver, pool, name)."""


class Devices:
    """Claims, classes and slices, and which devices are taken.

    taken      device -> keys of the claims it is given to, each for itself
    shares     device -> keys of the claims that share it
    consumed   device -> capacity -> billionths that shares take of it
    in_flight  claims by identity, allocated by a Reserve but not recorded yet
    pending    identities of those that the cycle of a group has allocated so far, which its pods share; None outside
    journal    devices of which more or less is free than before, oldest first
    memory     what others work out from the slices; forks share it
    own        what others work out from all of it; forks begin anew
    """

    KINDS = frozenset(
        kind.__name__ for kind in (DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice)
    )

    def __init__(self, objects: Objects, features: Features) -> None:
        self.features = features
        self.claims: dict[ClaimKey, ResourceClaim] = {}
        self.classes = {c.name: c for c in sorted(objects.list_all(DeviceClass), key=lambda c: c.name)}
        self.templates = {(t.namespace, t.name): t for t in objects.list_all(ResourceClaimTemplate)}
        rules = (
            objects.list_all(DeviceTaintRule) if features.dra_device_taint_rules and features.dra_device_taints else []
        )
        self.slices = _apply_taint_rules(objects.list_all(ResourceSlice), rules)
        self.serving = _serving(self.classes.values(), features)
        self._extended: dict[tuple[str, str], ClaimKey] = {}
        self.in_flight: dict[str, ResourceClaim] = {}
        self.pending: set[str] | None = None
        self._sharers: dict[str, int] = {}
        self.taken: dict[DeviceId, tuple[str, ...]] = {}
        self.shares: dict[DeviceId, tuple[str, ...]] = {}
        self.consumed: dict[DeviceId, dict[str, int]] = {}
        self.journal: list[DeviceId] = []
        self.memory: dict[str, Any] = {}
        self.own: dict[str, Any] = {}
        for claim in objects.list_all(ResourceClaim):
            self.put(claim)

    def fork(self) -> Devices:
        """An independent copy; the objects are shared."""
        twin = object.__new__(Devices)
        twin.__dict__ |= self.__dict__
        twin.claims, twin.in_flight = dict(self.claims), dict(self.in_flight)
        twin.pending, twin._sharers = None, dict(self._sharers)
        twin._extended = dict(self._extended)
        twin.taken, twin.shares = dict(self.taken), dict(self.shares)
        twin.consumed = {device: dict(amounts) for device, amounts in self.consumed.items()}
        twin.journal, twin.own = [], {}
        return twin

    # --- claims

    def put(self, claim: ResourceClaim) -> None:
        """Add or replace a claim; the devices of its allocation change owners accordingly."""
        key = (claim.namespace, claim.name)
        before = self.claims.get(key)
        self.claims[key] = claim
        for pod in _extends(claim):
            self._extended.setdefault(pod, key)
        old = before.status.allocation if before else None
        new = claim.status.allocation
        if old is not None and new is not old:
            self._count(before, -1)
        if new is not None and new is not old:
            self._count(claim, 1)

    def remove(self, key: ClaimKey) -> None:
        """A claim is deleted. Raises KeyError."""
        claim = self.claims.pop(key)
        for pod in _extends(claim):
            self._extended.pop(pod, None)
        if claim.status.allocation is not None:
            self._count(claim, -1)

    def add_pending_allocation(self, claim: ResourceClaim) -> None:
        """A Reserve has allocated this claim; or it shares the allocation that another pod's Reserve has made."""
        if claim.identity in self.in_flight:
            self._sharers[claim.identity] = self._sharers.get(claim.identity, 1) + 1
        else:
            self.in_flight[claim.identity] = claim
            self._count(claim, 1)
        if self.pending is not None:
            self.pending.add(claim.identity)

    def remove_pending_allocation(self, claim: ResourceClaim, *, recorded: bool = False) -> None:
        """The allocation of a Reserve is ``recorded``, or given up by one pod; the last to give it up ends it."""
        sharers = self._sharers.pop(claim.identity, 1)
        if sharers > 1 and not recorded:
            self._sharers[claim.identity] = sharers - 1
            return
        taken_off = self.in_flight.pop(claim.identity, None)
        if taken_off is not None:
            self._count(taken_off, -1)
        if self.pending is not None:
            self.pending.discard(claim.identity)

    def pending_allocation(self, claim: ResourceClaim) -> Allocation | None:
        """What another pod of the group whose cycle this is has reserved of a claim, if one has."""
        if not self.pending or claim.identity not in self.pending:
            return None
        taken_off = self.in_flight.get(claim.identity)
        return taken_off.status.allocation if taken_off is not None else None

    def _count(self, claim: ResourceClaim | None, sign: int) -> None:
        assert claim is not None
        sharing = self.features.dra_consumable_capacity
        for result in _results(claim):
            device = result.id
            self.journal.append(device)
            if not sharing or result.share_id is None:
                _tally(self.taken, device, claim.key, sign)
                continue
            _tally(self.shares, device, claim.key, sign)
            if result.consumed_capacity is None:
                continue
            amounts = self.consumed.setdefault(device, {})
            for name, quantity in result.consumed_capacity.items():
                amounts[name] = amounts.get(name, 0) + sign * quantity.nano()
            if sign < 0 and not any(amounts.values()):
                del self.consumed[device]

    # --- pods

    def of_pod(self, pod: Pod) -> Iterator[ResourceClaim]:
        """The claims a pod uses that exist, the one behind its extended resources last."""
        namespace = pod.metadata.namespace or "default"
        names = [claim_name(pod, resource_claim) for resource_claim in pod.spec.resource_claims or ()]
        extended = self.extended_claim(pod)
        for name in (*names, extended.name if extended else None):
            claim = self.claims.get((namespace, name)) if name else None
            if claim is not None:
                yield claim

    def extended_claim(self, pod: Pod) -> ResourceClaim | None:
        """The claim that a scheduler made for the pod's extended resources."""
        status = pod.status.extended_resource_claim_status
        if status is not None:
            return self.claims.get((pod.metadata.namespace or "default", status.resource_claim_name))
        if not self.features.dra_extended_resource or not self.serving:
            return None
        key = self._extended.get((pod.metadata.name or "", pod.identity))
        return self.claims[key] if key else None

    def release(self, pod: Pod, *, deleted: bool = True) -> list[ResourceClaim]:
        """A pod has gone: its claims are released, and deallocated where no other pod uses them.

        Claims that it owns go with it if it was ``deleted``. Returns the claims that lost their allocation. Upstream:
        pkg/controller/resourceclaim/controller.go (syncClaim).
        """
        uid = pod.identity
        freed = []
        for claim in list(self.of_pod(pod)):
            owned = any(o.controller and o.uid == uid for o in claim.metadata.owner_references or ())
            if not is_reserved_for(pod, claim) and not owned:
                continue
            rest = [consumer for consumer in claim.status.reserved_for or () if consumer.uid != uid]
            if claim.status.allocation is not None and not rest:
                freed.append(claim)
            if owned and deleted:
                self.remove((claim.namespace, claim.name))
                continue
            status = replace(claim.status, reserved_for=rest or None)
            self.put(replace(claim, status=status if rest else replace(status, allocation=None, devices=None)))
        return freed

    def users(self, device: DeviceId) -> tuple[str, ...]:
        """Keys of the claims that have a device, alone or with others."""
        return (*self.taken.get(device, ()), *self.shares.get(device, ()))


def claim_name(pod: Pod, claim: PodResourceClaim) -> str | None:
    """The name of the ResourceClaim behind one of a pod's; None before it was made, or where none is needed."""
    if claim.resource_claim_name is not None:
        return claim.resource_claim_name
    for status in pod.status.resource_claim_statuses or ():
        if status.name == claim.name:
            return status.resource_claim_name
    return None


def is_reserved_for(pod: Pod, claim: ResourceClaim) -> bool:
    uid = pod.identity
    return any(consumer.uid == uid for consumer in claim.status.reserved_for or ())


def consumer_of(pod: Pod) -> ClaimConsumer:
    """A pod as claims name it in ``reservedFor``."""
    return ClaimConsumer(resource="pods", name=pod.metadata.name or "", uid=pod.identity)


def _extends(claim: ResourceClaim) -> Iterator[tuple[str, str]]:
    """Name and uid of the pod whose extended resources a claim stands for."""
    if (claim.metadata.annotations or {}).get(EXTENDED_CLAIM) == "true":
        for owner in claim.metadata.owner_references or ():
            if owner.controller:
                yield owner.name or "", owner.uid or ""


def _results(claim: ResourceClaim) -> Iterator[DeviceResult]:
    """What a claim was allocated, except as an administrator, which takes nothing from others."""
    allocation = claim.status.allocation
    for result in (allocation.devices.results if allocation else None) or ():
        if not result.admin_access:
            yield result


def _tally(table: dict[DeviceId, tuple[str, ...]], device: DeviceId, key: str, sign: int) -> None:
    if sign > 0:
        table[device] = (*table.get(device, ()), key)
        return
    keys = list(table.get(device, ()))
    if key in keys:
        keys.remove(key)
    if keys:
        table[device] = tuple(keys)
    else:
        table.pop(device, None)


def _apply_taint_rules(slices: Sequence[ResourceSlice], rules: Sequence[DeviceTaintRule]) -> list[ResourceSlice]:
    """Slices by name, with the taints that rules put on their devices (upstream: tracker.applyPatches)."""
    with_taints = []
    for resource_slice in sorted(slices, key=lambda s: s.name):
        spec = resource_slice.spec
        devices = list(spec.devices or ())
        for rule in rules:
            on = rule.spec.device_selector
            if on is not None and (on.driver not in (None, spec.driver) or on.pool not in (None, spec.pool.name)):
                continue
            for place, device in enumerate(devices):
                if on is None or on.device in (None, device.name):
                    devices[place] = replace(device, taints=[*(device.taints or ()), rule.spec.taint])
        with_taints.append(replace(resource_slice, spec=replace(spec, devices=devices)) if rules else resource_slice)
    return with_taints


def _serving(classes: Iterable[DeviceClass], features: Features) -> dict[str, DeviceClass]:
    """Extended resource -> the class that serves it (upstream: ExtendedResourceCache, and DeviceClassMapping in 1.34).

    Of two classes with one resource the younger serves it, of two of the same age the one whose name comes first.
    """
    by_resource: dict[str, DeviceClass] = {}
    if not features.dra_extended_resource:
        return by_resource
    for device_class in classes:
        name = device_class.spec.extended_resource_name
        if features.extended_resources_reuse_devices:
            other = by_resource.get(name) if name else None
            mine, theirs = (
                device_class.metadata.creation_timestamp or "",
                other.metadata.creation_timestamp or "" if other else "",
            )
            if other is not None and (mine < theirs or (mine == theirs and device_class.name >= other.name)):
                continue
            by_resource[IMPLICIT_RESOURCE + device_class.name] = device_class
        elif not name:
            by_resource[IMPLICIT_RESOURCE + device_class.name] = device_class
        if name:
            by_resource[name] = device_class
    return by_resource
