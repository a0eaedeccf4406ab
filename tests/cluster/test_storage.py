from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.cluster.storage import Storage, claim_names, storage_class_of
from tests.builders import cluster_of
from tests.storage_builders import claim, claiming, ephemeral, storage_class, volume

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
KEY = ("default", "data")


def storage(*objects: Any) -> Storage:
    return cluster_of([], objects=objects).storage


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param({"storage_class": "std"}, "std", id="the field"),
        pytest.param({"storage_class": None}, "", id="none"),
        pytest.param({"storage_class": "std", "annotations": {BETA_CLASS: "old"}}, "old", id="the older annotation"),
        pytest.param({"storage_class": "std", "annotations": {BETA_CLASS: ""}}, "", id="even an empty one"),
    ],
)
def test_classes(kind: dict[str, Any], name: str) -> None:
    assert (storage_class_of(claim(**kind)), storage_class_of(volume(**kind))) == (name, name)


def test_volumes_are_known_by_class_number_and_name() -> None:
    found = storage(volume("q"), volume("p"), volume("o", storage_class="other"))
    assert [v.name for v in found.listed] == ["o", "p", "q"]
    assert all(found.listed[found.number[name]].name == name for name in found.volumes)
    assert [v.name for v in found.volumes_of_class("std")] == ["p", "q"]
    assert found.volumes_of_class("none") == []


def test_the_claims_of_a_pod_in_their_order() -> None:
    waiting = claiming("x", "y", volumes=[{"name": "e", "emptyDir": {}}, ephemeral("tmp")], name="web")
    assert [name for name, _ in claim_names(waiting)] == ["x", "y", "web-tmp"]


@pytest.mark.parametrize(
    ("wanted", "bound"),
    [
        pytest.param(claim(bound_to="pv"), True, id="a volume and the note that binding is complete"),
        pytest.param(claim(bound_to="pv", completed=False), False, id="a volume without the note"),
        pytest.param(claim(), False, id="neither"),
    ],
)
def test_a_claim_is_bound_when_it_says_so_itself(wanted: PersistentVolumeClaim, bound: bool) -> None:
    assert storage().fully_bound(wanted) is bound


# --- who a volume is kept for


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        pytest.param({}, False, id="a free volume"),
        pytest.param({"kept_for": "data"}, True, id="kept by name"),
        pytest.param({"kept_for": "data", "kept_uid": "uid-data"}, True, id="kept by uid, too"),
        pytest.param({"kept_for": "data", "kept_uid": "another"}, False, id="kept for a claim that was there before"),
        pytest.param({"kept_for": "other"}, False, id="kept for another claim"),
    ],
)
def test_volumes_kept_for_claims(kind: dict[str, Any], holds: bool) -> None:
    pv, wanted = volume(**kind), claim()
    found = storage(pv, wanted)
    assert found.holds(pv, wanted) is holds
    assert found.prebound_volumes_of(wanted) == ([pv] if holds else [])
    assert not found.holds(pv, claim(namespace="other"))


def test_reserving_a_volume_keeps_it_for_the_claim_and_releasing_it_frees_it() -> None:
    pv, wanted = volume(), claim()
    found = storage(pv, wanted)
    assert found.holder(pv) is None
    found.reserve("pv", KEY)
    assert found.holder(pv) == (KEY, "uid-data")
    assert found.prebound_volumes_of(wanted) == [pv]
    found.release(["pv"], [])
    assert found.holder(pv) is None
    assert found.prebound_volumes_of(wanted) == []


def test_every_assumption_shows_in_the_version_and_volumes_in_the_changes() -> None:
    found = storage(volume(), claim())
    seen = [found.version]
    found.reserve("pv", KEY)
    seen.append(found.version)
    found.select(KEY, "n")
    seen.append(found.version)
    found.release(["pv"], [KEY])
    seen.append(found.version)
    assert len(set(seen)) == len(seen)
    assert found.changes == ["pv", "pv"]


def test_the_selected_node_is_what_was_assumed_or_else_what_is_written() -> None:
    written, blank = claim(selected="a"), claim("blank")
    found = storage(written, blank)
    assert (found.selected_node(written), found.selected_node(blank)) == ("a", None)
    found.select(("default", "blank"), "b")
    assert found.selected_node(blank) == "b"
    found.release([], [("default", "blank")])
    assert found.selected_node(blank) is None


def test_a_fork_goes_its_own_way() -> None:
    pv, wanted = volume(), claim()
    found = storage(pv, wanted, storage_class())
    twin = found.fork()
    twin.reserve("pv", KEY)
    twin.select(KEY, "n")
    twin.add_claim(claim("late"))
    assert (found.reserved, found.selected, found.changes) == ({}, {}, [])
    assert found.prebound_volumes_of(wanted) == []
    assert ("default", "late") not in found.claims
    found.reserve("pv", ("default", "other"))
    assert twin.holder(pv) == (KEY, "uid-data")


def test_a_claim_that_is_there_is_not_made_again() -> None:
    found = storage(claim(size="1Gi"))
    found.add_claim(claim(size="2Gi"))
    assert found.claims[KEY] == claim(size="1Gi")
