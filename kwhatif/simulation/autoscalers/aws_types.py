"""A catalogue from what ``aws ec2`` prints: describe-instance-types, -instance-type-offerings, -spot-price-history.

What a type leaves for pods is reckoned by the rules of EKS, which is an approximation: pods by network interfaces,
memory less a share for the machine's own, kube-reserved by cpu and pods, and the kubelet's thresholds.
Upstream: pkg/providers/instancetype/types.go of aws/karpenter-provider-aws.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from kwhatif.api.core import ResourceList
from kwhatif.api.node_provisioning import EC2NodeClass, KubeletSettings
from kwhatif.api.quantity import Quantity
from kwhatif.simulation.autoscalers.instance_types_document import KIND, InstanceTypesFile, KnownOffering, KnownType
from kwhatif.snapshot.format.model import API_VERSION

_AWS = "karpenter.k8s.aws/instance-"
_MI = 2**20
_NAME = re.compile(r"([a-z]+)(?:-[0-9]+tb)?([0-9]+).*\.")
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_LOST = 0.075
"""The share of the memory that the machine itself needs, unless somebody measured it."""
_RESERVED_CPU = ((0, 1000, 0.06), (1000, 2000, 0.01), (2000, 4000, 0.005), (4000, 1 << 31, 0.0025))
"""Thousandths of a core from, up to, and what share of them goes to the kubelet."""
_INCOMPLETE = "what types leave for pods is reckoned by the rules of EKS, an approximation"


_Count = Annotated[int, Meta(ge=0, lt=2**31)]


class _Pascal(msgspec.Struct, rename="pascal"):
    """A part of what the client prints."""


class _Cpu(_Pascal):
    default_v_cpus: _Count


class _Memory(_Pascal):
    size_in_mi_b: _Count = msgspec.field(name="SizeInMiB")


class _Processor(_Pascal):
    supported_architectures: list[str]
    manufacturer: str = ""


class _Card(_Pascal):
    maximum_network_interfaces: _Count


class _Network(_Pascal):
    network_cards: Annotated[list[_Card], Meta(min_length=1)]
    ipv4_addresses_per_interface: _Count
    default_network_card_index: _Count = 0


class _Gpu(_Pascal):
    name: str
    manufacturer: str
    count: _Count


class _Gpus(_Pascal):
    gpus: list[_Gpu]


class _Type(_Pascal):
    instance_type: str
    v_cpu_info: _Cpu
    memory_info: _Memory
    processor_info: _Processor
    network_info: _Network
    supported_usage_classes: list[str]
    gpu_info: _Gpus | None = None
    hypervisor: str = ""


class Types(_Pascal):
    instance_types: list[_Type]


class _Place(_Pascal):
    instance_type: str
    location: str


class Places(_Pascal):
    instance_type_offerings: list[_Place]


class _Price(_Pascal):
    instance_type: str
    availability_zone: str
    spot_price: Annotated[str, Meta(pattern=r"^[0-9]{1,15}(\.[0-9]{1,15})?$")]
    timestamp: str
    product_description: str = "Linux/UNIX"


class SpotPrices(_Pascal):
    spot_price_history: list[_Price]


def aws_types(
    types: Types,
    places: Places,
    spot: SpotPrices | None,
    on_demand: Mapping[str, float],
    node_class: EC2NodeClass,
    source: str,
) -> InstanceTypesFile:
    """All types, offered where they are and a price is known.

    ``on_demand`` are prices by the hour, which none of the three commands tells.
    """
    zones: dict[str, list[str]] = {}
    for place in places.instance_type_offerings:
        zones.setdefault(place.instance_type, []).append(place.location)
    prices = dict(_latest(spot.spot_price_history if spot else ()))
    missing = "" if on_demand else "; on-demand prices are unknown, so that nothing is offered on demand"
    found = []
    for each in sorted(types.instance_types, key=lambda each: each.instance_type):
        name = each.instance_type
        offerings = []
        for zone in sorted(zones.get(name, ())):
            if "on-demand" in each.supported_usage_classes and name in on_demand:
                offerings.append(KnownOffering(zone=zone, capacity_type="on-demand", price=on_demand[name]))
            if "spot" in each.supported_usage_classes and (name, zone) in prices:
                offerings.append(KnownOffering(zone=zone, capacity_type="spot", price=prices[name, zone]))
        found.append(_build_type(each, node_class.spec.kubelet or KubeletSettings(), offerings))
    return InstanceTypesFile(
        api_version=API_VERSION, kind=KIND, source=source, incomplete=_INCOMPLETE + missing, types=found
    )


def _latest(history: Sequence[_Price]) -> Iterator[tuple[tuple[str, str], float]]:
    """Of each type and zone, of Linux."""
    for each in sorted(history, key=lambda each: each.timestamp):
        if each.product_description.startswith("Linux"):
            yield (each.instance_type, each.availability_zone), float(each.spot_price)


def _build_type(each: _Type, kubelet: KubeletSettings, offerings: list[KnownOffering]) -> KnownType:
    processor = each.processor_info
    arm = processor.supported_architectures[:1] == ["arm64"]
    cores = each.v_cpu_info.default_v_cpus
    mebibytes = each.memory_info.size_in_mi_b - (64 if arm else 0)
    memory = mebibytes * _MI - math.ceil(mebibytes * _LOST) * _MI
    by_interfaces = _pods_by_interfaces(each.network_info)
    pods = by_interfaces if kubelet.max_pods is None else kubelet.max_pods
    if kubelet.pods_per_core:
        pods = min(pods, kubelet.pods_per_core * cores)
    family, _, size = each.instance_type.partition(".")
    labels = {
        "kubernetes.io/arch": _ARCHITECTURES.get((processor.supported_architectures or [""])[0], "unknown"),
        "kubernetes.io/os": "linux",
        f"{_AWS}family": family,
        f"{_AWS}size": size,
        f"{_AWS}cpu": str(cores),
        f"{_AWS}memory": str(each.memory_info.size_in_mi_b),
    }
    if scheme := _NAME.match(each.instance_type):
        labels |= {f"{_AWS}category": scheme[1], f"{_AWS}generation": scheme[2]}
    if processor.manufacturer:
        labels[f"{_AWS}cpu-manufacturer"] = processor.manufacturer.lower().replace(" ", "-")
    if each.hypervisor:
        labels[f"{_AWS}hypervisor"] = each.hypervisor
    capacity = {
        "cpu": Quantity.from_units(cores),
        "memory": Quantity.from_units(memory, binary=True),
        "pods": Quantity.from_units(pods),
    }
    gpus = each.gpu_info.gpus if each.gpu_info else []
    for gpu in gpus:
        if gpu.manufacturer in ("NVIDIA", "AMD"):
            capacity[f"{gpu.manufacturer.lower()}.com/gpu"] = Quantity.from_units(gpu.count)
    if len(gpus) == 1:
        labels |= {f"{_AWS}gpu-name": gpus[0].name.lower().replace(" ", "-"), f"{_AWS}gpu-count": str(gpus[0].count)}
        labels[f"{_AWS}gpu-manufacturer"] = gpus[0].manufacturer.lower()
    overhead = _overhead(cores, memory, by_interfaces, kubelet)
    return KnownType(name=each.instance_type, labels=labels, capacity=capacity, overhead=overhead, offerings=offerings)


def _pods_by_interfaces(network: _Network) -> int:
    """Addresses of all interfaces but the interfaces' own, and two pods on the host's network."""
    card = network.network_cards[min(network.default_network_card_index, len(network.network_cards) - 1)]
    return card.maximum_network_interfaces * (network.ipv4_addresses_per_interface - 1) + 2


def _overhead(cores: int, memory: int, pods: int, kubelet: KubeletSettings) -> ResourceList:
    """kube-reserved, system-reserved, and the memory at which the kubelet begins to evict."""
    whole = cores * 1000
    cpu = sum(int((min(whole, end) - start) * share) for start, end, share in _RESERVED_CPU if whole > start)
    kube = {"cpu": Quantity.from_milli(cpu), "memory": Quantity.from_units((11 * pods + 255) * _MI, binary=True)}
    kube |= kubelet.kube_reserved or {}
    threshold = (kubelet.eviction_hard or {}).get("memory.available", "100Mi")
    evicts = (
        Quantity.from_units(math.ceil(memory * float(threshold[:-1]) / 100), binary=True)
        if threshold.endswith("%")
        else Quantity.parse(threshold)
    )
    system = kubelet.system_reserved or {}
    none = Quantity.from_units(0)
    found = {name: kube.get(name, none) + system.get(name, none) for name in sorted({*kube, *system})}
    return {**found, "memory": found["memory"] + evicts}
