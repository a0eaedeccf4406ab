"""The output of ``aws ec2`` about instance types, with the fields that Karpenter reads; older dumps have fewer.

The answers of describe-instance-types, describe-instance-type-offerings and describe-spot-price-history.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, lt=2**31)]

_PERFORMANCE = re.compile(r"(?:(\d{1,3})x )?(\d{1,6}(?:\.\d{1,6})?) Gigabit", re.ASCII)


class _Pascal(msgspec.Struct, rename="pascal"):
    """A part of what the client prints."""


class Cpu(_Pascal):
    default_v_cpus: Count


class Memory(_Pascal):
    size_in_mi_b: Count = msgspec.field(default=0, name="SizeInMiB")


class Processor(_Pascal):
    supported_architectures: list[str]
    manufacturer: str = ""
    sustained_clock_speed_in_ghz: float = 0.0


class Card(_Pascal):
    """A network card. Bandwidths are in gigabits a second."""

    maximum_network_interfaces: Count
    baseline_bandwidth_in_gbps: float | None = None


class Efa(_Pascal):
    maximum_efa_interfaces: Count = 0


class Network(_Pascal):
    """Dumps before 2021 have no cards, but how many interfaces there are in all."""

    ipv4_addresses_per_interface: Count
    network_cards: list[Card] = []
    maximum_network_interfaces: Count = 0
    default_network_card_index: Count = 0
    network_performance: str = ""
    efa_info: Efa | None = None
    encryption_in_transit_supported: bool = False

    @property
    def interfaces(self) -> int:
        """How many interfaces the card has that addresses of pods are on."""
        if not self.network_cards:
            return self.maximum_network_interfaces
        return self.network_cards[
            min(self.default_network_card_index, len(self.network_cards) - 1)
        ].maximum_network_interfaces

    @property
    def all_interfaces(self) -> int:
        """The number of interfaces of all cards."""
        return self.maximum_network_interfaces or sum(card.maximum_network_interfaces for card in self.network_cards)

    @property
    def megabits(self) -> int | None:
        """The bandwidth as in EC2's documentation; None if unknown, or only a word such as ``Moderate``.

        A performance such as ``4x 100 Gigabit`` is the total, which may be less than the sum over the cards. For
        ``Up to 10 Gigabit`` the sum of the cards' baselines counts.
        """
        match = _PERFORMANCE.fullmatch(self.network_performance)
        if match is not None:
            cards, gigabits = match.groups()
            return int(float(gigabits) * 1000) * int(cards or 1)
        if self.network_performance and not self.network_performance.startswith("Up to "):
            return None
        baselines = [card.baseline_bandwidth_in_gbps for card in self.network_cards]
        return round(1000 * sum(baseline or 0.0 for baseline in baselines)) if any(baselines) else None


class Gpu(_Pascal):
    name: str
    manufacturer: str
    count: Count
    memory_info: Memory = msgspec.field(default_factory=Memory)


class Gpus(_Pascal):
    gpus: list[Gpu]


class Core(_Pascal):
    count: Count = 0


class NeuronDevice(_Pascal):
    count: Count = 0
    name: str = ""
    core_info: Core = msgspec.field(default_factory=Core)


class Neurons(_Pascal):
    neuron_devices: list[NeuronDevice]


class Accelerator(_Pascal):
    count: Count = 0
    name: str = ""
    manufacturer: str = ""


class Accelerators(_Pascal):
    accelerators: list[Accelerator]


class Storage(_Pascal):
    total_size_in_gb: Count | None = msgspec.field(default=None, name="TotalSizeInGB")
    nvme_support: str = ""


class EbsOptimized(_Pascal):
    maximum_bandwidth_in_mbps: Count = 0


class Ebs(_Pascal):
    ebs_optimized_support: str = ""
    ebs_optimized_info: EbsOptimized | None = None


class EC2Type(_Pascal):
    """An instance type."""

    instance_type: str
    v_cpu_info: Cpu
    memory_info: Memory
    processor_info: Processor
    network_info: Network
    supported_usage_classes: list[str]
    gpu_info: Gpus | None = None
    neuron_info: Neurons | None = None
    inference_accelerator_info: Accelerators | None = None
    instance_storage_info: Storage | None = None
    ebs_info: Ebs | None = None
    hypervisor: str = ""


class Types(_Pascal):
    instance_types: list[EC2Type]


class Place(_Pascal):
    instance_type: str
    location: str


class Places(_Pascal):
    instance_type_offerings: list[Place]


class Price(_Pascal):
    instance_type: str
    availability_zone: str
    spot_price: Annotated[str, Meta(pattern=r"^[0-9]{1,15}(\.[0-9]{1,15})?$")]
    timestamp: str
    product_description: str = "Linux/UNIX"


class SpotPrices(_Pascal):
    spot_price_history: list[Price]
