"""From what ``aws ec2`` prints to machines for pods: disks, ephemeral storage, and what the catalogue lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import refused, run

Json = dict[str, Any]

ZONE = "eu-west-1a"


def printed(name: str, disk: int | None = None) -> Json:
    found: Json = {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 8192},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"], "SustainedClockSpeedInGhz": 3.1},
        "NetworkInfo": {"MaximumNetworkInterfaces": 3, "Ipv4AddressesPerInterface": 10},
        "SupportedUsageClasses": ["on-demand", "spot"],
        "Hypervisor": "nitro",
    }
    if disk is not None:
        found["InstanceStorageInfo"] = {"TotalSizeInGB": disk, "NvmeSupport": "required"}
    return found


def pool(**spec: Any) -> Json:
    reference = {
        "group": "karpenter.k8s.aws",
        "kind": spec.pop("kind", "EC2NodeClass"),
        "name": spec.pop("of", "default"),
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"nodeClassRef": reference, "requirements": [], **spec}}},
    }


NODE_CLASS: Json = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default"},
    "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
}
OVERLAY: Json = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": "o"}, "spec": {}}


FULL: Json = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "full"},
    "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "1"}},
}


def pod(requests: Json | None = None, disk: str | None = None) -> Json:
    amounts = requests or {"cpu": "1"}
    resources = {"requests": amounts, "limits": amounts}
    spec: Json = {"containers": [{"name": "c", "image": "c", "resources": resources}]}
    if disk is not None:
        asked = {"key": "karpenter.k8s.aws/instance-local-nvme", "operator": "Gt", "values": [disk]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [asked]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}


RUNNING: Json = {
    **pod(),
    "metadata": {"name": "running", "namespace": "kube-system"},
    "spec": {**pod()["spec"], "nodeName": "full"},
    "status": {"phase": "Running"},
}


def written(path: Path, content: Any) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def asked(tmp_path: Path, who: Json, *types: Json, pools: Json | None = None, **more: Any) -> Json:
    """What Karpenter does about a pod, with a catalogue of these types, each at a price of 1 on demand.

    ``objects`` are others of the snapshot, ``spot`` a price of all types, ``node_class`` whether one is known.
    """
    items = [FULL, RUNNING, NODE_CLASS, pools or pool(), *more.get("objects", ())]
    snapshot = written(tmp_path / "cluster.json", {"apiVersion": "v1", "kind": "List", "items": items})
    names = [each["InstanceType"] for each in types]
    places = [{"InstanceType": name, "Location": ZONE} for name in names]
    words = [
        *("--ec2-types", written(tmp_path / "types.json", {"InstanceTypes": types})),
        *("--ec2-offerings", written(tmp_path / "places.json", {"InstanceTypeOfferings": places})),
        *("--on-demand-prices", written(tmp_path / "prices.json", dict.fromkeys(names, 1.0))),
    ]
    if more.get("node_class", True):
        words += ["--snapshot", snapshot]
    if spot := more.get("spot"):
        told = {"AvailabilityZone": ZONE, "SpotPrice": spot, "Timestamp": "2026-11-01T00:00:00Z"}
        history = {"SpotPriceHistory": [{"InstanceType": name, **told} for name in names]}
        words += ["--ec2-spot-prices", written(tmp_path / "spot.json", history)]
    path = tmp_path / "catalogue.yaml"
    path.write_text(run("autoscale", "catalogue", *words).out, encoding="utf-8")
    pods = written(tmp_path / "pod.json", who)
    ran = run("autoscale", pods, "--snapshot", snapshot, "--catalogue", str(path), "-o", "json")
    assert ran.code in (0, 1), ran.err
    found: Json = json.loads(ran.out)
    return found


PLAIN, SMALL_DISK, LARGE_DISK = printed("m5.large"), printed("m5d.large", 75), printed("m5ad.large", 150)

BOUGHT = [
    ("a disk of more than 100 GB is of a type that has one", pod(disk="100"), (PLAIN, SMALL_DISK, LARGE_DISK),
     [["m5ad.large"]]),
    ("no type without a disk is bought for it", pod(disk="100"), (PLAIN, SMALL_DISK), []),
    ("not even where no type has any", pod(disk="100"), (PLAIN,), []),
    ("ephemeral storage is that of the images' disk", pod({"ephemeral-storage": "10Gi"}), (PLAIN,), [["m5.large"]]),
    ("and no more than it leaves", pod({"ephemeral-storage": "18Gi"}), (PLAIN,), []),
    ("branch interfaces are those of the size", pod({"vpc.amazonaws.com/pod-eni": "9"}), (PLAIN,), [["m5.large"]]),
    ("and no more", pod({"vpc.amazonaws.com/pod-eni": "10"}), (PLAIN,), []),
]  # fmt: skip


@pytest.mark.parametrize(("who", "types", "bought"), [row[1:] for row in BOUGHT], ids=[row[0] for row in BOUGHT])
def test_machines_are_bought_by_what_types_have(
    who: Json, types: tuple[Json, ...], bought: list[list[str]], tmp_path: Path
) -> None:
    found = asked(tmp_path, who, *types)
    assert [each["types"] for each in found["machines"]] == bought
    assert found["outcome"]["good"] is bool(bought)


ON_DEMAND = pool(requirements=[{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}])
SPOT_UNKNOWN = "spot prices are unknown, so that nothing is bought on spot"
AZURE: Json = {"apiVersion": "karpenter.azure.com/v1beta1", "kind": "AKSNodeClass", "metadata": {"name": "c"}}
LACKS = [
    ("spot without prices, where pools may have it", {}, [SPOT_UNKNOWN]),
    ("spot without prices, where no pool may have it", {"pools": ON_DEMAND}, []),
    ("spot with prices", {"spot": "0.3"}, []),
    ("a node class that is not known", {"spot": "0.3", "node_class": False},
     ["no node class is known, which decides what machines leave for pods"]),
    ("another node class than that of the pool", {"spot": "0.3", "pools": pool(of="gpu")},
     ["types are as node class default has them, which NodePools of another one do not"]),
    ("overlays, which may change any price", {"spot": "0.3", "objects": (OVERLAY,)},
     ["1 NodeOverlay of the snapshot is not read"]),
    ("node classes of another cloud, which no pool is of", {"spot": "0.3", "objects": (AZURE,)}, []),
    ("node classes of another cloud, which a pool is of",
     {"spot": "0.3", "objects": (AZURE,), "pools": pool(kind="AKSNodeClass")},
     ["1 AKSNodeClass of the snapshot is not read"]),
]  # fmt: skip


@pytest.mark.parametrize(("more", "unknown"), [row[1:] for row in LACKS], ids=[row[0] for row in LACKS])
def test_what_the_catalogue_lacks_is_in_the_verdict_where_it_decides(
    more: Json, unknown: list[str], tmp_path: Path
) -> None:
    outcome = asked(tmp_path, pod(), PLAIN, **more)["outcome"]
    assert outcome["unknown"] == unknown
    assert all(what in outcome["verdict"] for what in unknown)


def test_what_the_catalogue_lacks_decides_where_a_pod_gets_no_machine(tmp_path: Path) -> None:
    outcome = asked(tmp_path, pod({"cpu": "64"}), PLAIN)["outcome"]
    assert (outcome["good"], outcome["unknown"]) == (False, [SPOT_UNKNOWN])


def test_place_says_the_same_and_nothing_where_no_machine_comes(tmp_path: Path) -> None:
    asked(tmp_path, pod(), PLAIN)
    words = (
        "--snapshot",
        str(tmp_path / "cluster.json"),
        "--autoscale",
        str(tmp_path / "catalogue.yaml"),
        "-o",
        "json",
    )
    outcome = json.loads(run("place", str(tmp_path / "pod.json"), *words).out)["outcome"]
    assert outcome["unknown"] == [SPOT_UNKNOWN]
    assert outcome["verdict"].endswith(SPOT_UNKNOWN)
    pinned = {**pod(), "spec": {**pod()["spec"], "nodeName": "full"}}
    outcome = json.loads(run("place", written(tmp_path / "pinned.json", pinned), *words).out)["outcome"]
    assert outcome["unknown"] == []


def test_of_several_node_classes_one_is_chosen(tmp_path: Path) -> None:
    classes = [NODE_CLASS, {**NODE_CLASS, "metadata": {"name": "large"}}]
    classes[1]["spec"] = {**NODE_CLASS["spec"], "kubelet": {"maxPods": 110}}
    words = [
        *("--snapshot", written(tmp_path / "cluster.json", {"apiVersion": "v1", "kind": "List", "items": classes})),
        *("--ec2-types", written(tmp_path / "types.json", {"InstanceTypes": [PLAIN]})),
        *("--ec2-offerings", written(tmp_path / "places.json", {"InstanceTypeOfferings": []})),
    ]
    assert "expected one EC2NodeClass, found default, large" in refused("autoscale", "catalogue", *words)
    assert "did you mean large?" in refused("autoscale", "catalogue", *words, "--node-class", "larg")
    found = yaml.safe_load(run("autoscale", "catalogue", *words, "--node-class", "large").out)
    assert (found["nodeClass"], found["types"][0]["capacity"]["pods"]) == ("large", "110")
    only = ("autoscale", "catalogue", *words[:2], "--node-class", "large")
    assert "--node-class needs --ec2-types" in refused(*only)
