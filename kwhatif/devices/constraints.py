"""matchAttribute and distinctAttribute constraints, and consumable capacity of shared devices.

Amounts are billionths. Upstream: dynamic-resource-allocation/structured/internal/incubating (allocator_incubating.go,
constraint.go, consumable_capacity.go).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kwhatif.api.devices import CapacityPolicy, Device, DeviceAttribute, DeviceCapacity
from kwhatif.api.quantity import Quantity

Scalar = tuple[str, object]


def attribute_of(device: Device, driver: str, name: str) -> DeviceAttribute | None:
    """An attribute by its full name; the domain may be missing in the device where it is the driver's."""
    attributes = device.attributes or {}
    if name in attributes:
        return attributes[name]
    domain, slash, own = name.partition("/")
    return attributes.get(own) if slash and domain == driver else None


class Constraint(msgspec.Struct):
    """``requests`` are the names it applies to, all of them if it names none."""

    attribute: str
    requests: frozenset[str]
    devices: int = 0

    def applies_to(self, request: str, alternative: str) -> bool:
        names = (request, f"{request}/{alternative}") if alternative else (request,)
        return not self.requests or any(name in self.requests for name in names)

    def add(self, request: str, alternative: str, device: Device, driver: str) -> bool:
        """Add a device, unless it violates the constraint."""
        if not self.applies_to(request, alternative):
            return True
        attribute = attribute_of(device, driver, self.attribute)
        if attribute is None:
            return False
        if self.devices and not self._admits(attribute.scalar):
            return False
        self._take(request, attribute.scalar)
        self.devices += 1
        return True

    def remove(self, request: str, alternative: str) -> None:
        """Undo the last ``add`` of the request."""
        if self.applies_to(request, alternative):
            self._drop(request)
            self.devices -= 1

    def _admits(self, value: Scalar | None) -> bool:
        raise NotImplementedError

    def _take(self, request: str, value: Scalar | None) -> None:
        raise NotImplementedError

    def _drop(self, request: str) -> None:
        raise NotImplementedError


class Match(Constraint):
    """All devices have the value of the first."""

    value: Scalar | None = None

    def _admits(self, value: Scalar | None) -> bool:
        return value is not None and value == self.value

    def _take(self, request: str, value: Scalar | None) -> None:
        if not self.devices:
            self.value = value

    def _drop(self, request: str) -> None:
        return


class Distinct(Constraint):
    """No two requests have a value in common.

    As upstream, one value is kept for each request: of a request for several devices the last one's, and none once
    one of them is taken back. ``compares`` is off where upstream compared addresses and found no two alike.
    """

    compares: bool = True
    values: dict[str, Scalar | None] = {}

    def _admits(self, value: Scalar | None) -> bool:
        if value is None:
            return not self.values
        return not self.compares or value not in self.values.values()

    def _take(self, request: str, value: Scalar | None) -> None:
        self.values[request] = value

    def _drop(self, request: str) -> None:
        self.values.pop(request, None)


Amounts = Mapping[str, int]
_NOTHING: Amounts = {}


def consumption(device: Device, requests: Mapping[str, Quantity] | None) -> dict[str, Quantity]:
    """What a request takes of each capacity: what it asks for, rounded up as the policy says, or the default."""
    return {
        name: _consumption_of((requests or {}).get(name), capacity)
        for name, capacity in (device.capacity or {}).items()
    }


def enough_left(
    device: Device, requests: Mapping[str, Quantity] | None, used: Amounts = _NOTHING, taking: Amounts = _NOTHING
) -> bool | None:
    """Whether the device can take the request beside what is ``used`` and what this search is ``taking``.

    None for a request of a capacity that the device does not have (upstream: CmpRequestOverCapacity).
    """
    capacities = device.capacity or {}
    if any(name not in capacities for name in requests or {}):
        return None
    return not any(True for _ in shortage(device, requests, used, taking))


def shortage(
    device: Device, requests: Mapping[str, Quantity] | None, used: Amounts = _NOTHING, taking: Amounts = _NOTHING
) -> list[str]:
    """The capacities that are too small or may not be asked for like this."""
    missing = []
    for name, capacity in (device.capacity or {}).items():
        amount = _consumption_of((requests or {}).get(name), capacity)
        total = amount.nano() + used.get(name, 0) + taking.get(name, 0)
        if _against_policy(amount, capacity.request_policy) or total > capacity.value.nano():
            missing.append(name)
    return missing


def _consumption_of(requested: Quantity | None, capacity: DeviceCapacity) -> Quantity:
    policy = capacity.request_policy
    if requested is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return requested
    bounds = policy.valid_range
    if bounds is not None and bounds.min is not None:
        if requested < bounds.min:
            return bounds.min
        if bounds.step is None:
            return requested
        least, step = bounds.min.value(), bounds.step.value()
        steps = -(-(requested.value() - least) // step) if step else 0
        return Quantity.from_units(least + step * steps, binary=True)
    if policy.valid_values is not None:
        return next((value for value in policy.valid_values if requested <= value), requested)
    return requested


def _against_policy(amount: Quantity, policy: CapacityPolicy | None) -> bool:
    if policy is None or amount == policy.default:
        return False
    bounds = policy.valid_range
    if bounds is not None:
        if bounds.max is not None and amount > bounds.max:
            return True
        step = bounds.step.value() if bounds.step is not None else 0
        least = bounds.min.value() if bounds.min is not None else 0
        return bool(step) and (amount.value() - least) % step != 0
    return bool(policy.valid_values) and amount not in (policy.valid_values or ())
