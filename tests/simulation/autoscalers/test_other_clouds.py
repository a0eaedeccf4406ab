"""Catalogues for AKS and GKE, from what the clients of Azure and of Google Cloud print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kwhatif.api.quantity import Quantity
from tests.cli.running import refused, run

Json = dict[str, Any]


def sku(name: str, cores: int, gibibytes: float, **capabilities: str) -> Json:
    told = {"vCPUs": str(cores), "MemoryGB": str(gibibytes), "LowPriorityCapable": "True", **capabilities}
    return {
        "name": name,
        "resourceType": "virtualMachines",
        "locationInfo": [{"location": "westeurope", "zones": ["2", "1"]}],
        "capabilities": [{"name": key, "value": value} for key, value in told.items()],
        "restrictions": [],
    }


def machine(name: str, cores: int, mebibytes: int, zone: str = "europe-west1-b", **more: Any) -> Json:
    address = f"https://www.googleapis.com/compute/v1/projects/p/zones/{zone}"
    return {"name": name, "guestCpus": cores, "memoryMb": mebibytes, "zone": address, **more}


def catalogue(tmp_path: Path, option: str, value: Any, prices: Json, spot: Json) -> Json:
    files = {option: value, "--on-demand-prices": prices, "--spot-prices": spot}
    words = []
    for name, content in files.items():
        if content:
            path = tmp_path / f"{name[2:]}.json"
            path.write_text(json.dumps(content))
            words += [name, str(path)]
    ran = run("autoscale", "catalogue", *words)
    assert ran.code in (0, 1), ran.err
    found: Json = yaml.safe_load(ran.out)
    return found


D4 = sku("Standard_D4ads_v5", 4, 16, PremiumIO="True", CachedDiskBytes="161061273600", MaxResourceVolumeMB="153600")
NC = sku("Standard_NC24ads_A100_v4", 24, 220, GPUs="1")
ARM = sku("Standard_D2pls_v6", 2, 4, CpuArchitectureType="Arm64")
# By the brackets of Azure's documents, and 750Mi for eviction.
AKS = [
    (D4, {"cpu": "4", "memory": "15891378995", "ephemeral-storage": "128G", "pods": "250"},
     {"cpu": "140m", "memory": "3412Mi"}),
    (ARM, {"cpu": "2", "memory": "3972844748", "ephemeral-storage": "128G", "pods": "250"},
     {"cpu": "100m", "memory": "1774Mi"}),
    (NC, {"cpu": "24", "memory": "208384Mi", "ephemeral-storage": "128G", "pods": "250", "nvidia.com/gpu": "1"},
     {"cpu": "340m", "memory": "12177Mi"}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "capacity", "overhead"), AKS, ids=[row[0]["name"] for row in AKS])
def test_sizes_of_azure_leave_for_pods_what_its_brackets_say(
    given: Json, capacity: Json, overhead: Json, tmp_path: Path
) -> None:
    (type_,) = catalogue(tmp_path, "--azure-skus", [given], {}, {})["types"]
    assert (type_["capacity"], type_["overhead"]) == (capacity, overhead)


def test_sizes_of_azure_have_labels_and_offerings_by_zone(tmp_path: Path) -> None:
    barred = {"type": "Zone", "restrictionInfo": {"zones": ["1"]}}
    prices = {"Standard_D4ads_v5": 0.2}
    given = [{**D4, "restrictions": [barred]}, NC]
    found = catalogue(tmp_path, "--azure-skus", given, prices, {"Standard_D4ads_v5": 0.05})
    d4, nc = found["types"]
    assert d4["offerings"] == [
        {"zone": "westeurope-2", "capacityType": "on-demand", "price": 0.2},
        {"zone": "westeurope-2", "capacityType": "spot", "price": 0.05},
    ]
    own = "karpenter.azure.com/sku-"
    told = {key.removeprefix(own): value for key, value in d4["labels"].items() if key.startswith(own)}
    assert (told["family"], told["series"], told["version"]) == ("D", "Dads_v5", "5")
    assert (told["storage-ephemeralos-maxsize"], told["gpu-count"]) == ("161", "0")
    assert nc["labels"]["karpenter.azure.com/sku-gpu-name"] == "A100"
    assert "prices are unknown" not in found["incomplete"]


def retail(price: float, **more: str) -> Json:
    made = {"armSkuName": "Standard_D4ads_v5", "retailPrice": price, "armRegionName": "westeurope"}
    return {
        **made,
        "skuName": "D4ads v5",
        "productName": "Virtual Machines Dadsv5 Series",
        "type": "Consumption",
        **more,
    }


def test_prices_of_azures_own_list_are_those_of_linux(tmp_path: Path) -> None:
    items = [
        retail(0.2),
        retail(0.4, productName="Virtual Machines Dadsv5 Series Windows"),
        retail(0.04, skuName="D4ads v5 Spot"),
        retail(0.05, meterName="D4ads v5 Low Priority"),
        retail(0.1, type="DevTestConsumption"),
        retail(0.1, serviceName="Cloud Services"),
    ]
    given = {"Items": items, "NextPageLink": None}
    (d4,) = catalogue(tmp_path, "--azure-skus", [D4], given, given)["types"]
    assert {(each["capacityType"], each["price"]) for each in d4["offerings"]} == {("on-demand", 0.2), ("spot", 0.04)}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"NextPageLink": "https://prices.azure.com"}, "the Items of all pages belong in one file"),
        (
            {"Items": [retail(1), retail(1, armRegionName="eastus")]},
            'expected prices of one region, found "eastus", "w',
        ),
    ],
)
def test_a_part_of_azures_list_and_several_regions_are_refused(more: Json, problem: str, tmp_path: Path) -> None:
    (tmp_path / "skus.json").write_text(json.dumps([D4]))
    (tmp_path / "prices.json").write_text(json.dumps({"Items": [retail(1)], **more}))
    options = ("--azure-skus", str(tmp_path / "skus.json"), "--on-demand-prices", str(tmp_path / "prices.json"))
    said = refused("autoscale", "catalogue", *options)
    assert "prices.json" in said
    assert problem in said


def test_sizes_that_aks_does_not_take_are_left_out(tmp_path: Path) -> None:
    given = [
        sku("Standard_B1s", 1, 1),
        sku("Standard_DC4s_v3", 4, 32),
        sku("Standard_E8-2ds_v4", 8, 64),
        {**D4, "restrictions": [{"type": "Location"}]},
        {**D4, "resourceType": "disks"},
    ]
    assert catalogue(tmp_path, "--azure-skus", given, {}, {})["types"] == []


GKE = [
    (machine("n1-standard-4", 4, 15360), {"cpu": "4", "memory": "14284Mi"}, {"cpu": "180m", "memory": "2659Mi"}),
    (machine("e2-medium", 2, 4096), {"cpu": "2", "memory": "3809Mi"}, {"cpu": "1160m", "memory": "1124Mi"}),
    (machine("c4a-standard-72", 72, 294912), {"cpu": "72", "memory": "274268Mi"}, {"cpu": "350m", "memory": "12919Mi"}),
]


@pytest.mark.parametrize(("given", "capacity", "overhead"), GKE, ids=[row[0]["name"] for row in GKE])
def test_types_of_google_leave_for_pods_what_its_brackets_say(
    given: Json, capacity: Json, overhead: Json, tmp_path: Path
) -> None:
    (type_,) = catalogue(tmp_path, "--gcp-machine-types", [given], {}, {})["types"]
    assert type_["capacity"]["cpu"] == capacity["cpu"]
    mebibytes = Quantity.parse(type_["capacity"]["memory"]).value() // 2**20
    assert f"{mebibytes}Mi" == capacity["memory"], "7 % less, rounded down here to compare"
    assert {key: type_["overhead"][key] for key in overhead} == overhead


def test_types_of_google_have_disks_labels_and_offerings_by_zone(tmp_path: Path) -> None:
    ssd: Json = {"bundledLocalSsds": {"partitionCount": 2}}
    gpu: Json = {"accelerators": [{"guestAcceleratorType": "nvidia-tesla-a100", "guestAcceleratorCount": 2}]}
    given = [
        machine("n2d-standard-2", 2, 8192),
        machine("n2d-standard-2", 2, 8192, "europe-west1-c"),
        machine("a2-highgpu-2g", 24, 174080, **gpu),
        machine("c3-standard-4-lssd", 4, 16384, **ssd),
    ]
    found = catalogue(tmp_path, "--gcp-machine-types", given, {"n2d-standard-2": 0.1}, {})
    a2, c3, n2d = found["types"]
    assert [each["zone"] for each in n2d["offerings"]] == ["europe-west1-b", "europe-west1-c"]
    assert "spot prices are unknown" in found["incomplete"]
    told = {key.rpartition("-")[2]: value for key, value in n2d["labels"].items() if "gcp/instance-" in key}
    assert told == {"family": "n2d", "generation": "2", "shape": "standard", "size": "2", "cpu": "2",
                    "memory": "8192"}  # fmt: skip
    assert n2d["labels"]["topology.kubernetes.io/region"] == "europe-west1"
    assert a2["capacity"]["nvidia.com/gpu"] == "1", "as many as there are entries, whatever their number"
    assert a2["labels"]["cloud.google.com/gke-accelerator"] == "nvidia-tesla-a100"
    assert (c3["capacity"]["ephemeral-storage"], c3["overhead"]["ephemeral-storage"]) == ("750Gi", "150Gi")
    assert n2d["overhead"]["ephemeral-storage"] == "51Gi"


def test_a_file_that_is_none_of_them_is_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "skus.json"
    path.write_text(json.dumps([{"name": 1}]))
    assert "$[0].name" in refused("autoscale", "catalogue", "--azure-skus", str(path))
    assert "$[0]" in refused("autoscale", "catalogue", "--gcp-machine-types", str(path))
    assert "expected one of" in refused("autoscale", "catalogue", "--azure-skus", "a", "--gcp-machine-types", "b")
