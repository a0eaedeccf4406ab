"""matchAttribute and distinctAttribute: what the devices of a claim must have in common, or not.

Upstream: dynamic-resource-allocation/structured/internal/incubating (allocator_incubating.go, constraint.go).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kwhatif.api.devices import Device, DeviceAttribute

Scalar = tuple[str, object]


def attribute_of(device: Device, driver: str, name: str) -> DeviceAttribute | None:
    """An attribute by its full name; the domain may be missing in the device where it is the driver's."""
    attributes = device.attributes or {}
    if name in attributes:
        return attributes[name]
    domain, slash, own = name.partition("/")
    return attributes.get(own) if slash and domain == driver else None


@dataclass(slots=True)
class Constraint:
    """``requests`` are the names it is about, all of them where there is none."""

    attribute: str
    requests: frozenset[str]
    devices: int = 0

    def concerns(self, request: str, alternative: str) -> bool:
        names = (request, f"{request}/{alternative}") if alternative else (request,)
        return not self.requests or any(name in self.requests for name in names)

    def add(self, request: str, alternative: str, device: Device, driver: str) -> bool:
        """Count a device in, unless it breaks the constraint."""
        if not self.concerns(request, alternative):
            return True
        found = attribute_of(device, driver, self.attribute)
        if found is None:
            return False
        if self.devices and not self._admits(found.scalar):
            return False
        self._take(request, found.scalar)
        self.devices += 1
        return True

    def remove(self, request: str, alternative: str) -> None:
        """Undo the last ``add`` of the request."""
        if self.concerns(request, alternative):
            self._drop(request)
            self.devices -= 1

    def _admits(self, value: Scalar | None) -> bool:
        raise NotImplementedError

    def _take(self, request: str, value: Scalar | None) -> None:
        raise NotImplementedError

    def _drop(self, request: str) -> None:
        raise NotImplementedError


@dataclass(slots=True)
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


@dataclass(slots=True)
class Distinct(Constraint):
    """No two requests have a value in common.

    As upstream, one value is kept for each request: of a request for several devices the last one's, and none once
    one of them is taken back. ``compares`` is off where upstream compared addresses and found no two alike.
    """

    compares: bool = True
    values: dict[str, Scalar | None] = field(default_factory=dict)

    def _admits(self, value: Scalar | None) -> bool:
        if value is None:
            return not self.values
        return not self.compares or value not in self.values.values()

    def _take(self, request: str, value: Scalar | None) -> None:
        self.values[request] = value

    def _drop(self, request: str) -> None:
        self.values.pop(request, None)
