"""Types of EC2 as a table: what the command says of each, and what Karpenter's page of instance types lists of it.

``ec2_types.tsv`` has in its first columns numbers of describe-instance-types, and in the last two the labels (after
``karpenter.k8s.aws/instance-``) and what is left for pods with images of AL2023 and no block device mappings, as
Karpenter publishes them. ``-`` stands for what a type does not have.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.decode import convert
from kwhatif.api.node_provisioning import EC2NodeClass
from kwhatif.api.quantity import Quantity
from kwhatif.simulation.autoscalers.ec2_description import EC2Type
from kwhatif.simulation.autoscalers.ec2_machines import EC2Machine, family_of

Json = dict[str, Any]
Row = dict[str, str]

with Path(__file__).with_name("ec2_types.tsv").open(encoding="utf-8") as lines:
    ROWS: list[Row] = list(csv.DictReader(lines, delimiter="\t"))

RESERVED_CPU = {2: 70, 4: 80, 8: 90, 12: 100, 16: 110, 32: 150, 48: 190, 64: 230, 96: 310, 128: 390, 224: 630}
"""Millicores of kube-reserved, by cores: 6% of the first, 1% of the second, 0.5% of two, 0.25% of the rest."""


def printed(row: Row) -> Json:
    """What the command prints of a type, as far as it is read."""
    found: Json = {
        "InstanceType": row["type"],
        "VCpuInfo": {"DefaultVCpus": int(row["cores"])},
        "MemoryInfo": {"SizeInMiB": int(row["mebibytes"])},
        "ProcessorInfo": {
            "SupportedArchitectures": row["architectures"].split(","),
            "SustainedClockSpeedInGhz": float(row["ghz"]),
            "Manufacturer": row["maker"],
        },
        "NetworkInfo": {
            "NetworkPerformance": row["performance"],
            "MaximumNetworkInterfaces": int(row["interfaces"]),
            "NetworkCards": [
                {
                    "MaximumNetworkInterfaces": int(row["card-interfaces"]),
                    "BaselineBandwidthInGbps": float(row["gigabits"]),
                }
            ],
            "Ipv4AddressesPerInterface": int(row["addresses"]),
            "EncryptionInTransitSupported": row["encrypts"] == "true",
        },
        "SupportedUsageClasses": ["on-demand"],
    }
    if row["hypervisor"] != "-":
        found["Hypervisor"] = row["hypervisor"]
    if row["ebs"] != "-":
        info = {"MaximumBandwidthInMbps": int(row["ebs"])}
        found["EbsInfo"] = {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": info}
    if row["disk"] != "-":
        found["InstanceStorageInfo"] = {"NvmeSupport": "required", "TotalSizeInGB": int(row["disk"])}
    if row["efas"] != "-":
        found["NetworkInfo"]["EfaInfo"] = {"MaximumEfaInterfaces": int(row["efas"])}
    if row["gpus"] != "-":
        count, maker, *name, memory = row["gpus"].split()
        gpu = {"Count": int(count), "Manufacturer": maker, "Name": " ".join(name)}
        found["GpuInfo"] = {"Gpus": [{**gpu, "MemoryInfo": {"SizeInMiB": int(memory)}}]}
    if row["neurons"] != "-":
        devices, kind, cores = row["neurons"].split()
        device = {"Count": int(devices), "Name": kind, "CoreInfo": {"Count": int(cores)}}
        found["NeuronInfo"] = {"NeuronDevices": [device]}
    return found


def machine(row: Row) -> EC2Machine:
    spec = {"amiSelectorTerms": [{"alias": "al2023@latest"}]}
    node_class = convert({"metadata": {"name": "c"}, "spec": spec}, EC2NodeClass)
    return EC2Machine(convert(printed(row), EC2Type), node_class, family_name=family_of(node_class))


def words(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split())


def by_name(row: Row) -> str:
    return row["type"]


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_a_type_has_the_labels_that_karpenters_page_lists(row: Row) -> None:
    prefix = "karpenter.k8s.aws/instance-"
    found = machine(row).labels()
    own = {key.removeprefix(prefix): text for key, text in found.items() if key.startswith(prefix)}
    assert own == words(row["labels"])


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_a_type_leaves_for_pods_what_karpenters_page_lists(row: Row) -> None:
    found = machine(row)
    none, over = Quantity.from_units(0), found.overhead()
    left = {name: (amount - over.get(name, none)).canonical for name, amount in found.capacity().items()}
    assert left == words(row["leaves"])


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_the_overhead_is_by_cores_and_by_the_pods_that_interfaces_have_addresses_for(row: Row) -> None:
    found = machine(row)
    over, whole = found.overhead(), found.capacity()
    pods = int(row["card-interfaces"]) * (int(row["addresses"]) - 1) + 2
    assert whole["pods"].canonical == str(pods)
    assert over["memory"].canonical == Quantity.parse(f"{11 * pods + 255 + 100}Mi").canonical
    assert over["ephemeral-storage"].canonical == "3Gi"
    assert over["cpu"].milli_value() == RESERVED_CPU[int(row["cores"])]
