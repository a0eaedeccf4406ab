"""The claim behind a pod's extended resources, where device classes serve them.

Upstream: plugins/dynamicresources/extendeddynamicresources.go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kwhatif.api.core import Container, ExtendedResourceRequest, PodSpec
from kwhatif.api.devices import EXACT_COUNT, ClaimSpec, DeviceClaim, DeviceClass, DeviceRequest, ExactRequest


@dataclass(slots=True)
class _Made:
    """A request for so many devices, for one container and resource."""

    name: str
    class_name: str
    count: int

    def request(self) -> DeviceRequest:
        exactly = ExactRequest(device_class_name=self.class_name, allocation_mode=EXACT_COUNT, count=self.count)
        return DeviceRequest(name=self.name, exactly=exactly)


def requests_of(
    spec: PodSpec, resources: Collection[str], serving: Mapping[str, DeviceClass], *, reuse: bool
) -> tuple[ClaimSpec, tuple[ExtendedResourceRequest, ...]]:
    """The claim for those of a pod's resources that devices must serve, and which container gets what.

    With ``reuse``, init containers take the devices of the containers that come after them.
    """
    init = list(spec.init_containers or ())
    containers = [*init, *(spec.containers or ())]
    made: list[_Made] = []
    mappings: list[ExtendedResourceRequest] = []
    for resource in sorted(resources):
        if resource not in serving:
            continue
        some, said = _shared_out(containers, len(init) if reuse else 0, resource, serving[resource].name)
        made += some
        mappings += said
    made.sort(key=lambda each: each.name)
    claim = ClaimSpec(devices=DeviceClaim(requests=[each.request() for each in made] or None))
    return claim, tuple(mappings)


def _shared_out(
    containers: list[Container], init: int, resource: str, class_name: str
) -> tuple[list[_Made], list[ExtendedResourceRequest]]:
    """One resource; of the containers, the first ``init`` are init containers that take the others' devices."""
    lasting: list[_Made | None] = [None] * len(containers)
    long_lived: list[ExtendedResourceRequest] = []
    short_lived: list[ExtendedResourceRequest] = []
    passing = [i for i in range(init) if containers[i].restart_policy != "Always"]
    for place, container in enumerate(containers):
        if place not in passing:
            lasting[place], said = _of_container(place, container, resource, class_name, [])
            long_lived += said
    most: _Made | None = None
    names = set()
    for place in passing:
        own, said = _of_container(place, containers[place], resource, class_name, lasting[place:])
        short_lived += said
        if own is not None:
            names.add(own.name)
            if most is None or most.count < own.count:
                most = own
    if most is not None:
        # They run one after the other, so the largest request does for all of them.
        short_lived = [
            ExtendedResourceRequest(
                container_name=each.container_name,
                resource_name=each.resource_name,
                request_name=most.name if each.request_name in names else each.request_name,
            )
            for each in short_lived
        ]
    made = [each for each in (most, *lasting) if each is not None]
    return made, [*long_lived, *short_lived]


def _of_container(
    place: int, container: Container, resource: str, class_name: str, others: list[_Made | None]
) -> tuple[_Made | None, list[ExtendedResourceRequest]]:
    """What a container needs besides the devices of ``others`` that it may use, and where all of it comes from."""
    asked = (container.resources.requests if container.resources else None) or {}
    wanted = asked[resource].exact_int() if resource in asked else None
    if not wanted:
        return None, []

    def said(request: str) -> ExtendedResourceRequest:
        return ExtendedResourceRequest(container_name=container.name, resource_name=resource, request_name=request)

    mappings, had = [], 0
    for other in others:
        if other is not None:
            had += other.count
            mappings.append(said(other.name))
            if had >= wanted:
                return None, mappings
    name = f"container-{place}-request-{sorted(asked).index(resource)}"
    return _Made(name, class_name, wanted - had), [*mappings, said(name)]
