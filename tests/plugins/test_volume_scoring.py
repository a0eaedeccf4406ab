"""VolumeBinding scores nodes by how full volumes would be, where the gate StorageCapacityScoring is on."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from kwhatif.api.meta import Resource
from kwhatif.framework.status import SKIP, Skip
from kwhatif.plugins.shared.node_resources import UtilizationShapePoint
from kwhatif.plugins.volume_binding import VolumeBinding, VolumeBindingArgs
from tests.asking import refused, scores
from tests.builders import HOSTNAME, cluster_of, features_with, handle_for, node, plugin_of
from tests.storage_builders import DRIVER, capacity, claim, claiming, driver, storage_class, volume

ON = features_with(storage_capacity_scoring=True)
NODES = [node("a"), node("b")]
FULLER_IS_BETTER = ((0, 0), (100, 10))


def plugin_with(points: Iterable[tuple[int, int]]) -> VolumeBinding:
    """The plugin with the gate on and this shape: pairs of utilization and score."""
    shape = tuple(UtilizationShapePoint(utilization=x, score=y) for x, y in points)
    return VolumeBinding(replace(handle_for("VolumeBinding", features=ON), args=VolumeBindingArgs(shape=shape)))


def scored(
    *objects: Resource, claims: tuple[str, ...] = ("data",), points: Iterable[tuple[int, int]] = FULLER_IS_BETTER
) -> dict[str, int] | Skip:
    cluster, plugin, waiting = cluster_of(NODES, objects=objects, features=ON), plugin_with(points), claiming(*claims)
    fits = [name for name in ("a", "b") if name not in refused(plugin, waiting, cluster)]
    return scores(plugin, waiting, cluster, among=fits)


def test_without_the_gate_there_is_no_score() -> None:
    cluster = cluster_of(NODES, objects=[claim(), storage_class(), volume()])
    plugin = plugin_of("VolumeBinding")
    assert refused(plugin, claiming("data"), cluster) == set()
    assert scores(plugin, claiming("data"), cluster) is SKIP


def test_a_pod_without_claims_scores_nothing_anywhere() -> None:
    assert scored(claims=()) == {"a": 0, "b": 0}


@pytest.mark.parametrize(
    ("points", "found"),
    [
        pytest.param(FULLER_IS_BETTER, {"a": 100, "b": 33}, id="a shape that rises"),
        pytest.param([(0, 10), (100, 0)], {"a": 0, "b": 67}, id="a shape that falls"),
        pytest.param([(0, 0), (30, 9), (40, 1)], {"a": 10, "b": 66}, id="a shape with a peak"),
    ],
)
def test_volumes_that_exist(points: list[tuple[int, int]], found: dict[str, int]) -> None:
    objects = [claim(), storage_class(), volume("p", on="a"), volume("q", size="3Gi", on="b")]
    assert scored(*objects, points=points) == found


def test_claims_of_a_class_are_added_up_and_classes_count_alike() -> None:
    objects = [
        *(claim(name) for name in ("x", "y")),
        claim("z", storage_class="other"),
        *(storage_class(name) for name in ("std", "other")),
        volume("p", size="1Gi"),
        volume("q", size="3Gi"),
        volume("r", size="5Gi", storage_class="other"),
    ]
    assert scored(*objects, claims=("x", "y")) == {"a": 50, "b": 50}
    # (50 + 20) / 2 = 35
    assert scored(*objects, claims=("x", "y", "z")) == {"a": 35, "b": 35}


def test_halves_are_rounded_up() -> None:
    objects = [
        claim("x", size="1"),
        claim("y", size="1", storage_class="other"),
        storage_class(),
        storage_class("other"),
    ]
    volumes = [volume("p", size="4"), volume("q", size="5", storage_class="other")]
    assert scored(*objects, *volumes, claims=("x", "y")) == {"a": 23, "b": 23}


def test_a_volume_without_a_size_is_full() -> None:
    assert scored(claim(size=None), storage_class(), volume(size=None)) == {"a": 100, "b": 100}


def test_claims_that_are_bound_score_nothing() -> None:
    objects = [claim(bound_to="pv"), volume("pv", kept_for="data", phase="Bound")]
    assert scored(*objects) == {"a": 0, "b": 0}


# --- volumes to be made


def test_volumes_to_be_made_are_measured_by_what_the_driver_tells() -> None:
    objects = [
        *(claim(name) for name in ("x", "y")),
        storage_class(provisioner=DRIVER),
        driver(),
        capacity("4Gi", at={HOSTNAME: "a"}, name="here"),
        capacity("10Gi", at={HOSTNAME: "b"}, name="there"),
    ]
    assert scored(*objects, claims=("x",)) == {"a": 25, "b": 10}
    assert scored(*objects, claims=("x", "y")) == {"a": 50, "b": 20}, "the capacity is there once"


def test_of_capacities_the_first_that_suffices_counts() -> None:
    told = [capacity("1Mi", at={}), capacity("2Gi", at={}, name="two"), capacity("9Gi", at={}, name="three")]
    assert scored(claim(), storage_class(provisioner=DRIVER), driver(), *told) == {"a": 50, "b": 50}


def test_where_the_driver_tells_nothing_there_is_no_score() -> None:
    assert scored(claim(), storage_class(provisioner=DRIVER)) == {"a": 0, "b": 0}


def test_where_a_volume_is_ready_those_to_be_made_do_not_count() -> None:
    objects = [
        claim("x"),
        claim("y", storage_class="made"),
        storage_class(),
        storage_class("made", provisioner=DRIVER),
        driver(),
        capacity("2Gi", at={}, storage_class="made"),
        volume("p", size="4Gi"),
    ]
    assert scored(*objects, claims=("x", "y")) == {"a": 25, "b": 25}
    assert scored(*objects, claims=("y",)) == {"a": 50, "b": 50}
