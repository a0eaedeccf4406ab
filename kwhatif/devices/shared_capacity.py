"""How much of a shared device a request takes, and whether that much is left.

Amounts are billionths. Upstream: dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.api.devices import CapacityPolicy, Device, DeviceCapacity
from kwhatif.api.quantity import Quantity

Amounts = Mapping[str, int]
_NOTHING: Amounts = {}


def consumption(device: Device, asked: Mapping[str, Quantity] | None) -> dict[str, Quantity]:
    """What a request takes of each capacity: what it asks for, rounded up as the policy says, or the default."""
    return {name: _taken((asked or {}).get(name), capacity) for name, capacity in (device.capacity or {}).items()}


def enough_left(
    device: Device, asked: Mapping[str, Quantity] | None, used: Amounts = _NOTHING, taking: Amounts = _NOTHING
) -> bool | None:
    """Whether the device can take the request beside what is ``used`` and what this search is ``taking``.

    None for a request of a capacity that the device does not have (upstream: CmpRequestOverCapacity).
    """
    capacities = device.capacity or {}
    if any(name not in capacities for name in asked or {}):
        return None
    return not any(True for _ in shortage(device, asked, used, taking))


def shortage(
    device: Device, asked: Mapping[str, Quantity] | None, used: Amounts = _NOTHING, taking: Amounts = _NOTHING
) -> list[str]:
    """The capacities that are too small or may not be asked for like this."""
    found = []
    for name, capacity in (device.capacity or {}).items():
        amount = _taken((asked or {}).get(name), capacity)
        total = amount.nano() + used.get(name, 0) + taking.get(name, 0)
        if _against_policy(amount, capacity.request_policy) or total > capacity.value.nano():
            found.append(name)
    return found


def _taken(asked: Quantity | None, capacity: DeviceCapacity) -> Quantity:
    policy = capacity.request_policy
    if asked is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return asked
    bounds = policy.valid_range
    if bounds is not None and bounds.min is not None:
        if asked < bounds.min:
            return bounds.min
        if bounds.step is None:
            return asked
        least, step = bounds.min.value(), bounds.step.value()
        steps = -(-(asked.value() - least) // step) if step else 0
        return Quantity.from_units(least + step * steps, binary=True)
    if policy.valid_values is not None:
        return next((value for value in policy.valid_values if asked <= value), asked)
    return asked


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
