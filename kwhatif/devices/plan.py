"""A list of claims compiled for one inventory; equal lists share one plan.

Upstream: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (validateDeviceRequest).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from functools import partial
from typing import Any

import msgspec
import numpy as np

from kwhatif.api.devices import (
    ALL,
    EXACT_COUNT,
    ClaimSpec,
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceToleration,
    ExactRequest,
    SubRequest,
)
from kwhatif.api.quantity import Quantity
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.devices.constraints import Constraint, Distinct, Match, attribute_of
from kwhatif.devices.inventory import Inventory
from kwhatif.devices.selectors import DeviceSelection, selection_of
from kwhatif.versions import Features


class RequestData(msgspec.Struct, frozen=True, eq=False):
    """A request, or one of its alternatives; ``parent`` is then the request's name. ``problem`` is why it is refused.

    ``tainted`` bool[D]: devices with a taint that the request does not tolerate.
    """

    name: str
    parent: str
    problem: str
    class_name: str = ""
    selection: DeviceSelection | None = None
    everything: bool = False
    count: int = 0
    admin: bool = False
    capacity: dict[str, Quantity] | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    tainted: BoolArray = msgspec.field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name


class ClaimPlan(msgspec.Struct, frozen=True, eq=False):
    """Per request its alternatives, the only one being the request itself where it has none.

    ``problem`` is why the claim's constraints cannot be understood.
    """

    requests: tuple[tuple[RequestData, ...], ...]
    constraints: tuple[tuple[str, str, frozenset[str]], ...]
    problem: str = ""

    def made_constraints(self, features: Features) -> list[Constraint]:
        """Fresh constraints, for one search."""
        compares = not features.distinct_attributes_always
        return [
            Match(name, requests) if kind == "match" else Distinct(name, requests, compares=compares)
            for kind, name, requests in self.constraints
        ]


class Plan:
    """What some claims ask for together.

    kinds     intp[D]: devices with one code are equal for everything the claims ask for
    marks     intp[P]: the same of the devices of each node, where values that constraints compare are told by which
              of the node's devices have them in common
    plain     bool[D]: devices whose allocation concerns no other device (no counters, no sharing)
    outcomes  what came of it on nodes of each make and state, for the search to keep
    """

    def __init__(self, inventory: Inventory, specs: Sequence[ClaimSpec], classes: dict[str, DeviceClass]) -> None:
        self.inventory, self.features = inventory, inventory.features
        self._classes = classes
        self.claims = [self._claim(spec) for spec in specs]
        self.wants = [want for claim in self.claims for request in claim.requests for want in request]
        self.distinct = any(kind == "distinct" for claim in self.claims for kind, _, _ in claim.constraints)
        self.kinds, self.marks, self.plain = self._kinds()
        self.outcomes: dict[Hashable, Any] = {}

    def only(self, number: int) -> Plan:
        """The plan of one of the claims."""
        twin = copy(self)
        twin.claims = [self.claims[number]]
        twin.outcomes = {}
        return twin

    def _claim(self, spec: ClaimSpec) -> ClaimPlan:
        requests = tuple(self._request(request) for request in spec.devices.requests or ())
        constraints, problem = [], ""
        for place, constraint in enumerate(spec.devices.constraints or ()):
            names = frozenset(constraint.requests or ())
            if constraint.match_attribute is not None:
                constraints.append(("match", constraint.match_attribute, names))
            elif constraint.distinct_attribute is not None and _knows_distinct(self.features):
                constraints.append(("distinct", constraint.distinct_attribute, names))
            else:
                problem = f"constraint #{place}: empty constraint (unsupported constraint type?)"
                break
        return ClaimPlan(requests, tuple(constraints), problem)

    def _request(self, request: DeviceRequest) -> tuple[RequestData, ...]:
        features = self.features
        if request.first_available:
            if not features.dra_prioritized_list:
                return (_refuse_request(request, "has subrequests, but the DRAPrioritizedList feature is disabled"),)
            if not features.dra_consumable_capacity:
                for subrequest in request.first_available:
                    if subrequest.capacity is not None:
                        return (_refuse_request(request, _NO_CAPACITY, kind=f"subrequest {subrequest.name}"),)
            return tuple(
                self._want(sub_request, sub_request.name, request.name) for sub_request in request.first_available
            )
        exactly = request.exactly or ExactRequest()
        if exactly.capacity is not None and not features.dra_consumable_capacity:
            return (_refuse_request(request, _NO_CAPACITY),)
        return (self._want(exactly, request.name, ""),)

    def _want(self, request: ExactRequest | SubRequest, name: str, parent: str) -> RequestData:
        for place, selector in enumerate(request.selectors or ()):
            if selector.cel is None:
                problem = f"request {name}, selector #{place}: CEL expression empty (unsupported selector type?)"
                return RequestData(name, parent, problem)
        problem = self._refusal(request)
        if problem:
            return RequestData(name, parent, f"request {name}{problem}")
        own = self._classes[request.device_class_name]
        capacity = request.capacity.requests if request.capacity else None
        tolerations = tuple(request.tolerations or ())
        return RequestData(
            name,
            parent,
            "",
            own.name,
            selection_of(self.inventory, own.name, own.spec.selectors, request.selectors),
            request.mode == ALL,
            request.effective_count,
            bool(request.admin_access),
            dict(capacity) if capacity else None,
            tolerations,
            self._find_untolerated(tolerations),
        )

    def _refusal(self, request: ExactRequest | SubRequest) -> str:
        if request.admin_access is not None and not self.features.dra_admin_access:
            return ": admin access is requested, but the feature is disabled"
        if not request.device_class_name:
            return ": missing device class name (unsupported request type?)"
        if request.device_class_name not in self._classes:
            missing = f'deviceclass.resource.k8s.io "{request.device_class_name}" not found'
            return f": could not retrieve device class {request.device_class_name}: {missing}"
        if request.mode not in (EXACT_COUNT, ALL):
            return f": unsupported count mode {request.mode}"
        return ""

    def _find_untolerated(self, tolerations: tuple[DeviceToleration, ...]) -> BoolArray:
        features = self.features
        size = len(self.inventory.units)
        if not features.dra_device_taints:
            return np.zeros(size, np.bool_)
        codes = self.inventory.code(("taints",), lambda device, driver: repr(device.taints) if device.taints else "")
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        answers = [self._keeps_away(self.inventory.units[n].device, tolerations) for n in first.tolist()]
        mask: BoolArray = np.array(answers, np.bool_)[place]
        return mask

    def _keeps_away(self, device: Device, tolerations: tuple[DeviceToleration, ...]) -> bool:
        of_any = self.features.device_taints_of_any_effect_count
        return any(
            not any(toleration.tolerates(taint) for toleration in tolerations)
            for taint in device.taints or ()
            if of_any or taint.effect in ("NoSchedule", "NoExecute")
        )

    def _kinds(self) -> tuple[IntpArray, IntpArray, BoolArray]:
        inventory, features = self.inventory, self.features
        columns = [want.selection.codes for want in self.wants if want.selection is not None]
        columns += [want.tainted.astype(np.intp) for want in self.wants if want.tainted.any()]
        columns.append(inventory.code(("own",), lambda device, driver: _of_its_own(device, features)))
        base = inventory.combine_codes(columns)
        names = sorted({name for claim in self.claims for _, name, _ in claim.constraints})
        values = [inventory.code(("attribute", name), partial(_value_of, name)) for name in names]
        patterns = [inventory.pattern(("pattern", name), codes) for name, codes in zip(names, values, strict=True)]
        lacks = [inventory.code(("lacks", name), partial(_lacks, name))[inventory.flat] for name in names]
        marks = inventory.combine_codes([base[inventory.flat], *patterns, *lacks])
        alone = inventory.code(("alone",), lambda device, driver: not _concerns_others(device, features))
        concerned = [_concerns_others(unit.device, features) for unit in inventory.units[:1]]
        plain: BoolArray = (alone == 0) ^ np.bool_(any(concerned))
        return inventory.combine_codes([base, *values]), marks, plain


_NO_CAPACITY = "has capacity requests, but the DRAConsumableCapacity feature is disabled"


def _refuse_request(request: DeviceRequest, problem: str, kind: str = "") -> RequestData:
    return RequestData(request.name, "", f"{kind or f'request {request.name}'}: {problem}")


def _knows_distinct(features: Features) -> bool:
    """Upstream has allocators of three kinds and takes the oldest that will do; the oldest know less."""
    return features.dra_consumable_capacity or features.binding_conditions or features.distinct_attributes_always


def _value_of(name: str, device: Device, driver: str) -> Hashable:
    attribute = attribute_of(device, driver, name)
    return None if attribute is None else (attribute.scalar,)


def _lacks(name: str, device: Device, driver: str) -> Hashable:
    """Whether there is nothing to compare: no such attribute, or one that is a list."""
    attribute = attribute_of(device, driver, name)
    return attribute is None, attribute is not None and attribute.scalar is None


def _concerns_others(device: Device, features: Features) -> bool:
    """Whether its allocation changes what is left of other devices, or of itself."""
    return bool(device.consumes_counters or (features.dra_consumable_capacity and device.allow_multiple_allocations))


def _of_its_own(device: Device, features: Features) -> Hashable:
    """What else makes a device different in allocation; None for most."""
    capacity = None
    if features.dra_consumable_capacity and device.capacity:
        capacity = tuple(
            (
                name,
                device_capacity.value,
                None if device_capacity.request_policy is None else repr(device_capacity.request_policy),
            )
            for name, device_capacity in sorted(device.capacity.items())
        )
    counters = repr(device.consumes_counters) if device.consumes_counters else None
    return bool(device.allow_multiple_allocations), capacity, counters, bool(device.binding_conditions)
