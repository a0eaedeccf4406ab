"""What holds of any claims on any devices."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.devices import ResourceClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.versions import SUPPORTED_MINORS, features_of
from tests.builders import FEATURES, Json, cluster_of, node, scheduler_for
from tests.device_builders import (
    DRIVER,
    allocated,
    claim,
    counters,
    device,
    device_class,
    devices_of,
    first_of,
    pod_with,
    request,
    template,
)

pytestmark = pytest.mark.usefixtures("cluster_size")

NODES = ("a", "b")
CARDS = 6
"""What the counter of each node's pool holds."""


@st.composite
def devices(draw: st.DrawFn, name: str) -> Json:
    kind = draw(st.sampled_from(("plain", "plain", "part", "shared")))
    return device(
        name,
        attributes={"model": draw(st.sampled_from(("x", "y")))},
        counters={"cards": str(draw(st.integers(1, 4)))} if kind == "part" else None,
        capacity={"memory": f"{draw(st.integers(2, 8))}Gi"} if kind == "shared" else None,
        shared=kind == "shared",
        taints=["sick:NoSchedule"] if draw(st.integers(0, 5)) == 0 else (),
    )


@st.composite
def requests(draw: st.DrawFn, name: str) -> Json:
    def one(own: str) -> Json:
        selectors = draw(st.sampled_from(((), ("device.attributes['gpu.example.com'].model == 'x'",))))
        everything = draw(st.integers(0, 6)) == 0
        return request(
            own,
            *selectors,
            count=None if everything else draw(st.integers(1, 3)),
            everything=everything,
            capacity=draw(st.sampled_from((None, None, {"memory": "2Gi"}))),
            tolerates=draw(st.sampled_from(((), ("sick",)))),
        )

    if draw(st.integers(0, 3)) == 0:
        return first_of(name, one("first"), one("second"))
    return one(name)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Any], list[str]]:
    """Slices, classes and claims; and the names of the claims."""
    objects: list[Any] = [device_class()]
    for name in NODES:
        found = [draw(devices(f"g{i}")) for i in range(draw(st.integers(0, 5)))]
        objects += [devices_of(name, found, slices=2), counters(name, cards=str(CARDS))]
    names = [f"c{i}" for i in range(draw(st.integers(1, 6)))]
    for name in names:
        constraint = {draw(st.sampled_from(("matchAttribute", "distinctAttribute"))): f"{DRIVER}/model"}
        objects.append(
            claim(
                name,
                *(draw(requests(f"r{i}")) for i in range(draw(st.integers(1, 2)))),
                constraints=[constraint] if draw(st.booleans()) else (),
            )
        )
    return objects, names


def placed(objects: list[Any], names: list[str], features: Any = FEATURES) -> tuple[Cluster, list[str]]:
    """The cluster after a pod for each claim, and what became of each."""
    cluster = cluster_of([node(name) for name in NODES], objects=objects, features=features)
    scheduler = scheduler_for(cluster)
    found = []
    for name in names:
        attempt = scheduler.attempt(cluster.shapes.info(pod_with(name, name=f"p-{name}")))
        found.append(attempt.message or f"{attempt.row}: {allocated(cluster, name)}")
    return cluster, found


def results_of(cluster: Cluster, there: ResourceClaim) -> list[Any]:
    allocation = there.status.allocation
    return list((allocation.devices.results if allocation else None) or ())


@pytest.mark.long
@given(worlds(), st.sampled_from(SUPPORTED_MINORS[-3:]))
def test_nothing_is_given_away_twice(world: tuple[list[Any], list[str]], minor: str) -> None:
    cluster, _ = placed(*world, features_of(minor))
    by_device = {
        (s.spec.driver, s.spec.pool.name, d.name): d for s in cluster.devices.slices for d in s.spec.devices or ()
    }
    taken: Counter[Any] = Counter()
    used: Counter[Any] = Counter()
    cards: Counter[str] = Counter()
    for there in cluster.devices.claims.values():
        for result in results_of(cluster, there):
            if result.share_id is None:
                taken[result.id] += 1
            for name, amount in (result.consumed_capacity or {}).items():
                used[result.id, name] += amount.nano()
    for id_ in {result.id for c in cluster.devices.claims.values() for result in results_of(cluster, c)}:
        for consumed in by_device[id_].consumes_counters or ():
            cards[id_[1]] += (consumed.counters or {})["cards"].value.value()
    assert all(count == 1 for count in taken.values())
    assert all(count <= CARDS for count in cards.values())
    for (id_, name), amount in used.items():
        assert amount <= (by_device[id_].capacity or {})[name].value.nano()


@pytest.mark.long
@given(worlds())
def test_a_pod_that_leaves_gives_all_back(world: tuple[list[Any], list[str]]) -> None:
    cluster, _ = placed(*world)
    for info, _ in list(cluster.pods()):
        cluster.remove_pod(info.uid)
    left = cluster.devices
    assert (left.taken, left.shares, left.in_flight) == ({}, {}, {})
    assert all(c.status.allocation is None and not c.status.reserved_for for c in left.claims.values())
    assert placed(*world)[1] == placed(*world)[1]


@pytest.mark.long
@given(worlds())
def test_a_refused_reservation_leaves_no_trace(world: tuple[list[Any], list[str]]) -> None:
    objects, names = world
    cluster = cluster_of([node(name) for name in NODES], objects=objects)
    scheduler = scheduler_for(cluster)
    info = cluster.shapes.info(pod_with(names[0]))
    attempt = scheduler.decide(info)
    if attempt.row is not None:
        where = cluster.columns.names[attempt.row]
        assert scheduler.framework.reserve(info, where, attempt.states) is None
        scheduler.framework.unreserve(info, where, attempt.states)
    after = cluster.devices
    assert (after.taken, after.shares, after.consumed, after.in_flight) == ({}, {}, {}, {})
    assert not any(there.status.allocation for there in after.claims.values())


@pytest.mark.parametrize(("reserves", "users"), [(True, ["other"]), (False, ["other", "p"])])
def test_who_reserved_nothing_gives_nothing_back(reserves: bool, users: list[str]) -> None:
    """Unreserve is called of all plugins when one of them refuses, and a claim may be a pod's from an earlier time."""
    taken = claim("c", has=["g0"], node="a", used_by=["other", "p"])
    cluster = cluster_of([node("a")], objects=[device_class(), devices_of("a", ["g0"]), taken])
    scheduler = scheduler_for(cluster)
    info = cluster.shapes.info(pod_with("c"))
    attempt = scheduler.decide(info)
    if reserves:
        assert scheduler.framework.reserve(info, "a", attempt.states) is None
    scheduler.framework.unreserve(info, "a", attempt.states)
    there = cluster.devices.claims["default", "c"].status
    assert [user.name for user in there.reserved_for or ()] == users
    assert there.allocation is not None


@pytest.mark.long
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_objects_does_not_matter(world: tuple[list[Any], list[str]], random: Any) -> None:
    objects, names = world
    shuffled = list(objects)
    random.shuffle(shuffled)
    assert placed(shuffled, names)[1] == placed(objects, names)[1]


@pytest.mark.long
@given(worlds())
@settings(max_examples=30)
def test_what_is_remembered_does_not_change_the_answer(world: tuple[list[Any], list[str]]) -> None:
    """One pod after the other in one cluster, and each in a cluster made from what the ones before it left."""
    objects, names = world
    cluster, found = placed(objects, names)
    kept = [each for each in objects if not isinstance(each, ResourceClaim)]
    afresh = cluster_of([node(name) for name in NODES], objects=objects)
    for name, wanted in zip(names, found, strict=True):
        rows = afresh.columns.names
        bound = [replace(i.pod, spec=replace(i.pod.spec, node_name=rows[row])) for i, row in afresh.pods()]
        there = [*kept, *afresh.devices.claims.values()]
        afresh = cluster_of([node(each) for each in NODES], bound, objects=there)
        attempt = scheduler_for(afresh).attempt(afresh.shapes.info(pod_with(name, name=f"p-{name}")))
        if attempt.is_placed:
            assert f"{attempt.row}: {allocated(afresh, name)}" == wanted
        else:
            assert attempt.message == wanted
    assert afresh.devices.taken.keys() == cluster.devices.taken.keys()


@pytest.mark.parametrize("minor", SUPPORTED_MINORS)
def test_without_the_feature_pods_with_claims_are_like_others(minor: str) -> None:
    features = features_of(minor)
    if features.dynamic_resource_allocation:
        return
    objects = [device_class(), claim("c"), template("t", request())]
    assert placed(objects, ["c"], features)[1] == ["0: []"]
