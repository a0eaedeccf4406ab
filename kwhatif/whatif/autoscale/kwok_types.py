"""The catalogue of Karpenter's KWOK provider, its ``instance_types.json``, as a catalogue of ours.

Upstream: kwok/cloudprovider/helpers.go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from kwhatif.api.core import NodeSelectorRequirement, ResourceList
from kwhatif.api.decode import convert
from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.karpenter.known_labels import CAPACITY_TYPE, RESERVATION_ID, ZONE
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.whatif.autoscale.instance_types_document import KIND, InstanceTypesFile, KnownOffering, KnownType

_AWS_NAME = re.compile(r"\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)")
_OVERHEAD = {"cpu": Quantity.parse("100m"), "memory": Quantity.parse("10Mi")}
_PODS = {"pods": Quantity.from_units(110)}


class _Offering(msgspec.Struct):
    price: float = msgspec.field(name="Price")
    requirements: list[NodeSelectorRequirement] = msgspec.field(name="Requirements")
    reservation_capacity: int = msgspec.field(default=0, name="ReservationCapacity")


class KwokType(msgspec.Struct, rename="camel"):
    name: str
    offerings: list[_Offering]
    architecture: str
    operating_systems: list[str]
    resources: ResourceList


def kwok_types(types: Sequence[KwokType], source: str) -> InstanceTypesFile:
    """All types of the file, each offering available. Raises InputError with a place."""
    return InstanceTypesFile(
        api_version=API_VERSION,
        kind=KIND,
        source=source,
        types=[_known(each, f"$[{number}]") for number, each in enumerate(types)],
    )


def _known(type_: KwokType, place: str) -> KnownType:
    if len(type_.operating_systems) != 1:
        found = ", ".join(type_.operating_systems) or "none"
        raise InputError(f"expected one operating system, found {found}", place=f"{place}.operatingSystems")
    capacity = {**_PODS, **type_.resources}
    size = _AWS_NAME.fullmatch(type_.name)
    family = re.split("[.-]", type_.name, maxsplit=1)
    return KnownType(
        name=type_.name,
        labels={
            "kubernetes.io/arch": type_.architecture,
            "kubernetes.io/os": type_.operating_systems[0],
            "karpenter.kwok.sh/instance-size": size[1] if size else _text(capacity, "cpu", place),
            "karpenter.kwok.sh/instance-family": family[0] if len(family) > 1 else type_.name[:1],
            "karpenter.kwok.sh/instance-cpu": _text(capacity, "cpu", place),
            "karpenter.kwok.sh/instance-memory": _text(capacity, "memory", place),
        },
        capacity=capacity,
        overhead=_OVERHEAD,
        offerings=[_offering(each, f"{place}.offerings[{number}]") for number, each in enumerate(type_.offerings)],
    )


def _text(capacity: ResourceList, name: str, place: str) -> str:
    if name not in capacity:
        raise InputError(f"expected an amount of {name}, found none", place=f"{place}.resources")
    return capacity[name].canonical


def _offering(offering: _Offering, place: str) -> KnownOffering:
    asked = {each.key: (each.values or [""])[0] for each in offering.requirements}
    for key in (ZONE, CAPACITY_TYPE):
        if not asked.get(key):
            raise InputError(f"expected a requirement on {key}, found none", place=f"{place}.Requirements")
    plain = {
        "zone": asked[ZONE],
        "capacityType": asked[CAPACITY_TYPE],
        "price": offering.price,
        "reservationId": asked.get(RESERVATION_ID, ""),
        "reservationCapacity": offering.reservation_capacity,
    }
    try:
        return convert(plain, KnownOffering)
    except InputError as error:
        raise InputError(error.problem, place=place + error.place.removeprefix("$")) from None
