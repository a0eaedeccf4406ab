"""Instance types of GKE, from the output of ``gcloud compute machine-types list --format=json``.

Allocatable resources are computed as Karpenter's provider for Google Cloud does, by GKE's documentation. Upstream:
pkg/providers/instancetype/types.go, pkg/utils/utils.go and pkg/utils/localssd of cloudpilot-ai/karpenter-provider-gcp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from kwhatif.api.core import ResourceList
from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.karpenter.catalogue import InstanceType, Offering
from kwhatif.simulation.autoscalers.instance_types_document import (
    InstanceTypesFile,
    assemble_file,
)

_GCP = "karpenter.k8s.gcp/instance-"
_MI, _GI = 2**20, 2**30
_MEMORY_OVERHEAD = 0.07
_BOOT_DISK = 100
"""Gibibytes, where the node class says nothing."""
_PODS = 110
_ARCHITECTURES = {"ARM64": "arm64"}
_KUBE_PROXY = 100
"""Thousandths of a core, of the pod that GKE puts on each node."""
_PARTITION, _OF_FAMILIES = 375, {"z3": 3000}
"""Gibibytes of a partition of local SSDs."""
_OF_TYPES = {
    "c4d-highmem-8-lssd": 2250,
    "c4d-highmem-16-lssd": 3000,
    "c4-highmem-288-lssd-metal": 18000,
    "c4-standard-288-lssd-metal": 18000,
    "z3-highmem-192-highlssd-metal": 72000,
}
"""Gibibytes of all local SSDs, where the number of partitions is not told as it is."""
_SHARED = ("e2-micro", "e2-small", "e2-medium")
_MEMORY = ((4096, 0.25), (4096, 0.20), (8192, 0.10), (114688, 0.06), (1 << 40, 0.02))
"""Mebibytes, and the share of them that GKE reserves."""
_CPU = ((1000, 0.06), (1000, 0.01), (2000, 0.005), (1 << 40, 0.0025))
_INCOMPLETE = (
    "allocatable of types is estimated by what GKE documents",
    f"pods and disks are those of an empty node class: {_PODS} pods, {_BOOT_DISK} GiB of boot disk",
    "labels of the disks that a machine may have are missing (disk-type.gke.io/...)",
)


class _Accelerator(msgspec.Struct, rename="camel"):
    guest_accelerator_type: str


class _LocalDisks(msgspec.Struct, rename="camel"):
    partition_count: int = 0


class MachineType(msgspec.Struct, rename="camel"):
    """A type in a zone; the zone may be given as a URL."""

    name: str
    guest_cpus: Annotated[int, Meta(ge=0, lt=2**31)]
    memory_mb: Annotated[int, Meta(ge=0, lt=2**31)]
    zone: str
    accelerators: list[_Accelerator] | None = None
    bundled_local_ssds: _LocalDisks | None = None
    architecture: str | None = None


def gcp_types(
    types: Sequence[MachineType],
    on_demand: Mapping[str, float],
    spot: Mapping[str, float],
    source: str,
) -> InstanceTypesFile:
    """All types, offered in their zones where a price is known."""
    zones: dict[str, set[str]] = {}
    first: dict[str, MachineType] = {}
    for machine_type in types:
        zones.setdefault(machine_type.name, set()).add(machine_type.zone.rpartition("/")[2])
        first.setdefault(machine_type.name, machine_type)
    described = [
        _describe_machine(first[name], sorted(zones[name]), list(_offerings(name, zones[name], on_demand, spot)))
        for name in sorted(first)
    ]
    return assemble_file(described, on_demand, spot, source, _INCOMPLETE)


def _offerings(
    name: str, zones: set[str], on_demand: Mapping[str, float], spot: Mapping[str, float]
) -> Iterator[Offering]:
    for zone in sorted(zones):
        if name in on_demand:
            yield Offering(zone=zone, capacity_type="on-demand", price=on_demand[name])
        if name in spot:
            yield Offering(zone=zone, capacity_type="spot", price=spot[name])


def _describe_machine(type_: MachineType, zones: Sequence[str], offerings: list[Offering]) -> InstanceType:
    whole = type_.memory_mb * _MI
    partitions = type_.bundled_local_ssds.partition_count if type_.bundled_local_ssds else 0
    disks = _local_disks(type_.name, partitions)
    room = disks or _BOOT_DISK
    # The provider counts the entries, not what each says of its number.
    gpus = len(type_.accelerators or ())
    capacity: ResourceList = {
        "cpu": Quantity.from_units(type_.guest_cpus),
        "memory": Quantity.from_units(whole - int(whole * _MEMORY_OVERHEAD), binary=True),
        "ephemeral-storage": Quantity.from_units(room * _GI, binary=True),
        "pods": Quantity.from_units(_PODS),
    }
    if gpus:
        capacity["nvidia.com/gpu"] = Quantity.from_units(gpus)
    evicts, reserved = _disk_overhead(disks, partitions)
    overhead = {
        "cpu": Quantity.from_milli(_reserved_cpu(type_) + _KUBE_PROXY),
        "memory": Quantity.from_units((_reserved_memory(type_.memory_mb) + 100) * _MI, binary=True),
        "ephemeral-storage": Quantity.from_units((evicts + reserved) * _GI, binary=True),
    }
    labels = _labels(type_, zones)
    return InstanceType(name=type_.name, labels=labels, capacity=capacity, overhead=overhead, offerings=offerings)


def _labels(type_: MachineType, zones: Sequence[str]) -> dict[str, str]:
    prefix, *rest = type_.name.split("-")
    labels = {
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": zones[0].rpartition("-")[0],
        f"{_GCP}cpu": str(type_.guest_cpus),
        f"{_GCP}memory": str(type_.memory_mb),
    }
    if rest:
        generation = prefix[-2 if len(prefix) == 3 else -1]
        labels |= {
            "kubernetes.io/arch": _ARCHITECTURES.get(type_.architecture or "", "amd64"),
            f"{_GCP}family": prefix,
            f"{_GCP}shape": rest[0],
            f"{_GCP}size": rest[-2] if len(rest) > 2 else rest[-1],
            f"{_GCP}generation": generation,
        }
    if type_.accelerators:
        labels["cloud.google.com/gke-accelerator"] = type_.accelerators[0].guest_accelerator_type
        labels[f"{_GCP}gpu-name"] = type_.accelerators[0].guest_accelerator_type
        labels[f"{_GCP}gpu-count"] = str(len(type_.accelerators))
    return labels


def _local_disks(name: str, partitions: int) -> int:
    """Gibibytes of the local SSDs that come with a type."""
    if not partitions:
        return 0
    return _OF_TYPES.get(name, partitions * _OF_FAMILIES.get(name.partition("-")[0], _PARTITION))


def _sum_brackets(brackets: Sequence[tuple[int, float]], amount: int) -> int:
    kept = 0
    for width, share in brackets:
        if amount <= 0:
            break
        kept += int(min(amount, width) * share)
        amount -= width
    return kept


def _reserved_memory(mebibytes: int) -> int:
    return 255 if mebibytes <= 1024 else _sum_brackets(_MEMORY, mebibytes)


def _reserved_cpu(type_: MachineType) -> int:
    """Thousandths of a core; of machines that share cores more than they have is kept."""
    return 1060 if type_.name in _SHARED else _sum_brackets(_CPU, type_.guest_cpus * 1000)


def _disk_overhead(ssd: int, count: int) -> tuple[int, int]:
    """Gibibytes at which the kubelet begins to evict, and those of the system: by local SSDs, or the boot disk."""
    if ssd:
        return int(ssd * 0.10), {1: 50, 2: 75}.get(count, 100)
    return int(_BOOT_DISK * 0.10), min(int(_BOOT_DISK * 0.50), int(_BOOT_DISK * 0.35) + 6, 100)
