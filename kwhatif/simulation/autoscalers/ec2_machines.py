"""Karpenter's view of an EC2 instance type: labels, capacity and overhead.

An approximation, as Karpenter's own: pods by network interfaces, memory minus a share for the VM itself, kube-reserved
by cpu and pods, and the kubelet's eviction thresholds. Upstream: pkg/providers/instancetype/types.go,
pkg/providers/amifamily and pkg/apis/v1/labels.go of aws/karpenter-provider-aws.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from kwhatif.api.core import ResourceList
from kwhatif.api.decode import describe_value
from kwhatif.api.node_provisioning import EC2NodeClass, KubeletSettings, NetworkInterface
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.autoscaling.karpenter.requirements import EKS, EKS_LABELS
from kwhatif.errors import InputError
from kwhatif.golang.parsing import finite
from kwhatif.simulation.autoscalers.ec2_description import EC2Type

_INTERFACES = ((1, 6), (2, 12), (4, 22), (8, 42), (24, 62), (36, 62), (48, 62), (1 << 31, 122))
"""(most cores, total of interfaces), in ascending order."""
_OF_SIXTH_GENERATION = {36: 92, 48: 122}
"""The same for x86 processors since the sixth generation."""
_MACS = 14
_WITHOUT = ("t", "hpc")
"""Categories without branch interfaces. Types on Xen have none either."""

_EXCEPTIONS = {
    "a1": {"medium": 12},
    "d3": {"xlarge": 46, "2xlarge": 96, "4xlarge": 122, "8xlarge": 122},
    "d3en": {"xlarge": 28, "2xlarge": 62, "4xlarge": 122, "6xlarge": 122, "8xlarge": 122, "12xlarge": 122},
    "f2": {"6xlarge": 92, "12xlarge": 122},
    "g4ad": {"xlarge": 14, "2xlarge": 14, "4xlarge": 14, "8xlarge": 14, "16xlarge": 14},
    "g4dn": {"xlarge": 42},
    "g5": {"xlarge": 8, "2xlarge": 21, "4xlarge": 42, "8xlarge": 92, "12xlarge": 122},
    "g7e": {"2xlarge": 124, "4xlarge": 128, "8xlarge": 128, "12xlarge": 130, "24xlarge": 140, "48xlarge": 160},
    "i3en": {"large": 8, "xlarge": 16, "2xlarge": 32, "3xlarge": 42},
    "i4i": {"large": 0, "xlarge": 10, "2xlarge": 30, "4xlarge": 60, "8xlarge": 120, "12xlarge": 120, "16xlarge": 135,
            "24xlarge": 120, "32xlarge": 135, "metal": 135},
    "i7i": {"12xlarge": 92},
    "i7ie": {"large": 22, "xlarge": 31, "2xlarge": 31, "3xlarge": 31, "12xlarge": 62},
    "i8ge": {"large": 22, "xlarge": 31, "2xlarge": 31, "3xlarge": 31},
    "inf1": {"xlarge": 42},
    "inf2": {"8xlarge": 92},
    "m5": {"metal": 135},
    "m5zn": {"large": 16, "xlarge": 33, "2xlarge": 66, "3xlarge": 100, "6xlarge": 122, "12xlarge": 122, "metal": 122},
    "m8azn": {"3xlarge": 42},
    "p5": {"48xlarge": 184},
    "p5e": {"48xlarge": 184},
    "p5en": {"48xlarge": 184},
    "p6-b200": {"48xlarge": 152},
    "p6-b300": {"48xlarge": 188},
    "r5": {"metal": 135},
    "trn1": {"2xlarge": 21},
    "trn1n": {"32xlarge": 200},
    "trn2": {"48xlarge": 0},
    "u-3tb1": {"56xlarge": 14},
    "u-6tb1": {"56xlarge": 0, "112xlarge": 0},
    "vt1": {"3xlarge": 42},
    "x2gd": {"medium": 12},
    "x2iedn": {"xlarge": 15, "2xlarge": 31, "8xlarge": 122},
    "x2iezn": {"2xlarge": 66, "4xlarge": 122, "6xlarge": 122, "8xlarge": 122, "12xlarge": 122, "metal": 122},
    "x8aedz": {"3xlarge": 42},
    "z1d": {"large": 16, "xlarge": 32, "2xlarge": 62, "12xlarge": 122, "metal": 122},
}  # fmt: skip


def branch_interfaces(type_: EC2Type, category: str, generation: int) -> int:
    """The number of branch interfaces of a type whose name has this category and generation."""
    family, _, size = type_.instance_type.partition(".")
    whole = _EXCEPTIONS.get(family, {}).get(size)
    if whole is None:
        if type_.hypervisor == "xen" or category in _WITHOUT:
            return 0
        whole = _MACS if family.startswith("mac") else _whole(type_, generation, flex="-flex" in family)
    return max(whole - type_.network_info.all_interfaces, 0)


def _whole(type_: EC2Type, generation: int, *, flex: bool) -> int:
    """The total of interfaces by cores. Flex types with fewer than 48 cores have that of the next smaller size."""
    cores = type_.v_cpu_info.default_v_cpus
    if flex and cores < 48:
        cores //= 2
    most, count = next((most, count) for most, count in _INTERFACES if cores <= most)
    arm = type_.processor_info.supported_architectures[:1] == ["arm64"]
    return _OF_SIXTH_GENERATION.get(most, count) if generation >= 6 and not arm else count


AWS = "karpenter.k8s.aws/instance-"
_MI = 2**20
_NAME = re.compile(r"([a-z]+)(?:-[0-9]+tb)?([0-9]+).*\.")
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_RESERVED_CPU = ((0, 1000, 0.06), (1000, 2000, 0.01), (2000, 4000, 0.005), (4000, 1 << 31, 0.0025))
"""Thousandths of a core from, up to, and what share of them goes to the kubelet."""
_NOWHERE_MORE = 110
"""Pods of a machine whose images do not count addresses."""
_ZERO = Quantity.from_units(0)


class AMIFamily(msgspec.Struct, frozen=True):
    """What differs by AMI family: the disk of pods, and which kubelet settings are used.

    ``room`` is that disk without any mapping. ``build`` is that of Windows.
    """

    device: str = "/dev/xvda"
    room: str = "20Gi"
    memory_by_interfaces: bool = True
    pods_per_core: bool = True
    pods_by_interfaces: bool = True
    build: str = ""


def _windows(build: str) -> AMIFamily:
    return AMIFamily("/dev/sda1", "50Gi", memory_by_interfaces=False, pods_by_interfaces=False, build=build)


AMI_FAMILIES = {
    "AL2": AMIFamily(),
    "AL2023": AMIFamily(),
    "Bottlerocket": AMIFamily("/dev/xvdb", memory_by_interfaces=False, pods_per_core=False),
    "Windows2019": _windows("10.0.17763"),
    "Windows2022": _windows("10.0.20348"),
    "Windows2025": _windows("10.0.26100"),
    "Custom": AMIFamily(device=""),
}


class ProviderOptions(msgspec.Struct, frozen=True):
    """Karpenter's options: reserved network interfaces, and the memory overhead of VMs."""

    reserved_enis: int = 0
    memory_overhead: float = 0.075


def family_of(node_class: EC2NodeClass) -> str:
    """The family of a node class's images: given, or of an alias (``al2023@latest``), else one's own."""
    if node_class.spec.ami_family:
        return node_class.spec.ami_family
    for term in node_class.spec.ami_selector_terms or ():
        name = (term.alias or "").partition("@")[0].lower()
        for family in AMI_FAMILIES:
            if name == family.lower():
                return family
    return "Custom"


class EC2Machine(msgspec.Struct, frozen=True):
    """A type as a node class has it."""

    type_: EC2Type
    node_class: EC2NodeClass
    options: ProviderOptions = ProviderOptions()
    family_name: str = "AL2023"

    @property
    def family(self) -> AMIFamily:
        return AMI_FAMILIES.get(self.family_name, AMI_FAMILIES["Custom"])

    @property
    def kubelet(self) -> KubeletSettings:
        return self.node_class.spec.kubelet or KubeletSettings()

    @property
    def cores(self) -> int:
        return self.type_.v_cpu_info.default_v_cpus

    @property
    def architecture(self) -> str:
        supported = self.type_.processor_info.supported_architectures
        return next(
            (_ARCHITECTURES[architecture] for architecture in supported if architecture in _ARCHITECTURES), "unknown"
        )

    @property
    def _scheme(self) -> tuple[bool, str, str]:
        """Whether the name follows the usual scheme, and its category and generation."""
        scheme = _NAME.match(self.type_.instance_type)
        return (True, scheme[1], scheme[2]) if scheme else (False, "", "")

    @property
    def memory(self) -> int:
        """Bytes, without what the machine itself needs; of Graviton 64 MiB are kept for other purposes."""
        arm = self.type_.processor_info.supported_architectures[:1] == ["arm64"]
        whole = (self.type_.memory_info.size_in_mi_b - (64 if arm else 0)) * _MI
        return whole - math.ceil(whole * self.options.memory_overhead / 1024 / 1024) * _MI

    @property
    def os(self) -> str | None:
        """None where the images are for another architecture."""
        if not self.family.build:
            return "linux"
        return "windows" if self.architecture == "amd64" else None

    # --- pods

    def pods_by_interfaces(self, reserved: int) -> int:
        """Addresses of the interfaces for pods, but the interfaces' own, and two pods on the host's network."""
        efa = sum(
            interface.interface_type == "efa-only" and interface.network_card_index == 0
            for interface in self._interfaces()
        )
        usable = max(self.type_.network_info.interfaces - reserved - efa, 0)
        return usable * (self.type_.network_info.ipv4_addresses_per_interface - 1) + 2 if usable else 0

    def _interfaces(self) -> Sequence[NetworkInterface]:
        return self.node_class.spec.network_interfaces or ()

    @property
    def pods(self) -> int:
        if self.kubelet.max_pods is not None:
            count = self.kubelet.max_pods
        elif self.family.pods_by_interfaces:
            count = self.pods_by_interfaces(self.options.reserved_enis)
        else:
            count = _NOWHERE_MORE
        if self.kubelet.pods_per_core and self.family.pods_per_core:
            count = min(count, self.kubelet.pods_per_core * self.cores)
        return count

    # --- disks

    @property
    def storage(self) -> Quantity:
        """The disk of pods: the machine's own disks as one, or a volume of a block device mapping, or the images'."""
        spec, own = self.node_class.spec, self.type_.instance_storage_info
        if spec.instance_store_policy == "RAID0" and own is not None and own.total_size_in_gb is not None:
            return Quantity.parse(f"{own.total_size_in_gb}G")
        mappings = spec.block_device_mappings or []
        root = next(
            (block_device_mapping for block_device_mapping in mappings if block_device_mapping.root_volume), None
        )
        if root is not None and root.ebs.volume_size is not None:
            return root.ebs.volume_size
        if mappings and not self.family.device:
            return mappings[-1].ebs.volume_size or Quantity.parse("20Gi")
        for mapping in mappings:
            if mapping.device_name == self.family.device and mapping.ebs.volume_size is not None:
                return mapping.ebs.volume_size
        return Quantity.parse(self.family.room)

    # --- what there is

    def capacity(self) -> ResourceList:
        """What the machine has; of devices only what it has any of."""
        type_ = self.type_
        gpus = type_.gpu_info.gpus if type_.gpu_info else []
        devices = type_.neuron_info.neuron_devices if type_.neuron_info else []
        if self.node_class.spec.network_interfaces is not None:
            efas = sum(interface.interface_type == "efa-only" for interface in self._interfaces())
        else:
            efas = type_.network_info.efa_info.maximum_efa_interfaces if type_.network_info.efa_info else 0
        counts = {
            "nvidia.com/gpu": sum(gpu.count for gpu in gpus if gpu.manufacturer == "NVIDIA"),
            "amd.com/gpu": sum(gpu.count for gpu in gpus if gpu.manufacturer == "AMD"),
            "habana.ai/gaudi": sum(gpu.count for gpu in gpus if gpu.manufacturer == "Habana"),
            "aws.amazon.com/neuron": sum(device.count for device in devices),
            "aws.amazon.com/neuroncore": devices[0].count * devices[0].core_info.count if devices else 0,
            "vpc.amazonaws.com/efa": efas,
            "vpc.amazonaws.com/pod-eni": self._branch_interfaces(),
        }
        if self.os == "windows":
            counts["vpc.amazonaws.com/PrivateIPv4Address"] = type_.network_info.ipv4_addresses_per_interface - 1
        return {
            "cpu": Quantity.from_units(self.cores),
            "memory": Quantity.from_units(self.memory, binary=True),
            "ephemeral-storage": self.storage,
            "pods": Quantity.from_units(self.pods),
            **{name: Quantity.from_units(count) for name, count in counts.items() if count},
        }

    def _branch_interfaces(self) -> int:
        _, category, generation = self._scheme
        return branch_interfaces(self.type_, category, int(generation or 0))

    def overhead(self) -> ResourceList:
        """kube-reserved, system-reserved, and what is left when the kubelet begins to evict."""
        whole = self.cores * 1000
        cpu = sum(int((min(whole, end) - start) * share) for start, end, share in _RESERVED_CPU if whole > start)
        pods = self.pods_by_interfaces(0) if self.family.memory_by_interfaces else self.pods
        kube = {
            "cpu": Quantity.from_milli(cpu),
            "memory": Quantity.from_units((11 * pods + 255) * _MI, binary=True),
            "ephemeral-storage": Quantity.parse("1Gi"),
            **(self.kubelet.kube_reserved or {}),
        }
        hard = self.kubelet.eviction_hard or {}
        memory = Quantity.from_units(self.memory, binary=True)
        evicts = {
            "memory": _threshold(memory, hard.get("memory.available", "100Mi")),
            "ephemeral-storage": _threshold(self.storage, hard.get("nodefs.available", "10%")),
        }
        system = self.kubelet.system_reserved or {}
        names = sorted({*kube, *evicts, *system})
        return {
            name: kube.get(name, _ZERO) + system.get(name, _ZERO) + evicts[name]
            if name in evicts
            else kube.get(name, _ZERO) + system.get(name, _ZERO)
            for name in names
        }

    # --- labels

    def labels(self, region: str = "", *, auto_mode: bool = False) -> dict[str, str]:
        """Its labels; those that it is known not to have are not there. ``auto_mode`` has them by EKS's domain, too."""
        type_ = self.type_
        labels = {
            "cpu": str(self.cores),
            "memory": str(type_.memory_info.size_in_mi_b),
            "encryption-in-transit-supported": str(type_.network_info.encryption_in_transit_supported).lower(),
            "hypervisor": type_.hypervisor,
            "capability-flex": str("-flex" in type_.instance_type.partition(".")[0]).lower(),
        }
        named, category, generation = self._scheme
        if named:
            labels |= {"category": category, "generation": generation}
        parts = type_.instance_type.split(".")
        if len(parts) == 2:
            labels |= {"family": parts[0], "size": parts[1]}
        labels |= self._processor_labels() | self._disk_and_network_labels() | self._device_labels()
        own = {f"{AWS}{key}": value for key, value in labels.items()}
        if auto_mode:
            own |= {f"{EKS}/instance-{key}": value for key, value in labels.items() if key in EKS_LABELS}
        return {
            "kubernetes.io/arch": self.architecture,
            **({"kubernetes.io/os": self.os} if self.os else {}),
            **({"topology.kubernetes.io/region": region} if region else {}),
            **({"node.kubernetes.io/windows-build": self.family.build} if self.family.build else {}),
            **own,
        }

    def _processor_labels(self) -> dict[str, str]:
        processor = self.type_.processor_info
        labels = {"cpu-sustained-clock-speed-mhz": str(math.floor(processor.sustained_clock_speed_in_ghz * 1000 + 0.5))}
        return labels | ({"cpu-manufacturer": _kebab(processor.manufacturer)} if processor.manufacturer else {})

    def _disk_and_network_labels(self) -> dict[str, str]:
        disk_and_network_labels = {}
        disks, ebs = self.type_.instance_storage_info, self.type_.ebs_info
        if disks is not None and disks.nvme_support != "unsupported" and disks.total_size_in_gb is not None:
            disk_and_network_labels["local-nvme"] = str(disks.total_size_in_gb)
        if self.type_.network_info.megabits is not None:
            disk_and_network_labels["network-bandwidth"] = str(self.type_.network_info.megabits)
        if ebs is not None and ebs.ebs_optimized_info is not None and ebs.ebs_optimized_support == "default":
            disk_and_network_labels["ebs-bandwidth"] = str(ebs.ebs_optimized_info.maximum_bandwidth_in_mbps)
        return disk_and_network_labels

    def _device_labels(self) -> dict[str, str]:
        type_, device_labels = self.type_, {}
        if type_.gpu_info and len(type_.gpu_info.gpus) == 1:
            (gpu,) = type_.gpu_info.gpus
            device_labels = {
                "gpu-name": _kebab(gpu.name),
                "gpu-manufacturer": _kebab(gpu.manufacturer),
                "gpu-count": str(gpu.count),
                "gpu-memory": str(gpu.memory_info.size_in_mi_b),
            }
        accelerators = type_.inference_accelerator_info.accelerators if type_.inference_accelerator_info else []
        if type_.neuron_info is not None:
            named = [
                (neuron_device.name, "aws", neuron_device.count) for neuron_device in type_.neuron_info.neuron_devices
            ]
        else:
            named = [(accelerator.name, accelerator.manufacturer, accelerator.count) for accelerator in accelerators]
        if len(named) == 1:
            ((name, manufacturer, count),) = named
            device_labels |= {
                "accelerator-name": _kebab(name),
                "accelerator-manufacturer": _kebab(manufacturer),
                "accelerator-count": str(count),
            }
        return device_labels


def _kebab(text: str) -> str:
    return text.replace(" ", "-").lower()


_SIGNAL = "evictionHard of an EC2NodeClass: expected an amount or a share such as 10%"


def _threshold(whole: Quantity, signal: str) -> Quantity:
    """What has to be left: an amount, or a share of the whole, rounded up; all of it stands for none."""
    if not signal.endswith("%"):
        try:
            return Quantity.parse(signal)
        except QuantityError:
            raise InputError(f"{_SIGNAL}, found {describe_value(signal)}") from None
    share = finite(signal.removesuffix("%"))
    if share is None:
        raise InputError(f"{_SIGNAL}, found {describe_value(signal)}")
    return Quantity.from_units(math.ceil(float(whole) / 100 * (0.0 if share == 100 else share)), binary=True)
