"""What ``explain`` says of volumes that are elsewhere: which claim and volume, where that is and where the node is."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.core import Pod
from tests.asking import details
from tests.builders import ZONE, cluster_of, node, node_term, plugin_of
from tests.storage_builders import (
    DRIVER,
    capacity,
    claim,
    claiming,
    csi_node,
    driver,
    storage_class,
    volume,
)

NODES = [node("a", zone="west"), node("b", zone="east")]
IN_EAST = [node_term(f"{ZONE} In east")]
AWAY = f"wants {ZONE}=east, node has {ZONE}=west"
FAST = storage_class("fast", provisioner=DRIVER, topologies=[{ZONE: ["east"]}])

CASES: dict[str, tuple[Pod, list[Any], list[str]]] = {
    "a bound volume in another zone": (
        claiming("data"),
        [claim(bound_to="pv"), volume(terms=IN_EAST)],
        [f"claim data is bound to volume pv, which {AWAY}"],
    ),
    "only those of several that are elsewhere": (
        claiming("near", "data"),
        [claim("near", bound_to="here"), volume("here", on="a"), claim(bound_to="pv"), volume(terms=IN_EAST)],
        [f"claim data is bound to volume pv, which {AWAY}"],
    ),
    "a volume that a driver on the node finds by its own label": (
        claiming("data"),
        [
            claim(bound_to="pv"),
            volume(labels={ZONE: "east"}, source={"awsElasticBlockStore": {"volumeID": "v"}}),
            csi_node("a", migrated=["kubernetes.io/aws-ebs"]),
        ],
        [
            "claim data is bound to volume pv, which wants topology.ebs.csi.aws.com/zone=east, node has no such label",
        ],
    ),
    "a volume that is gone": (
        claiming("data"),
        [claim(bound_to="pv")],
        ["claim data is bound to volume pv, which does not exist"],
    ),
    "free volumes in another zone": (
        claiming("data"),
        [claim(), volume(terms=IN_EAST), storage_class()],
        [f"claim data: volume pv {AWAY}, and class std makes none"],
    ),
    "many free volumes elsewhere": (
        claiming("data"),
        [claim(), *(volume(f"pv{i}", on="b") for i in range(5)), storage_class()],
        [
            "claim data: "
            + ", ".join(
                f"volume pv{i} wants kubernetes.io/hostname=b, node has kubernetes.io/hostname=a" for i in range(3)
            )
            + " and 2 more, and class std makes none"
        ],
    ),
    "a free volume that the pod's other claim takes": (
        claiming("one", "two"),
        [claim("one"), claim("two"), volume(on="a"), storage_class()],
        ["claim two: volume pv goes to another claim of the pod, and class std makes none"],
    ),
    "a class that makes volumes in another zone": (
        claiming("data"),
        [claim(storage_class="fast"), FAST],
        [f"claim data: no volume that fits is free, and class fast, which would make one, {AWAY}"],
    ),
    "a volume that is being made for another node": (
        claiming("data"),
        [claim(storage_class="fast", selected="b"), storage_class("fast", provisioner=DRIVER)],
        ["claim data: its volume is being made for node b"],
    ),
    "a driver without room": (
        claiming("data"),
        [
            claim(storage_class="fast", size="10Gi"),
            storage_class("fast", provisioner=DRIVER),
            driver(),
            capacity("5Gi", at={ZONE: "west"}, storage_class="fast"),
        ],
        [f"claim data asks for 10Gi, driver {DRIVER} reports room for 5Gi there"],
    ),
    "a driver that reports nothing of the node": (
        claiming("data"),
        [claim(storage_class="fast"), storage_class("fast", provisioner=DRIVER), driver()],
        [f"claim data asks for 1Gi, driver {DRIVER} reports no room there"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_volume_binding_tells_of(case: str) -> None:
    pod, objects, said = CASES[case]
    cluster = cluster_of(NODES, objects=objects)
    assert details(plugin_of("VolumeBinding"), pod, cluster, "a") == said


def test_volume_zone_tells_where_a_node_is_whose_label_is_the_stable_one() -> None:
    old = "failure-domain.beta.kubernetes.io/zone"
    cluster = cluster_of(NODES, objects=[claim(bound_to="pv"), volume(labels={old: "east"})])
    assert details(plugin_of("VolumeZone"), claiming("data"), cluster, "a") == [
        f"claim data: volume pv is in {old} east, node has {ZONE}=west"
    ]
