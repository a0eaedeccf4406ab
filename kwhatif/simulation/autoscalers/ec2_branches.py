"""The number of branch interfaces of an EC2 instance type, a resource of pods with security groups of their own.

No AWS command prints it. The total of interfaces depends on the instance size; what remains of it beyond the type's own
interfaces are branch interfaces. Upstream: pkg/providers/instancetype/zz_generated.vpclimits.go of
aws/karpenter-provider-aws lists the numbers by type, as of May 2026; the rule and the exceptions here agree with it.
"""

from __future__ import annotations

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
