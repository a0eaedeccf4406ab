"""Instance types of AWS, from the output of ``aws ec2`` describe-instance-types, -instance-type-offerings,
-spot-price-history.

Upstream: pkg/providers/instancetype/offering/offering.go of aws/karpenter-provider-aws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.api.core import Node
from kwhatif.api.node_provisioning import EC2NodeClass, NodePool
from kwhatif.api.objects import section
from kwhatif.autoscaling.karpenter.catalogue import InstanceType, Offering
from kwhatif.autoscaling.karpenter.requirements import EKS
from kwhatif.errors import InputError
from kwhatif.simulation.autoscalers.ec2_description import EC2Type, Places, Price, SpotPrices, Types
from kwhatif.simulation.autoscalers.ec2_machines import EC2Machine, ProviderOptions, family_of
from kwhatif.simulation.autoscalers.instance_types_document import (
    KIND,
    InstanceTypesFile,
    Lack,
    lacking_prices,
)
from kwhatif.snapshot.format.model import API_VERSION, Snapshot

__all__ = ["Places", "SpotPrices", "Types", "aws_types", "provider_options", "uses_auto_mode"]

_APPROXIMATE = "allocatable of types is estimated by the rules of EKS"
_BRANCHES = "no command lists how many vpc.amazonaws.com/pod-eni a type has: estimated from its size"


def aws_types(
    types: Types,
    places: Places,
    spot: SpotPrices | None,
    on_demand: Mapping[str, float],
    node_class: EC2NodeClass | None,
    source: str,
    options: ProviderOptions,
    *,
    auto_mode: bool = False,
) -> InstanceTypesFile:
    """All types, offered where they are and a price is known.

    ``on_demand`` are prices per hour, which none of the three commands tells. Without a node class it is taken to be
    one of AL2023 that says nothing.
    """
    zones: dict[str, list[str]] = {}
    for place in places.instance_type_offerings:
        zones.setdefault(place.instance_type, []).append(place.location)
    prices = dict(_latest(spot.spot_price_history if spot else ()))
    ids = _zone_ids(node_class)
    instance_types = []
    for instance_type in sorted(types.instance_types, key=lambda ec2_type: ec2_type.instance_type):
        there = [zone for zone in sorted(zones.get(instance_type.instance_type, ())) if not ids or zone in ids]
        offerings = list(_offerings(instance_type, there, prices, on_demand, ids))
        instance_types.append(_describe_type(instance_type, node_class, options, there, offerings, auto_mode=auto_mode))
    lacks: list[Lack] = lacking_prices(on_demand, prices)
    if node_class is None:
        lacks.append("nodeClass")
    return InstanceTypesFile(
        api_version=API_VERSION,
        kind=KIND,
        source=source,
        incomplete="; ".join(_missing(types, node_class, spot, on_demand, auto_mode=auto_mode)),
        lacks=lacks,
        node_class=node_class.name if node_class else None,
        types=instance_types,
    )


def _missing(
    types: Types,
    node_class: EC2NodeClass | None,
    spot: SpotPrices | None,
    on_demand: Mapping[str, float],
    *,
    auto_mode: bool,
) -> Iterator[str]:
    """What is not known, in words."""
    yield _APPROXIMATE
    yield _BRANCHES
    if not on_demand:
        yield "on-demand prices are unknown, so that nothing is offered on demand"
    if spot is None:
        number = sum("spot" in instance_type.supported_usage_classes for instance_type in types.instance_types)
        if number:
            yield f"spot prices are unknown, so that none of the {number} types with spot machines is offered on spot"
    if node_class is None:
        yield "no EC2NodeClass is known: an empty one of AL2023 is assumed"
    elif family_of(node_class) == "Custom":
        yield "the EC2NodeClass has custom images: allocatable may differ"
    if any(instance_type.network_info.megabits is None for instance_type in types.instance_types):
        yield "network bandwidths are not known of all types: those have no such label"
    if auto_mode:
        yield "allocatable under EKS Auto Mode is not public: estimated as for Karpenter's own nodes"


def _zone_ids(node_class: EC2NodeClass | None) -> dict[str, str]:
    """The zones of a node class's subnets and their ids; empty where its status does not tell."""
    subnets = (node_class.status.subnets if node_class else None) or ()
    return {subnet.zone: subnet.zone_id or "" for subnet in subnets if subnet.zone}


def _offerings(
    type_: EC2Type,
    zones: Sequence[str],
    spot: Mapping[tuple[str, str], float],
    on_demand: Mapping[str, float],
    ids: Mapping[str, str],
) -> Iterator[Offering]:
    name, classes = type_.instance_type, type_.supported_usage_classes
    for zone in zones:
        zone_id = ids.get(zone, "")
        if "on-demand" in classes and name in on_demand:
            yield Offering(zone=zone, capacity_type="on-demand", price=on_demand[name], zone_id=zone_id)
        if "spot" in classes and (name, zone) in spot:
            yield Offering(zone=zone, capacity_type="spot", price=spot[name, zone], zone_id=zone_id)


def _latest(history: Sequence[Price]) -> Iterator[tuple[tuple[str, str], float]]:
    """Of each type and zone, of Linux."""
    for price in sorted(history, key=lambda entry: entry.timestamp):
        if price.product_description.startswith("Linux"):
            yield (price.instance_type, price.availability_zone), float(price.spot_price)


def _describe_type(
    type_: EC2Type,
    node_class: EC2NodeClass | None,
    options: ProviderOptions,
    zones: Sequence[str],
    offerings: list[Offering],
    *,
    auto_mode: bool,
) -> InstanceType:
    if node_class is None:
        machine = EC2Machine(type_, EC2NodeClass(), options)
    else:
        machine = EC2Machine(type_, node_class, options, family_of(node_class))
    region = zones[0].rstrip("abcdefghijklmnopqrstuvwxyz") if zones and zones[0][-1:].isalpha() else ""
    return InstanceType(
        name=type_.instance_type,
        labels=machine.labels(region, auto_mode=auto_mode),
        capacity=machine.capacity(),
        overhead=machine.overhead(),
        offerings=offerings,
    )


# --- what a snapshot tells of Karpenter itself


def uses_auto_mode(snapshot: Snapshot) -> bool:
    """Whether EKS Auto Mode provisions nodes here: a NodePool refers to its node class, or it made a node."""
    groups = {pool.spec.template.spec.node_class_ref.group for pool in snapshot.objects.list_all(NodePool)}
    nodes = (node.metadata.labels or {} for node in snapshot.objects.list_all(Node))
    return EKS in groups or any(labels.get(f"{EKS}/compute-type") == "auto" for labels in nodes)


def provider_options(snapshot: Snapshot) -> ProviderOptions:
    """Karpenter's settings, by the environment of its Deployment. Raises InputError for what is no number."""
    seen: dict[str, str] = {}
    for deployment in snapshot.whole.get("Deployment", ()):
        for container in section(deployment, "spec", "template", "spec").get("containers") or ():
            if "karpenter" in str(container.get("image") or ""):
                seen |= {
                    str(variable.get("name")): str(variable.get("value")) for variable in container.get("env") or ()
                }
    try:
        return ProviderOptions(int(seen.get("RESERVED_ENIS", 0)), float(seen.get("VM_MEMORY_OVERHEAD_PERCENT", 0.075)))
    except ValueError as error:
        raise InputError(f"the environment of Karpenter's Deployment: {error}", source=snapshot.source) from None
