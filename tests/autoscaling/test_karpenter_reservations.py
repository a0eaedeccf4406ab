"""Capacity reservations are asked for by the labels of the cloud that a type is of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import kwhatif
from tests.builders import write_objects

AWS = {"karpenter.k8s.aws/instance-family": "m5"}
KWOK = {"karpenter.kwok.sh/instance-family": "m5"}
ID, TYPE = "karpenter.k8s.aws/capacity-reservation-id", "karpenter.k8s.aws/capacity-reservation-type"


def offering(zone: str, **more: Any) -> dict[str, Any]:
    return {"zone": zone, "capacityType": "on-demand", "price": 1.0, **more}


def reserved(id_: str, **more: Any) -> dict[str, Any]:
    more = {"reservationCapacity": 1, "price": 0.0000001, **more}
    return offering("eu-a", capacityType="reserved", reservationId=id_, **more)


def bought(tmp_path: Path, selector: dict[str, str], offerings: list[dict[str, Any]], labels: dict[str, str]) -> Any:
    capacity = {"cpu": "4", "memory": "16Gi", "pods": "20"}
    common = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", **labels}
    type_ = {"name": "m5.xlarge", "labels": common, "capacity": capacity, "offerings": offerings}
    catalogue = {"apiVersion": "kwhatif.dev/v1", "kind": "InstanceTypes", "types": [type_]}
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved", "on-demand"]}
                    ],
                }
            }
        },
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "full"},
        "status": {"allocatable": {"cpu": "0", "memory": "0", "pods": "0"}},
    }
    cluster = write_objects(tmp_path / "cluster.json", node)
    for name, document in (("catalogue", catalogue), ("pool", pool)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(document))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "nodeSelector": selector,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        },
    }
    files = {name: tmp_path / f"{name}.yaml" for name in ("catalogue", "pool")}
    return kwhatif.karpenter([pod], snapshot=cluster, catalogue=files["catalogue"], node_pools=files["pool"], orders=0)


ASKED = [
    pytest.param({ID: "cr-1"}, AWS, "reserved", id="a reservation by its id"),
    pytest.param({TYPE: "capacity-block"}, AWS, "reserved", id="any of a type"),
    pytest.param({ID: "cr-9"}, AWS, None, id="one that is not there"),
    pytest.param({}, AWS, "reserved", id="none, but what is reserved is cheapest"),
    pytest.param({"karpenter.kwok.sh/reservation-id": "cr-1"}, KWOK, "reserved", id="another provider's"),
]


@pytest.mark.parametrize(("selector", "labels", "kind"), ASKED)
def test_a_pod_may_ask_for(tmp_path: Path, selector: dict[str, str], labels: dict[str, str], kind: str | None) -> None:
    offerings = [offering("eu-a"), reserved("cr-1", reservationType="capacity-block"), reserved("cr-2")]
    result = bought(tmp_path, selector, offerings, labels)
    assert [each.capacity_type for each in result.machines] == ([kind] if kind else [])
    if kind and selector:
        assert any(selector.get(ID, "cr-1") in each for each in result.machines[0].requirements)
        assert not any("cr-2" in each for each in result.machines[0].requirements)
