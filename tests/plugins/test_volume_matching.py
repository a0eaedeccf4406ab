"""VolumeBinding chooses among volumes that exist for claims that wait for their first consumer."""

from __future__ import annotations

import pytest

from kwhatif.api.meta import Resource
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim
from tests.builders import cluster_of, features_with, node, plugin_of, select
from tests.storage_builders import DRIVER, choices, claim, claiming, storage_class, volume

NODES = [node("a"), node("b")]
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def chosen(*objects: Resource, claims: tuple[str, ...] = ("data",)) -> dict[str, dict[str, str]]:
    """What each node would give the claims; nodes that cannot are left out."""
    cluster = cluster_of(NODES, objects=[storage_class(), *objects])
    return choices(plugin_of("VolumeBinding"), claiming(*claims), cluster)


# --- one claim, one volume


@pytest.mark.parametrize(
    ("wanted", "there", "fits"),
    [
        pytest.param(claim(), volume(), True, id="as large as asked for"),
        pytest.param(claim(size="1100Mi"), volume(size="1Gi"), False, id="too small"),
        pytest.param(claim(size=None), volume(size=None), True, id="neither has a size"),
        pytest.param(claim(size="1"), volume(size=None), False, id="a volume without a size is empty"),
        pytest.param(claim(), volume(storage_class="other"), False, id="of another class"),
        pytest.param(
            claim(storage_class=None, annotations={BETA_CLASS: "std"}),
            volume(storage_class=None, annotations={BETA_CLASS: "std"}),
            True,
            id="classes in the older annotations",
        ),
        pytest.param(claim(), volume(annotations={BETA_CLASS: "other"}), False, id="annotations go first"),
        pytest.param(
            claim(modes=("ReadWriteOnce",)), volume(modes=("ReadOnlyMany", "ReadWriteOnce")), True, id="all its modes"
        ),
        pytest.param(
            claim(modes=("ReadWriteOnce", "ReadWriteMany")), volume(modes=("ReadWriteOnce",)), False, id="some of them"
        ),
        pytest.param(claim(modes=()), volume(modes=()), True, id="no modes asked for"),
        pytest.param(claim(volume_mode="Filesystem"), volume(), True, id="a file system is the default"),
        pytest.param(claim(volume_mode="Block"), volume(), False, id="no block device"),
        pytest.param(claim(), volume(volume_mode="Block"), False, id="a block device unasked"),
        pytest.param(claim(selector=select(tier="x")), volume(labels={"tier": "x"}), True, id="the labels asked for"),
        pytest.param(claim(selector=select(tier="x")), volume(labels={"tier": "y"}), False, id="other labels"),
        pytest.param(claim(selector=select(tier="x")), volume(), False, id="no labels"),
        pytest.param(claim(selector=select()), volume(), True, id="a selector that asks for nothing"),
        pytest.param(claim(attributes="fast"), volume(attributes="fast"), True, id="the attributes class asked for"),
        pytest.param(claim(), volume(attributes="fast"), False, id="an attributes class unasked"),
        pytest.param(claim(attributes="fast"), volume(), False, id="no attributes class"),
        pytest.param(claim(), volume(phase="Released"), False, id="not available again yet"),
        pytest.param(claim(), volume(phase="Pending"), False, id="not available yet"),
        pytest.param(claim(), volume(deleting=True), False, id="on its way out"),
        pytest.param(claim(), volume(kept_for="other"), False, id="kept for another claim"),
    ],
)
def test_what_a_free_volume_has_to_be(wanted: PersistentVolumeClaim, there: PersistentVolume, fits: bool) -> None:
    assert chosen(wanted, there) == ({"a": {"data": "pv"}, "b": {"data": "pv"}} if fits else {})


def test_without_attributes_classes_only_volumes_without_one_match() -> None:
    features = features_with(volume_attributes_class=False)
    plugin, waiting = plugin_of("VolumeBinding", features=features), claiming("data")
    for attributes, fits in ((None, True), ("fast", False)):
        objects = [storage_class(), claim(), volume(attributes=attributes)]
        assert bool(choices(plugin, waiting, cluster_of(NODES, objects=objects, features=features))) is fits


# --- which of several


@pytest.mark.parametrize(
    ("volumes", "best"),
    [
        pytest.param([volume("p", size="3Gi"), volume("q", size="2Gi")], "q", id="the smallest that fits"),
        pytest.param([volume("p", size="2000M"), volume("q", size="1900Mi")], "q", id="whatever the unit"),
        pytest.param([volume("q"), volume("p")], "p", id="of equal ones the first by name"),
        pytest.param([volume("p"), volume("q", size="5Gi", kept_for="data")], "q", id="the one kept for it, whatever"),
    ],
)
def test_the_choice_among_volumes(volumes: list[PersistentVolume], best: str) -> None:
    assert chosen(claim(), *volumes) == {"a": {"data": best}, "b": {"data": best}}


def test_each_node_has_its_own_choice() -> None:
    volumes = [volume("p", size="3Gi"), volume("q", size="2Gi", on="a"), volume("r", on="a", size="1Mi")]
    assert chosen(claim(), *volumes) == {"a": {"data": "q"}, "b": {"data": "p"}}


def test_nodes_without_a_volume_are_left_out() -> None:
    assert chosen(claim(), volume("p", on="b"), volume("q", on="nowhere")) == {"b": {"data": "p"}}


# --- volumes kept for a claim


@pytest.mark.parametrize(
    ("kept", "best"),
    [
        pytest.param(volume("kept", kept_for="data"), "kept", id="by name"),
        pytest.param(volume("kept", kept_for="data", kept_uid="uid-data"), "kept", id="by uid as well"),
        pytest.param(volume("kept", kept_for="data", kept_uid="uid-of-old"), "free", id="for an earlier claim"),
        pytest.param(volume("kept", kept_for="data", phase="Released"), "kept", id="whatever its phase"),
        pytest.param(volume("kept", kept_for="data", modes=()), "kept", id="whatever its modes"),
        pytest.param(volume("kept", kept_for="data", size="1Mi"), "free", id="too small all the same"),
        pytest.param(volume("kept", kept_for="data", volume_mode="Block"), "free", id="of another mode"),
        pytest.param(volume("kept", kept_for="data", storage_class="other"), "free", id="of another class"),
        pytest.param(volume("kept", kept_for="data", deleting=True), "free", id="on its way out"),
    ],
)
def test_a_volume_kept_for_the_claim_goes_first(kept: PersistentVolume, best: str) -> None:
    assert chosen(claim(), kept, volume("free")) == {"a": {"data": best}, "b": {"data": best}}


def test_a_volume_kept_for_the_claim_ties_it_to_the_volumes_nodes() -> None:
    assert chosen(claim(), volume("kept", kept_for="data", on="b"), volume("free")) == {"b": {"data": "kept"}}


# --- several claims


def test_claims_of_a_pod_do_not_share_a_volume() -> None:
    found = chosen(claim("x"), claim("y"), volume("p"), volume("q", on="a"), claims=("x", "y"))
    assert found == {"a": {"x": "p", "y": "q"}}


def test_the_smallest_claim_chooses_first() -> None:
    found = chosen(
        claim("large", size="2Gi"),
        claim("small", size="1Gi"),
        volume("p", size="2Gi"),
        volume("q", size="3Gi"),
        claims=("large", "small"),
    )
    assert found["a"] == {"small": "p", "large": "q"}


def test_three_claims_take_the_three_smallest() -> None:
    volumes = [volume(f"p{i}", size=f"{i}Gi") for i in range(1, 6)]
    claims = [claim(name) for name in ("x", "y", "z")]
    assert chosen(*claims, *volumes, claims=("x", "y", "z"))["b"] == {"x": "p1", "y": "p2", "z": "p3"}


def test_claims_of_different_kinds_compete_for_the_same_volumes() -> None:
    volumes = [volume("p", labels={"tier": "x"}), volume("q", size="2Gi")]
    picky, easy = claim("picky", selector=select(tier="x"), size="1025Mi"), claim("easy")
    assert chosen(picky, easy, *volumes, claims=("picky", "easy")) == {}
    assert chosen(claim("picky", selector=select(tier="x")), easy, *volumes, claims=("picky", "easy"))["a"] == {
        "picky": "p",
        "easy": "q",
    }


def test_a_claim_named_twice_asks_for_two_volumes_as_upstream_has_it() -> None:
    assert chosen(claim(), volume("p", on="a"), claims=("data", "data")) == {}
    assert set(chosen(claim(), volume("p"), volume("q", on="b"), claims=("data", "data"))) == {"b"}
    kept = volume("p", kept_for="data")
    assert set(chosen(claim(), kept, volume("q", on="b"), claims=("data", "data"))) == {"b"}


# --- classes nobody provisions, and those that somebody does


def test_without_a_provisioner_there_has_to_be_a_volume() -> None:
    assert chosen(claim()) == {}


def test_with_a_provisioner_volumes_that_exist_go_first() -> None:
    objects = [claim(storage_class="made"), storage_class("made", provisioner=DRIVER)]
    assert chosen(*objects, volume("p", storage_class="made", on="a")) == {"a": {"data": "p"}, "b": {}}
