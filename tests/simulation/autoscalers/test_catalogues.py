"""Catalogues from a snapshot, from the KWOK provider and from what AWS's client prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import TESTS, refused, run

SAMPLE = TESTS.parent / "samples" / "karpenter"


def written(folder: Path, name: str, value: Any) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(value))
    return str(path)


def catalogue(*words: str) -> dict[str, Any]:
    ran = run("autoscale", "catalogue", *words)
    assert ran.code == 0, ran.err
    found: dict[str, Any] = yaml.safe_load(ran.out)
    return found


def test_a_snapshot_shows_the_types_of_its_nodes_and_says_what_is_missing(tmp_path: Path) -> None:
    found = catalogue("--snapshot", str(SAMPLE / "cluster.yaml"))
    types = {each["name"]: each for each in found["types"]}
    assert list(types) == ["c.4", "m.4", "m.8"]
    assert types["m.8"]["overhead"] == {"cpu": "100m", "ephemeral-storage": "3Gi", "memory": "1499Mi"}
    assert [each["zone"] for each in types["c.4"]["offerings"]] == ["eu-a", "eu-b"]
    path = written(tmp_path, "types", found)
    ran = run("autoscale", "--snapshot", str(SAMPLE / "cluster.yaml"), "--catalogue", path)
    assert "The catalogue is incomplete: only types that the snapshot has a node of" in ran.out


def kwok(**changed: Any) -> list[dict[str, Any]]:
    asked = (("karpenter.sh/capacity-type", "spot"), ("topology.kubernetes.io/zone", "a"))
    requirements = [{"key": key, "operator": "In", "values": [value]} for key, value in asked]
    type_ = {
        "name": "c-4x-arm64-linux",
        "offerings": [{"Price": 0.1, "Available": False, "Requirements": requirements}],
        "architecture": "arm64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "4", "memory": "8Gi"},
    }
    return [type_ | changed]


def test_the_catalogue_of_the_kwok_provider_is_taken_as_the_provider_takes_it(tmp_path: Path) -> None:
    (found,) = catalogue("--kwok", written(tmp_path, "kwok", kwok()))["types"]
    assert found["offerings"] == [{"zone": "a", "capacityType": "spot", "price": 0.1}], "all are made available"
    assert found["labels"]["karpenter.kwok.sh/instance-family"] == "c"
    assert found["labels"]["karpenter.kwok.sh/instance-size"] == "4"
    assert (found["capacity"]["pods"], found["overhead"]) == ("110", {"cpu": "100m", "memory": "10Mi"})


TYPES = {
    "InstanceTypes": [
        {
            "InstanceType": "zz9.large",
            "SupportedUsageClasses": ["on-demand", "spot"],
            "VCpuInfo": {"DefaultVCpus": 2},
            "MemoryInfo": {"SizeInMiB": 8192},
            "ProcessorInfo": {"SupportedArchitectures": ["x86_64"], "Manufacturer": "Made Up"},
            "NetworkInfo": {"NetworkCards": [{"MaximumNetworkInterfaces": 3}], "Ipv4AddressesPerInterface": 10},
        }
    ]
}
PLACES = {"InstanceTypeOfferings": [{"InstanceType": "zz9.large", "Location": zone} for zone in ("b", "a")]}
PRICE = {"InstanceType": "zz9.large", "AvailabilityZone": "a"}
SPOT = {
    "SpotPriceHistory": [
        {**PRICE, "SpotPrice": "0.03", "Timestamp": "2026-02-01T00:00:00Z"},
        {**PRICE, "SpotPrice": "0.02", "Timestamp": "2026-01-01T00:00:00Z"},
    ]
}


def test_what_a_type_of_aws_leaves_for_pods_follows_from_its_interfaces_and_the_node_class(tmp_path: Path) -> None:
    files = ("--ec2-types", written(tmp_path, "types", TYPES), "--ec2-offerings", written(tmp_path, "places", PLACES))
    spot = ("--ec2-spot-prices", written(tmp_path, "spot", SPOT))
    found = catalogue(*files, *spot)
    assert "on-demand prices are unknown" in found["incomplete"]
    (type_,) = found["types"]
    assert type_["capacity"] == {
        "cpu": "2",
        "memory": "7577Mi",
        "ephemeral-storage": "20Gi",
        "pods": "29",
        "vpc.amazonaws.com/pod-eni": "9",
    }, "8192 less 7.5 %"
    assert type_["overhead"] == {
        "cpu": "70m",
        "memory": "674Mi",
        "ephemeral-storage": "3Gi",
    }, "11 * 29 + 255 and 100 for eviction; of the disk 1Gi and a tenth"
    assert type_["offerings"] == [{"zone": "a", "capacityType": "spot", "price": 0.03}], "the latest price"
    assert type_["labels"]["karpenter.k8s.aws/instance-category"] == "zz"
    node_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "small"},
        "spec": {"kubelet": {"maxPods": 10, "systemReserved": {"cpu": "30m"}}},
    }
    prices = ("--on-demand-prices", written(tmp_path, "prices", {"zz9.large": 0.1}))
    (type_,) = catalogue(*files, *prices, "--snapshot", written(tmp_path, "class", node_class))["types"]
    assert (type_["capacity"]["pods"], type_["overhead"]["cpu"]) == ("10", "100m")
    assert [(each["zone"], each["capacityType"]) for each in type_["offerings"]] == [
        ("a", "on-demand"),
        ("b", "on-demand"),
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (kwok(operatingSystems=["linux", "windows"]), "$[0].operatingSystems: expected one operating system"),
        (kwok(offerings=[{"Price": 1, "Requirements": []}]), "$[0].offerings[0].Requirements: expected a requirement"),
        (kwok(resources={"cpu": "1"}), "$[0].resources: expected an amount of memory, found none"),
        (kwok(name=7), "$[0].name"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, value: Any, message: str) -> None:
    path = written(tmp_path, "kwok", value)
    assert f"{path}: {message}" in refused("autoscale", "catalogue", "--kwok", path)


def test_one_source_has_to_be_named() -> None:
    assert "name the cluster" in refused("autoscale", "catalogue")
    assert "go together" in refused("autoscale", "catalogue", "--ec2-types", "x")
