"""What types of a cloud are known not to have: a pod that asks for it gets no machine."""

from __future__ import annotations

import pytest

from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.karpenter.catalogue import Catalogue, InstanceType, Offering
from kwhatif.autoscaling.karpenter.requirements import ZONE_ID, Requirement

NVME = "karpenter.k8s.aws/instance-local-nvme"


def type_of(name: str, labels: dict[str, str], zone_id: str = "") -> InstanceType:
    offering = Offering(zone="eu-a", capacity_type="on-demand", price=1.0, zone_id=zone_id)
    return InstanceType(name=name, labels=labels, capacity={"cpu": Quantity.from_units(4)}, offerings=[offering])


PLAIN = type_of("m5.large", {"karpenter.k8s.aws/instance-family": "m5"})
DISKS = type_of("m5d.large", {"karpenter.k8s.aws/instance-family": "m5d", NVME: "150"})
OTHER = type_of("c-4", {"karpenter.kwok.sh/instance-family": "c"})

ASKED = [
    ("a large disk is of a type with disks", [PLAIN, DISKS],
     Requirement.from_selector(NVME, "Gt", ("100",)), ["m5d.large"]),
    ("no type has one, so none fits", [PLAIN], Requirement.from_selector(NVME, "Gt", ("100",)), []),
    ("a disk that is too small does not fit", [DISKS], Requirement.from_selector(NVME, "Gt", ("200",)), []),
    ("to have none fits types without", [PLAIN, DISKS],
     Requirement.from_selector(NVME, "DoesNotExist"), ["m5.large"]),
    ("tenancy is chosen when a machine is made", [PLAIN],
     Requirement.from_selector("karpenter.k8s.aws/instance-tenancy", "In", ("dedicated",)), ["m5.large"]),
    ("labels of one's own are of pools", [PLAIN],
     Requirement.from_selector("example.com/team", "In", ("a",)), ["m5.large"]),
    ("another cloud's labels say nothing", [OTHER], Requirement.from_selector(NVME, "Gt", ("100",)), ["c-4"]),
]  # fmt: skip


@pytest.mark.parametrize(("types", "asked", "left"), [row[1:] for row in ASKED], ids=[row[0] for row in ASKED])
def test_types_without_a_label_that_their_cloud_always_tells_do_not_have_it(
    types: list[InstanceType], asked: Requirement, left: list[str]
) -> None:
    fits = Catalogue(types).compatible({asked.key: asked})
    assert [each.name for each, good in zip(types, fits, strict=True) if good] == left


def test_zones_are_also_known_by_their_ids() -> None:
    here = type_of("m5.large", dict(PLAIN.labels), "euw1-az1")
    catalogue = Catalogue([here, PLAIN])
    for zone_id, fits in (("euw1-az1", True), ("euw1-az2", False)):
        asked = Requirement.from_selector(ZONE_ID, "In", (zone_id,))
        assert bool(catalogue.compatible({ZONE_ID: asked})[0]) is fits
