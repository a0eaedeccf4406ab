"""Sources of instance type catalogues: files, the ``instance_types.json`` of Karpenter's KWOK provider, and the nodes
and NodeClaims of a snapshot, which show neither other types nor prices.

Upstream: kwok/cloudprovider/helpers.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, NodeSelectorRequirement, ResourceList
from kwhatif.api.decode import convert, decode_json
from kwhatif.api.node_provisioning import EC2NodeClass, NodeClaim
from kwhatif.api.quantity import Quantity
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.autoscaling.karpenter.catalogue import InstanceType, Offering
from kwhatif.autoscaling.karpenter.requirements import (
    CAPACITY_TYPE,
    CAPACITY_TYPES,
    INSTANCE_TYPE,
    RESERVATION_ID,
    RESERVED,
    ZONE,
)
from kwhatif.errors import InputError, UsageError
from kwhatif.results.amounts import format_counts
from kwhatif.simulation.autoscalers.aks_types import AzureSku, PriceList, aks_types, prices_of_azure
from kwhatif.simulation.autoscalers.aws_types import (
    Places,
    SpotPrices,
    Types,
    aws_types,
    provider_options,
    uses_auto_mode,
)
from kwhatif.simulation.autoscalers.gcp_types import MachineType, gcp_types
from kwhatif.simulation.autoscalers.instance_types_document import (
    KIND,
    CatalogueGap,
    InstanceTypesFile,
    OfferedCatalogue,
)
from kwhatif.snapshot.format.model import API_VERSION, Snapshot
from kwhatif.snapshot.read.files import read_paths

_AWS_NAME = re.compile(r"\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)")
_OVERHEAD = {"cpu": Quantity.parse("100m"), "memory": Quantity.parse("10Mi")}
_PODS = {"pods": Quantity.from_units(110)}


class KwokOffering(msgspec.Struct):
    price: float = msgspec.field(name="Price")
    requirements: list[NodeSelectorRequirement] = msgspec.field(name="Requirements")
    reservation_capacity: int = msgspec.field(default=0, name="ReservationCapacity")


class KwokType(msgspec.Struct, rename="camel"):
    name: str
    offerings: list[KwokOffering]
    architecture: str
    operating_systems: list[str]
    resources: ResourceList


def kwok_types(types: Sequence[KwokType], source: str) -> InstanceTypesFile:
    """All types of the file, each offering available. Raises InputError with a place."""
    return InstanceTypesFile(
        api_version=API_VERSION,
        kind=KIND,
        source=source,
        types=[_build_type(kwok_type, f"$[{number}]") for number, kwok_type in enumerate(types)],
    )


def _build_type(type_: KwokType, place: str) -> InstanceType:
    if len(type_.operating_systems) != 1:
        systems = ", ".join(type_.operating_systems) or "none"
        raise InputError(f"expected one operating system, found {systems}", place=f"{place}.operatingSystems")
    capacity = {**_PODS, **type_.resources}
    size = _AWS_NAME.fullmatch(type_.name)
    family = re.split("[.-]", type_.name, maxsplit=1)
    return InstanceType(
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
        offerings=[
            _offering(kwok_offering, f"{place}.offerings[{number}]")
            for number, kwok_offering in enumerate(type_.offerings)
        ],
    )


def _text(capacity: ResourceList, name: str, place: str) -> str:
    if name not in capacity:
        raise InputError(f"expected an amount of {name}, found none", place=f"{place}.resources")
    return capacity[name].canonical


def _offering(offering: KwokOffering, place: str) -> Offering:
    requirements = {requirement.key: (requirement.values or [""])[0] for requirement in offering.requirements}
    for key in (ZONE, CAPACITY_TYPE):
        if not requirements.get(key):
            raise InputError(f"expected a requirement on {key}, found none", place=f"{place}.Requirements")
    plain = {
        "zone": requirements[ZONE],
        "capacityType": requirements[CAPACITY_TYPE],
        "price": offering.price,
        "reservationId": requirements.get(RESERVATION_ID, ""),
        "reservationCapacity": offering.reservation_capacity,
    }
    try:
        return convert(plain, Offering)
    except InputError as error:
        raise InputError(error.problem, place=place + error.place.removeprefix("$")) from None


_OF_TYPES = (
    "karpenter.k8s.aws/instance-",
    "karpenter.kwok.sh/instance-",
    "karpenter.azure.com/sku-",
    "karpenter.k8s.gcp/instance-",
    "eks.amazonaws.com/instance-",
)
_PLATFORM = ("kubernetes.io/arch", "kubernetes.io/os")
_NONE = Quantity.from_units(0)
_INCOMPLETE = "only types that the snapshot has a node of, as nodes have them; prices and other offerings are unknown"


def observed_types(snapshot: Snapshot) -> InstanceTypesFile:
    """Each type as its first node has it, in alphabetical order, offered where it occurs, at no price."""
    types: dict[str, InstanceType] = {}
    for labels, capacity, allocatable in _machines(snapshot):
        name = labels.get(INSTANCE_TYPE)
        if not name or not capacity:
            continue
        kind = labels.get(CAPACITY_TYPE, "on-demand")
        offering = Offering(zone=labels.get(ZONE) or "unknown", capacity_type=kind, price=0.0)  # type: ignore[arg-type]
        offerings = [offering] if kind in CAPACITY_TYPES and kind != RESERVED else []
        there = types.get(name)
        if there is None:
            overhead = {key: amount - allocatable.get(key, _NONE) for key, amount in capacity.items()}
            types[name] = InstanceType(
                name=name,
                labels={key: value for key, value in labels.items() if key in _PLATFORM or key.startswith(_OF_TYPES)},
                capacity=dict(capacity),
                overhead={key: amount for key, amount in overhead.items() if amount > _NONE},
                offerings=offerings,
            )
        else:
            there.offerings.extend(stated for stated in offerings if stated not in there.offerings)
    return InstanceTypesFile(
        api_version=API_VERSION,
        kind=KIND,
        source=snapshot.source or None,
        incomplete=_INCOMPLETE,
        types=sorted(types.values(), key=lambda instance_type: instance_type.name),
    )


def _machines(snapshot: Snapshot) -> Iterator[tuple[Mapping[str, str], ResourceList, ResourceList]]:
    there: list[Node | NodeClaim] = [*snapshot.objects.list_all(Node), *snapshot.objects.list_all(NodeClaim)]
    for machine in there:
        capacity = machine.status.capacity or {}
        yield machine.metadata.labels or {}, capacity, machine.status.allocatable or capacity


T = TypeVar("T")


def load_instance_types(
    snapshot: Snapshot,
    *,
    kwok: str = "",
    types: str = "",
    offerings: str = "",
    spot: str = "",
    prices: str = "",
    azure: str = "",
    gcp: str = "",
    spot_prices: str = "",
    node_class: str = "",
) -> InstanceTypesFile:
    """The catalogue of one of these sources; for AWS a snapshot has the node class. Raises InputError."""
    if azure or gcp:
        known, on_spot = _prices_in(prices), _prices_in(spot_prices, on_spot=True)
        try:
            if azure:
                return aks_types(_read(azure, list[AzureSku]), known, on_spot, azure)
            return gcp_types(_read(gcp, list[MachineType]), known, on_spot, gcp)
        except InputError as error:
            raise (error if error.source else error.with_source(azure or gcp)) from None
    if kwok:
        try:
            return kwok_types(_read(kwok, list[KwokType]), kwok)
        except InputError as error:
            raise error.with_source(kwok) from None
    if not types:
        return observed_types(snapshot)
    return aws_types(
        _read(types, Types),
        _read(offerings, Places),
        _read(spot, SpotPrices) if spot else None,
        _prices_in(prices),
        _node_class_of(snapshot, node_class),
        types,
        provider_options(snapshot),
        auto_mode=uses_auto_mode(snapshot),
    )


def _node_class_of(snapshot: Snapshot, name: str) -> EC2NodeClass | None:
    """The node class of this name, or the only one; None if there is none. Raises UsageError."""
    classes = {ec2_node_class.name: ec2_node_class for ec2_node_class in snapshot.objects.list_all(EC2NodeClass)}
    if name and name not in classes:
        raise UsageError(f"--node-class: the snapshot has no EC2NodeClass {name}{suggest_spelling(name, classes)}")
    if not name and len(classes) > 1:
        differs = "what types leave for pods differs between them (--node-class NAME)"
        raise UsageError(f"expected one EC2NodeClass, found {', '.join(classes)}: {differs}")
    return classes[name] if name else next(iter(classes.values()), None)


def _prices_in(path: str, *, on_spot: bool = False) -> dict[str, float]:
    """The prices of a file, if there is one: a map, or Azure's own list."""
    if not path:
        return {}
    if "Items" not in _read(path, dict[str, msgspec.Raw]):
        return _read(path, dict[str, float])
    try:
        return prices_of_azure(_read(path, PriceList), on_spot=on_spot)
    except InputError as error:
        raise (error if error.source else error.with_source(path)) from None


def _read(path: str, type_: type[T]) -> T:
    """What a file of JSON holds."""
    (text,) = read_paths([path])
    try:
        return decode_json(text.data, type_)
    except InputError as error:
        raise error.with_source(path) from None


_OVERLAYS = ("NodeOverlay",)
_CLASSES = ("AKSNodeClass", "GCENodeClass", "KWOKNodeClass", "NodeClass", "ExoscaleNodeClass", "OciNodeClass")


def noting_unread(catalogue: OfferedCatalogue, snapshot: Snapshot) -> OfferedCatalogue:
    """The catalogue, with notes about the snapshot's objects that would change it and are not read here."""
    notes, gaps = [catalogue.incomplete] if catalogue.incomplete else [], list(catalogue.gaps)
    for kinds, effect in (
        (_OVERLAYS, "prices and amounts that they change are not changed"),
        (_CLASSES, "what machines of them leave for pods is what the catalogue says"),
    ):
        there = {kind: number for kind, number in snapshot.ignored.items() if kind.partition(" ")[0] in kinds}
        if not there:
            continue
        verb = "is" if sum(there.values()) == 1 else "are"
        unread = f"{format_counts(there)} of the snapshot {verb} not read"
        notes.append(f"{unread}: {effect}")
        of_classes = [kind.partition(" ")[0] for kind in there] if kinds is _CLASSES else [""]
        gaps += [CatalogueGap(unread, node_class=kind) for kind in of_classes]
    return replace(catalogue, incomplete="; ".join(notes), gaps=tuple(gaps))
