"""From an outcome to the allocation that is written into claims, and the claim behind a pod's extended resources.

Upstream: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (createNodeSelector) and
plugins/dynamicresources/extendeddynamicresources.go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import NAMESPACE_OID, uuid5

import msgspec

from kwhatif.api.core import (
    Container,
    ExtendedResourceRequest,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
)
from kwhatif.api.devices import (
    EXACT_COUNT,
    Allocation,
    ClaimSpec,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceResult,
    DeviceResults,
    ExactRequest,
    ResourceClaim,
)
from kwhatif.devices.allocator import AllocationOutcome, DevicePick, Problem
from kwhatif.devices.inventory import Inventory, Unit
from kwhatif.versions import Features


def allocations(
    inventory: Inventory, row: int, outcome: AllocationOutcome, claims: list[ResourceClaim], features: Features
) -> list[Allocation]:
    """The allocation of each claim on a node whose search came out well."""
    assert outcome.picks is not None
    start = int(inventory.starts[row])
    node = inventory.columns.names[row]
    shared = []
    for claim, picks in zip(claims, outcome.picks, strict=True):
        units = [inventory.units[int(inventory.flat[start + pick.place])] for pick in picks]
        results = [
            _result(pick, unit, f"{claim.identity}/{place}", features)
            for place, (pick, unit) in enumerate(zip(picks, units, strict=True))
        ]
        devices = DeviceResults(results=results or None)
        shared.append(Allocation(devices=devices, node_selector=_node_selector(units, node)))
    return shared


def _result(pick: DevicePick, unit: Unit, seed: str, features: Features) -> DeviceResult:
    driver, pool, name = unit.id
    shares = features.dra_consumable_capacity and unit.device.allow_multiple_allocations
    return DeviceResult(
        request=pick.want.full_name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=True if pick.want.admin else None,
        tolerations=list(pick.want.tolerations) or None,
        binding_conditions=unit.device.binding_conditions if features.binding_conditions else None,
        binding_failure_conditions=unit.device.binding_failure_conditions if features.binding_conditions else None,
        # Upstream's is random; one derived from the request keeps answers reproducible.
        share_id=str(uuid5(NAMESPACE_OID, f"{seed}/{'/'.join(unit.id)}")) if shares else None,
        consumed_capacity=pick.consumed or None,
    )


def _node_selector(units: list[Unit], node: str) -> NodeSelector | None:
    """Where claims with these devices can be used; None for everywhere."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for unit in units:
        own = unit.device if unit.slice.spec.per_device_node_selection else unit.slice.spec
        if own.node_name is not None or unit.device.binds_to_node:
            only = NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])
            return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[only])])
        terms = own.node_selector.node_selector_terms if own.node_selector else None
        if terms and len(terms) == 1:
            _add_new(fields, terms[0].match_fields or [])
            _add_new(expressions, terms[0].match_expressions or [])
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_fields=fields or None, match_expressions=expressions or None)
    return NodeSelector(node_selector_terms=[term])


def _add_new(requirements: list[NodeSelectorRequirement], more: list[NodeSelectorRequirement]) -> None:
    for requirement in more:
        if not any(
            requirement.key == other.key
            and requirement.operator == other.operator
            and set(requirement.values or ()) == set(other.values or ())
            for other in requirements
        ):
            requirements.append(requirement)


def format_problem(problem: Problem, inventory: Inventory, row: int, claims: list[ResourceClaim]) -> str:
    """The text of a problem on one node."""
    text = problem.text.replace("{node}", inventory.columns.names[row])
    if claims:
        text = text.replace("{claim}", claims[problem.claim].key)
    if problem.place >= 0:
        unit = inventory.units[int(inventory.flat[int(inventory.starts[row]) + problem.place])]
        text = text.replace("{device}", "/".join(unit.id))
    if problem.pool >= 0:
        text = text.replace("{pool}", inventory.pools[row][problem.pool].name)
    return text


class _ContainerRequest(msgspec.Struct):
    """A request for a number of devices, for one container and resource."""

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
    made: list[_ContainerRequest] = []
    mappings: list[ExtendedResourceRequest] = []
    for resource in sorted(resources):
        if resource not in serving:
            continue
        some, said = _shared_out(containers, len(init) if reuse else 0, resource, serving[resource].name)
        made += some
        mappings += said
    made.sort(key=lambda request: request.name)
    claim = ClaimSpec(devices=DeviceClaim(requests=[request.request() for request in made] or None))
    return claim, tuple(mappings)


def _shared_out(
    containers: list[Container], init: int, resource: str, class_name: str
) -> tuple[list[_ContainerRequest], list[ExtendedResourceRequest]]:
    """One resource; the first ``init`` containers are init containers, which reuse the others' devices."""
    lasting: list[_ContainerRequest | None] = [None] * len(containers)
    long_lived: list[ExtendedResourceRequest] = []
    short_lived: list[ExtendedResourceRequest] = []
    passing = [i for i in range(init) if containers[i].restart_policy != "Always"]
    for place, container in enumerate(containers):
        if place not in passing:
            lasting[place], said = _of_container(place, container, resource, class_name, [])
            long_lived += said
    most: _ContainerRequest | None = None
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
                container_name=extended_resource_request.container_name,
                resource_name=extended_resource_request.resource_name,
                request_name=most.name
                if extended_resource_request.request_name in names
                else extended_resource_request.request_name,
            )
            for extended_resource_request in short_lived
        ]
    made = [request for request in (most, *lasting) if request is not None]
    return made, [*long_lived, *short_lived]


def _of_container(
    place: int, container: Container, resource: str, class_name: str, others: list[_ContainerRequest | None]
) -> tuple[_ContainerRequest | None, list[ExtendedResourceRequest]]:
    """What a container needs besides the devices of ``others`` that it may use, and where all of it comes from."""
    requests = (container.resources.requests if container.resources else None) or {}
    wanted = requests[resource].exact_int() if resource in requests else None
    if not wanted:
        return None, []

    def build_mapping(request: str) -> ExtendedResourceRequest:
        return ExtendedResourceRequest(container_name=container.name, resource_name=resource, request_name=request)

    mappings, had = [], 0
    for other in others:
        if other is not None:
            had += other.count
            mappings.append(build_mapping(other.name))
            if had >= wanted:
                return None, mappings
    name = f"container-{place}-request-{sorted(requests).index(resource)}"
    return _ContainerRequest(name, class_name, wanted - had), [*mappings, build_mapping(name)]
