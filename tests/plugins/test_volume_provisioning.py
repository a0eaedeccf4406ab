"""VolumeBinding finds nodes for which volumes can be made, and remembers what it promised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from kwhatif.api.meta import Resource
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from tests.asking import HOPELESS, refusals, refused
from tests.builders import HOSTNAME, ZONE, Json, cluster_of, node, plugin_of
from tests.storage_builders import DRIVER, NO_PROVISIONER, capacity, claim, claiming, driver, storage_class, volume

BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
NODES = [node("a", zone="x", labels={"rack": "1"}), node("b", zone="y", labels={"rack": "1"}), node("c")]
EVERYWHERE = {"a", "b", "c"}


def made(*objects: Resource, claims: tuple[str, ...] = ("data",)) -> dict[str, str]:
    """Node -> why no volume can be made for it."""
    found = refusals(plugin_of("VolumeBinding"), claiming(*claims), cluster_of(NODES, objects=objects))
    assert all(code is HOPELESS and len(reasons) == 1 for code, reasons in found.values())
    return {name: reasons[0] for name, (_, reasons) in found.items()}


# --- where a class allows volumes


@pytest.mark.parametrize("provisioner", [NO_PROVISIONER, ""])
def test_a_class_that_nobody_provisions_makes_no_volumes(provisioner: str) -> None:
    found = made(claim(), storage_class(provisioner=provisioner))
    assert found == dict.fromkeys(EVERYWHERE, BIND_CONFLICT)


@pytest.mark.parametrize(
    ("topologies", "fits"),
    [
        pytest.param([], EVERYWHERE, id="no terms allow all nodes"),
        pytest.param([{ZONE: ["x"]}], {"a"}, id="a term allows its values"),
        pytest.param([{ZONE: ["x", "y"]}], {"a", "b"}, id="any of them"),
        pytest.param([{ZONE: ["x"]}, {HOSTNAME: ["c"]}], {"a", "c"}, id="of terms one is enough"),
        pytest.param([{ZONE: ["y"], "rack": ["1"]}], {"b"}, id="all of a term counts"),
        pytest.param([{ZONE: ["y"], "rack": ["2"]}], set(), id="or nothing of it"),
        pytest.param([{}], set(), id="an empty term allows nobody"),
        pytest.param([{}, {ZONE: ["x"]}], {"a"}, id="and does not spoil others"),
        pytest.param([{ZONE: []}], set(), id="a label without values allows nobody"),
        pytest.param([{ZONE: ["x", "not a value!"]}], set(), id="nor do values that no label can have"),
    ],
)
def test_allowed_topologies(topologies: list[Mapping[str, Iterable[str]]], fits: set[str]) -> None:
    found = made(claim(), storage_class(provisioner=DRIVER, topologies=topologies))
    assert found == dict.fromkeys(EVERYWHERE - fits, BIND_CONFLICT)


# --- whether there is room


@pytest.mark.parametrize(
    ("told", "fits"),
    [
        pytest.param([], set(), id="a driver that tells nothing has nothing"),
        pytest.param([capacity("1Gi", at={ZONE: "x"})], {"a"}, id="room where the topology is"),
        pytest.param([capacity("1Gi", at={})], EVERYWHERE, id="a topology that is everywhere"),
        pytest.param([capacity("1Gi", at=None)], set(), id="one that is nowhere"),
        pytest.param([capacity("1023Mi", at={})], set(), id="too little"),
        pytest.param([capacity(None, at={})], set(), id="no amount is told"),
        pytest.param([capacity("1Ti", at={}, largest="1Mi")], set(), id="the largest volume says more than the sum"),
        pytest.param([capacity("1Mi", at={}, largest="1Gi")], EVERYWHERE, id="either way"),
        pytest.param([capacity("1Ti", at={}, storage_class="other")], set(), id="of another class"),
        pytest.param([capacity("1Mi", at={}), capacity("1Gi", at={ZONE: "y"}, name="more")], {"b"}, id="one that does"),
        pytest.param(
            [capacity("1Gi", at={}), capacity("1Mi", at={}, name="less")], EVERYWHERE, id="one is enough, told first"
        ),
        pytest.param(
            [capacity("1Mi", at={}), capacity("1Gi", at={}, name="more")], EVERYWHERE, id="one is enough, told last"
        ),
        pytest.param([capacity("16Ei", at={})], EVERYWHERE, id="more than can be counted"),
    ],
)
def test_storage_capacity(told: list[Resource], fits: set[str]) -> None:
    found = made(claim(), storage_class(provisioner=DRIVER), driver(), *told)
    assert found == dict.fromkeys(EVERYWHERE - fits, NO_SPACE)


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([claim(size=None), driver()], id="the claim has no size"),
        pytest.param([claim()], id="the driver is unknown"),
        pytest.param([claim(), driver("other")], id="only another driver is known"),
        pytest.param([claim(), driver(capacity=False)], id="the driver does not tell"),
        pytest.param([claim(), driver(capacity=None)], id="nobody said that it does"),
    ],
)
def test_capacity_does_not_matter_where_nobody_tells(objects: list[Resource]) -> None:
    assert made(*objects, storage_class(provisioner=DRIVER), capacity("1", at={})) == {}


def test_a_selector_that_makes_no_sense_selects_no_node() -> None:
    odd: Json = {"not a key!": "x"}
    assert set(made(claim(), storage_class(provisioner=DRIVER), driver(), capacity("1Gi", at=odd))) == EVERYWHERE


def test_the_first_claim_that_fails_gives_the_reason() -> None:
    objects = [
        claim("near", size="1Gi"),
        storage_class(provisioner=DRIVER, topologies=[{ZONE: ["x"]}]),
        claim("small", size="2Gi", storage_class="full"),
        storage_class("full", provisioner=DRIVER),
        driver(),
        capacity("1Gi", at={}),
    ]
    assert made(*objects, claims=("small", "near")) == {"a": NO_SPACE, "b": BIND_CONFLICT, "c": BIND_CONFLICT}


# --- a node that was selected before


def selected(claim: PersistentVolumeClaim, *more: Resource) -> dict[str, str]:
    return made(claim, storage_class(provisioner=DRIVER), *more)


def test_a_claim_being_provisioned_holds_the_pod_to_its_node() -> None:
    assert selected(claim(selected="b")) == {"a": BIND_CONFLICT, "c": BIND_CONFLICT}
    assert selected(claim(selected="gone")) == dict.fromkeys(EVERYWHERE, BIND_CONFLICT)


def test_elsewhere_room_is_not_asked_for() -> None:
    assert selected(claim(selected="b"), driver()) == {"a": BIND_CONFLICT, "b": NO_SPACE, "c": BIND_CONFLICT}


def test_a_claim_being_provisioned_takes_no_volume_that_exists() -> None:
    objects = [claim(selected="b"), storage_class(), volume("pv")]
    assert made(*objects) == dict.fromkeys(EVERYWHERE, BIND_CONFLICT)


# --- promises


def test_the_node_reserved_for_provisioning_binds_the_next_pod_as_well() -> None:
    cluster = cluster_of(NODES, objects=[claim(), storage_class(provisioner=DRIVER)])
    plugin, first = plugin_of("VolumeBinding"), cluster.shapes.info(claiming("data"))
    assert refused(plugin, first.pod, cluster) == set()
    promised = plugin.pre_filter(first, cluster)
    assert plugin.reserve(first, "b", promised) is None
    assert cluster.storage.selected == {("default", "data"): "b"}
    second = claiming("data", name="second")
    assert refused(plugin, second, cluster) == {"a", "c"}
    state = plugin.pre_filter(cluster.shapes.info(second), cluster)
    assert plugin.reserve(cluster.shapes.info(second), "b", state) is None
    plugin.unreserve(cluster.shapes.info(second), "b", state)
    assert cluster.storage.selected == {("default", "data"): "b"}, "it was the first pod's promise"
    plugin.unreserve(first, "b", promised)
    assert cluster.storage.selected == {}


def test_a_reserved_volume_is_the_claims_and_nobody_elses() -> None:
    objects = [claim("x"), claim("y"), storage_class(), volume("p", on="a"), volume("q")]
    cluster, plugin = cluster_of(NODES, objects=objects), plugin_of("VolumeBinding")
    first = cluster.shapes.info(claiming("x"))
    assert refused(plugin, first.pod, cluster) == set()
    promised = plugin.pre_filter(first, cluster)
    assert plugin.reserve(first, "c", promised) is None
    assert cluster.storage.reserved == {"q": ("default", "x")}
    assert refused(plugin, claiming("x", name="again"), cluster) == set()
    assert refused(plugin, claiming("y", name="other"), cluster) == {"b", "c"}
    plugin.unreserve(first, "c", promised)
    assert cluster.storage.reserved == {}
    assert refused(plugin, claiming("y", name="other"), cluster) == set()


def test_where_the_volume_kept_for_a_claim_cannot_be_reached_another_may_be_made() -> None:
    """As upstream has it, though only one of the two will be bound in the end."""
    objects = [claim(), storage_class(provisioner=DRIVER), volume("pv", on="a")]
    cluster, plugin = cluster_of(NODES, objects=objects), plugin_of("VolumeBinding")
    for name, place in (("first", "a"), ("second", "b")):
        info = cluster.shapes.info(claiming("data", name=name))
        assert refused(plugin, info.pod, cluster) == set()
        assert plugin.reserve(info, place, plugin.pre_filter(info, cluster)) is None
    assert cluster.storage.reserved == {"pv": ("default", "data")}
    assert cluster.storage.selected == {("default", "data"): "b"}
    assert refused(plugin, claiming("data", name="third"), cluster) == {"a", "c"}


def test_a_pod_whose_claims_are_bound_reserves_nothing() -> None:
    cluster = cluster_of(NODES, objects=[claim(bound_to="pv"), volume("pv", kept_for="data", phase="Bound")])
    plugin, info = plugin_of("VolumeBinding"), cluster.shapes.info(claiming("data"))
    assert refused(plugin, info.pod, cluster) == set()
    state = plugin.pre_filter(info, cluster)
    assert plugin.reserve(info, "a", state) is None
    plugin.unreserve(info, "a", state)
    assert (cluster.storage.reserved, cluster.storage.selected) == ({}, {})
