"""Instance types of AKS, from the output of ``az vm list-skus --resource-type virtualMachines -o json``.

Allocatable resources are computed as Karpenter's provider for Azure does. Upstream: pkg/providers/instancetype
(instancetype.go, instancetypes.go) and pkg/apis/v1beta1/labels.go of Azure/karpenter-provider-azure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kwhatif.api.core import ResourceList
from kwhatif.api.decode import describe_value
from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.karpenter.catalogue import InstanceType, Offering
from kwhatif.errors import InputError
from kwhatif.golang.parsing import finite
from kwhatif.simulation.autoscalers.instance_types_document import (
    InstanceTypesFile,
    assemble_file,
)

Brackets = Sequence[tuple[float, float]]
"""Up to which amount a bracket goes, and which share of what is in it is kept; the last one goes on."""


def reserved_share(brackets: Brackets, amount: float) -> float:
    """The reserved part of an amount."""
    kept, lower = 0.0, 0.0
    for upper, share in brackets:
        if lower > amount:
            break
        kept += (min(upper, amount) - lower) * share
        lower = upper
    return kept


_AZURE, _AKS = "karpenter.azure.com/sku-", "kubernetes.azure.com/sku-"
_GI = 2**30
_MEMORY_OVERHEAD = 0.075
_MEMORY = ((4, 0.25), (8, 0.20), (16, 0.10), (128, 0.06), (math.inf, 0.02))
"""Gibibytes that the kubelet keeps."""
_CPU = ((1, 0.06), (2, 0.04), (4, 0.02), (math.inf, 0.01))
_EVICTION = Quantity.parse("750Mi")
_NUMBERS = ("vCPUs", "MemoryGB", "GPUs", "CachedDiskBytes", "MaxResourceVolumeMB")
_LEAST_CORES, _LEAST_MEMORY = 2, 3.5
_PODS, _DISK = 250, "128G"
_SIZE = re.compile(
    r"(?:Standard_|Basic_)?(?P<family>[A-Z])(?P<sub>[A-Z]*)(?P<cpus>\d+)(?P<less>-\d+)?(?P<features>[a-z]*)"
    r"(?:_(?P<device>[A-Z][A-Za-z0-9]*))?(?:_v(?P<version>\d+))?(?:_Promo)?"
)
_AMD = re.compile(r"NV\d+as_v4|MI\d+", re.IGNORECASE)
_INCOMPLETE = (
    "allocatable of sizes is estimated as Karpenter's provider for Azure does",
    f"pods and disks are those of an empty node class: {_PODS} pods, {_DISK} of disk",
    "GPU vendors are derived from the names of sizes",
)


class _Capability(msgspec.Struct):
    name: str
    value: str


class _Location(msgspec.Struct):
    location: str
    zones: list[str] | None = None


class _RestrictionInfo(msgspec.Struct):
    zones: list[str] | None = None


class _Restriction(msgspec.Struct, rename="camel"):
    type: str
    restriction_info: _RestrictionInfo | None = None


class AzureSku(msgspec.Struct, rename="camel"):
    """A size of machines, in one location."""

    name: str
    resource_type: str = "virtualMachines"
    location_info: list[_Location] = []
    capabilities: list[_Capability] | None = None
    restrictions: list[_Restriction] | None = None


class _RetailPrice(msgspec.Struct, rename="camel"):
    arm_sku_name: str = ""
    retail_price: float = 0
    product_name: str = ""
    meter_name: str = ""
    sku_name: str = ""
    service_name: str = "Virtual Machines"
    arm_region_name: str = ""
    type: str = "Consumption"


class PriceList(msgspec.Struct):
    """What Azure's price list (``/api/retail/prices``) answers: a page, or all of them in one."""

    items: list[_RetailPrice] = msgspec.field(name="Items")
    next: str | None = msgspec.field(default=None, name="NextPageLink")


def prices_of_azure(prices: PriceList, *, on_spot: bool) -> dict[str, float]:
    """The prices of sizes by the hour, of Linux. Raises InputError for a part of a list, or for several regions.

    Upstream: pkg/providers/pricing/pricing.go.
    """
    if prices.next:
        raise InputError("$.NextPageLink: the Items of all pages belong in one file")
    chosen = [
        item
        for item in prices.items
        if (item.service_name, item.type) == ("Virtual Machines", "Consumption")
        and item.sku_name.endswith(" Spot") == on_spot
        and not item.product_name.endswith(" Windows")
        and not item.meter_name.endswith(" Low Priority")
    ]
    regions = sorted({price.arm_region_name for price in chosen})
    if len(regions) > 1:
        raise InputError(f"expected prices of one region, found {', '.join(map(describe_value, regions[:3]))}")
    return {price.arm_sku_name: price.retail_price for price in chosen}


def aks_types(
    skus: Sequence[AzureSku], on_demand: Mapping[str, float], spot: Mapping[str, float], source: str
) -> InstanceTypesFile:
    """All sizes that AKS takes, offered where they are and a price is known. Raises InputError with a place."""
    types: dict[str, InstanceType] = {}
    for number, sku in enumerate(skus):
        if sku.resource_type != "virtualMachines" or any(
            restriction.type == "Location" for restriction in sku.restrictions or ()
        ):
            continue
        fields = {capability.name: capability.value for capability in sku.capabilities or ()}
        parts = _SIZE.fullmatch(sku.name)
        wrong = [name for name in _NUMBERS if finite(fields.get(name, 0)) is None]
        if wrong:
            problem = f"{wrong[0]}: expected a number, found {describe_value(fields[wrong[0]])}"
            raise InputError(problem, place=f"$[{number}].capabilities")
        cores, gibibytes = int(float(fields.get("vCPUs", 0))), float(fields.get("MemoryGB", 0))
        if parts is None or parts["less"] or cores < _LEAST_CORES or gibibytes < _LEAST_MEMORY:
            continue
        if parts["family"] + parts["sub"] in ("DC", "EC"):
            continue
        offerings = list(_offerings(sku, fields, on_demand, spot))
        types[sku.name] = _describe_size(sku.name, parts, fields, cores, gibibytes, offerings)
    return assemble_file([types[name] for name in sorted(types)], on_demand, spot, source, _INCOMPLETE)


def _offerings(
    sku: AzureSku, capabilities: Mapping[str, str], on_demand: Mapping[str, float], spot: Mapping[str, float]
) -> Iterator[Offering]:
    barred = {
        zone
        for restriction in sku.restrictions or ()
        if restriction.type == "Zone" and restriction.restriction_info is not None
        for zone in restriction.restriction_info.zones or ()
    }
    for place in sku.location_info:
        # Where a region has no zones, Azure calls the only one 0.
        zones = [zone for zone in sorted(place.zones or []) if zone not in barred] or ([] if place.zones else ["0"])
        for zone in zones:
            named = f"{place.location.lower()}-{zone}" if zone != "0" else "0"
            if sku.name in on_demand:
                yield Offering(zone=named, capacity_type="on-demand", price=on_demand[sku.name])
            if sku.name in spot and capabilities.get("LowPriorityCapable") == "True":
                yield Offering(zone=named, capacity_type="spot", price=spot[sku.name])


def _describe_size(
    name: str,
    parts: re.Match[str],
    capabilities: Mapping[str, str],
    cores: int,
    gibibytes: float,
    offerings: list[Offering],
) -> InstanceType:
    memory = int(gibibytes) * _GI
    gpus = int(float(capabilities.get("GPUs", 0)))
    maker = "" if not gpus else "amd" if _AMD.search(name) else "nvidia"
    version = parts["version"] or "1"
    series = "_".join(filter(None, (parts["family"] + parts["sub"] + parts["features"], parts["device"])))
    mebibytes = str(int(gibibytes * 1024))
    labels = {
        "kubernetes.io/arch": "arm64" if capabilities.get("CpuArchitectureType") == "Arm64" else "amd64",
        "kubernetes.io/os": "linux",
        f"{_AZURE}name": name,
        f"{_AZURE}family": parts["family"],
        f"{_AZURE}series": series + (f"_v{parts['version']}" if parts["version"] else ""),
        f"{_AZURE}version": version,
        f"{_AZURE}cpu": str(cores),
        f"{_AZURE}memory": mebibytes,
        f"{_AKS}cpu": str(cores),
        f"{_AKS}memory": mebibytes,
        f"{_AZURE}gpu-count": str(gpus),
        f"{_AZURE}storage-premium-capable": str(capabilities.get("PremiumIO") == "True").lower(),
        f"{_AZURE}networking-accelerated": str(capabilities.get("AcceleratedNetworkingEnabled") == "True").lower(),
    }
    if maker:
        labels[f"{_AZURE}gpu-manufacturer"] = maker
        if parts["device"]:
            labels[f"{_AZURE}gpu-name"] = parts["device"]
    if largest := _largest_os_disk(capabilities):
        labels[f"{_AZURE}storage-ephemeralos-maxsize"] = str(largest)
    capacity: ResourceList = {
        "cpu": Quantity.from_units(cores),
        "memory": Quantity.from_units(memory - math.ceil(memory * _MEMORY_OVERHEAD), binary=True),
        "ephemeral-storage": Quantity.parse(_DISK),
        "pods": Quantity.from_units(_PODS),
    }
    if maker:
        capacity[f"{maker}.com/gpu"] = Quantity.from_units(gpus)
    kept = Quantity.from_units(int(1024 * reserved_share(_MEMORY, gibibytes)) * 2**20, binary=True)
    overhead = {"cpu": Quantity.from_milli(int(1000 * reserved_share(_CPU, cores))), "memory": kept + _EVICTION}
    return InstanceType(name=name, labels=labels, capacity=capacity, overhead=overhead, offerings=offerings)


def _largest_os_disk(capabilities: Mapping[str, str]) -> int:
    """Gigabytes of the largest disk of the machine's own that its system may be on."""
    cached, own = (float(capabilities.get(name, 0)) for name in ("CachedDiskBytes", "MaxResourceVolumeMB"))
    return int(max(cached, own * 2**20) / 10**9)
