"""What Karpenter makes of types of EC2: labels, capacity and what is left for pods, as its documents list them."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.decode import convert
from kwhatif.api.node_provisioning import EC2NodeClass
from kwhatif.simulation.autoscalers.ec2_description import EC2Type
from kwhatif.simulation.autoscalers.ec2_machines import EC2Machine, ProviderOptions, family_of

Json = dict[str, Any]


def described(name: str, cores: int, mebibytes: int, interfaces: int, addresses: int, **more: Any) -> Json:
    """As describe-instance-types prints it; ``ghz`` and ``maker`` of its processor, ``arm`` for the other one."""
    processor = {
        "SupportedArchitectures": ["arm64"] if more.pop("arm", False) else ["x86_64"],
        "SustainedClockSpeedInGhz": more.pop("ghz", 3.1),
        "Manufacturer": more.pop("maker", "Intel"),
    }
    card: Json = {"MaximumNetworkInterfaces": interfaces}
    if gigabits := more.pop("gigabits", None):
        card["BaselineBandwidthInGbps"] = gigabits
    network = {
        "NetworkCards": [card],
        "Ipv4AddressesPerInterface": addresses,
        "EncryptionInTransitSupported": more.pop("encrypts", False),
        **more.pop("network", {}),
    }
    return {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": cores},
        "MemoryInfo": {"SizeInMiB": mebibytes},
        "ProcessorInfo": processor,
        "NetworkInfo": network,
        "SupportedUsageClasses": ["on-demand", "spot"],
        "Hypervisor": "nitro",
        **more,
    }


M5 = described("m5.large", 2, 8192, 3, 10, gigabits=0.75)
A1 = described("a1.medium", 1, 2048, 2, 4, arm=True, ghz=2.3, maker="AWS", gigabits=0.5)
G4 = described(
    "g4dn.xlarge", 4, 16384, 3, 10, ghz=2.5, gigabits=5, encrypts=True,
    GpuInfo={"Gpus": [{"Name": "T4", "Manufacturer": "NVIDIA", "Count": 1, "MemoryInfo": {"SizeInMiB": 16384}}]},
    InstanceStorageInfo={"TotalSizeInGB": 125, "NvmeSupport": "required"},
    EbsInfo={"EbsOptimizedSupport": "default", "EbsOptimizedInfo": {"MaximumBandwidthInMbps": 3500}},
)  # fmt: skip
TRN1 = described(
    "trn1.2xlarge", 8, 32768, 4, 15, ghz=3.5, encrypts=True,
    NeuronInfo={"NeuronDevices": [{"Count": 1, "Name": "Trainium", "CoreInfo": {"Count": 2, "Version": 2}}]},
)  # fmt: skip
INF1 = described(
    "inf1.xlarge",
    4,
    8192,
    4,
    10,
    NeuronInfo={"NeuronDevices": [{"Count": 1, "Name": "Inferentia", "CoreInfo": {"Count": 4}}]},
)
FLEX = described("c7i-flex.large", 2, 4096, 3, 10, ghz=3.2)


def machine(type_: Json, spec: Json | None = None, options: ProviderOptions = ProviderOptions()) -> EC2Machine:  # noqa: B008
    """Without a spec one of AL2023 that says nothing."""
    told = {"amiSelectorTerms": [{"alias": "al2023@latest"}], **(spec or {})}
    node_class = convert({"metadata": {"name": "c"}, "spec": told}, EC2NodeClass)
    return EC2Machine(convert(type_, EC2Type), node_class, options, family_of(node_class))


LABELS = [
    ("m5.large", M5, {"category": "m", "generation": "5", "network-bandwidth": "750", "capability-flex": "false"}),
    ("a1.medium", A1, {"cpu-manufacturer": "aws", "cpu-sustained-clock-speed-mhz": "2300", "network-bandwidth": "500"}),
    (
        "g4dn.xlarge",
        G4,
        {
            "local-nvme": "125",
            "ebs-bandwidth": "3500",
            "gpu-name": "t4",
            "gpu-memory": "16384",
            "encryption-in-transit-supported": "true",
        },
    ),
    ("trn1.2xlarge", TRN1, {"accelerator-name": "trainium", "accelerator-manufacturer": "aws"}),
    ("inf1.xlarge", INF1, {"accelerator-count": "1"}),
    ("c7i-flex.large", FLEX, {"capability-flex": "true", "family": "c7i-flex", "generation": "7"}),
]


@pytest.mark.parametrize(("type_", "expected"), [row[1:] for row in LABELS], ids=[row[0] for row in LABELS])
def test_types_have_the_labels_that_karpenter_derives(type_: Json, expected: dict[str, str]) -> None:
    found = machine(type_).labels("eu-west-1")
    assert {key: found[f"karpenter.k8s.aws/instance-{key}"] for key in expected} == expected
    assert found["topology.kubernetes.io/region"] == "eu-west-1"


def test_what_a_type_does_not_have_it_has_no_label_of() -> None:
    found = machine(M5).labels()
    missing = ("local-nvme", "gpu-name", "accelerator-name", "ebs-bandwidth")
    assert not [key for key in missing if f"karpenter.k8s.aws/instance-{key}" in found]


FAMILIES = [
    ("Bottlerocket does not hear of pods per core, and reserves by its pods", {"alias": "bottlerocket@latest"},
     {"podsPerCore": 2, "maxPods": 20}, ("20", "20Gi", "575Mi")),
    ("Windows has 110 pods and a larger disk", {"alias": "windows2022@latest"}, {}, ("110", "50Gi", "1565Mi")),
    ("AL2023 reserves by interfaces whatever pods there may be", {"alias": "al2023@v1"}, {"maxPods": 110},
     ("110", "20Gi", "674Mi")),
    ("pods per core are fewer", {"alias": "al2@latest"}, {"podsPerCore": 4}, ("8", "20Gi", "674Mi")),
    ("all of the memory as a threshold is none", {"alias": "al2023@latest"},
     {"evictionHard": {"memory.available": "100%"}}, ("29", "20Gi", "574Mi")),
    ("a share is of the capacity, rounded up", {"alias": "al2023@latest"},
     {"evictionHard": {"memory.available": "5%"}}, ("29", "20Gi", "999135642")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("term", "kubelet", "expected"), [row[1:] for row in FAMILIES], ids=[row[0] for row in FAMILIES]
)
def test_images_and_the_kubelet_decide_what_is_left(term: Json, kubelet: Json, expected: tuple[str, ...]) -> None:
    found = machine(M5, {"amiSelectorTerms": [term], "kubelet": kubelet})
    capacity, overhead = found.capacity(), found.overhead()
    told = (capacity["pods"], capacity["ephemeral-storage"], overhead["memory"])
    assert tuple(each.canonical for each in told) == expected


def test_windows_has_its_build_and_addresses_and_none_of_another_architecture() -> None:
    windows = {"amiSelectorTerms": [{"alias": "windows2022@latest"}]}
    found = machine(M5, windows)
    assert found.labels()["node.kubernetes.io/windows-build"] == "10.0.20348"
    assert found.labels()["kubernetes.io/os"] == "windows"
    assert found.capacity()["vpc.amazonaws.com/PrivateIPv4Address"].canonical == "9"
    assert "kubernetes.io/os" not in machine(A1, windows).labels()


DISKS = [
    ("its own disks as one", G4, {"instanceStorePolicy": "RAID0"}, "125G"),
    ("a machine without any has the images' disk", M5, {"instanceStorePolicy": "RAID0"}, "20Gi"),
    ("the mapping of the device that pods use", M5, {"blockDeviceMappings": [
        {"deviceName": "/dev/xvdb", "ebs": {"volumeSize": "1Gi"}},
        {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi"}}]}, "100Gi"),
    ("the root volume", M5, {"blockDeviceMappings": [
        {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi"}},
        {"deviceName": "/dev/sdb", "rootVolume": True, "ebs": {"volumeSize": "7Gi"}}]}, "7Gi"),
    ("of one's own images the last mapping", M5, {"amiFamily": "Custom", "blockDeviceMappings": [
        {"deviceName": "/dev/a", "ebs": {"volumeSize": "1Gi"}},
        {"deviceName": "/dev/b", "ebs": {"volumeSize": "2Gi"}}]}, "2Gi"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "spec", "room"), [row[1:] for row in DISKS], ids=[row[0] for row in DISKS])
def test_pods_have_the_room_of_a_disk(type_: Json, spec: Json, room: str) -> None:
    assert machine(type_, spec).capacity()["ephemeral-storage"].canonical == room


def test_interfaces_that_are_not_for_pods_have_no_pods() -> None:
    assert machine(M5, options=ProviderOptions(reserved_enis=1)).pods == 20
    assert machine(M5, options=ProviderOptions(reserved_enis=9)).pods == 0
    efa_only = {"networkInterfaces": [{"networkCardIndex": 0, "interfaceType": "efa-only"}]}
    assert machine(M5, efa_only).pods == 20
    assert machine(M5, efa_only).capacity()["vpc.amazonaws.com/efa"].canonical == "1"


def test_an_old_dump_without_network_cards_says_how_many_interfaces_there_are() -> None:
    old = {**M5, "NetworkInfo": {"MaximumNetworkInterfaces": 3, "Ipv4AddressesPerInterface": 10}}
    assert machine(old).pods == 29
    assert "karpenter.k8s.aws/instance-network-bandwidth" not in machine(old).labels()


def test_auto_mode_knows_machines_by_a_domain_of_its_own() -> None:
    found = machine(G4).labels(auto_mode=True)
    assert found["eks.amazonaws.com/instance-gpu-name"] == "t4"
    assert "eks.amazonaws.com/instance-cpu-sustained-clock-speed-mhz" not in found
    assert "eks.amazonaws.com/instance-family" not in machine(G4).labels()
