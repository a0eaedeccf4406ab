"""A pod's QoS class and effective requests.

Upstream: pkg/apis/core/v1/helper/qos/qos.go of Kubernetes, and pkg/util/resource.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from kwhatif.api.core import Container, PodSpec, ResourceList
from kwhatif.api.quantity import Quantity

_COMPUTE = ("cpu", "memory")


class QosClass(IntEnum):
    """The higher, the later its pods are evicted."""

    BEST_EFFORT = 1
    BURSTABLE = 2
    GUARANTEED = 3


def containers_of(spec: PodSpec) -> Iterator[Container]:
    """Init containers and then the others."""
    yield from spec.init_containers or ()
    yield from spec.containers or ()


def requests_of(container: Container) -> ResourceList:
    return (container.resources.requests if container.resources else None) or {}


def limits_of(container: Container) -> ResourceList:
    return (container.resources.limits if container.resources else None) or {}


def qos_class_of(spec: PodSpec) -> QosClass:
    """The class that the API server gives a pod of this spec."""
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    whole = spec.resources
    if whole is not None and _says_compute(whole.requests, whole.limits):
        parts = [(whole.requests or {}, whole.limits or {})]
    else:
        parts = [(requests_of(container), limits_of(container)) for container in containers_of(spec)]
    for requested, limited in parts:
        _add_compute(requests, requested)
        guaranteed &= _add_compute(limits, limited) == set(_COMPUTE)
    if not requests and not limits:
        return QosClass.BEST_EFFORT
    if guaranteed and requests == limits:
        return QosClass.GUARANTEED
    return QosClass.BURSTABLE


def _says_compute(*lists: ResourceList | None) -> bool:
    return any(name in _COMPUTE or name.startswith("hugepages-") for amounts in lists for name in amounts or {})


def _add_compute(total: dict[str, Quantity], amounts: ResourceList) -> set[str]:
    """Add what there is of cpu and memory; returns which of them were given."""
    given = {name for name in _COMPUTE if name in amounts and float(amounts[name]) > 0}
    for name in given:
        total[name] = total[name] + amounts[name] if name in total else amounts[name]
    return given


def effective_requests(spec: PodSpec) -> dict[str, Quantity]:
    """The most of init containers, sidecars among them, and of the sum of the others; with the overhead."""
    total: dict[str, Quantity] = {}
    for container in spec.containers or ():
        for name, amount in requests_of(container).items():
            total[name] = total[name] + amount if name in total else amount
    for container in spec.init_containers or ():
        for name, amount in requests_of(container).items():
            if name not in total or amount > total[name]:
                total[name] = amount
    for name, amount in (spec.overhead or {}).items():
        total[name] = total[name] + amount if name in total else amount
    return total
