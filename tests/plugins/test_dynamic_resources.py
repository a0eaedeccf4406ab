from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.core import Pod
from kwhatif.api.meta import Resource
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.interface import Plugin
from kwhatif.scheduling.attempt import Attempt
from tests.asking import details, scores
from tests.builders import cluster_of, node, plugin_of, pod, scheduler_for
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


def test_a_pod_without_claims_scores_nothing_anywhere() -> None:
    cluster = cluster_of([node("a"), node("b")])
    assert scores(plugin_of("DynamicResources"), pod(), cluster) == {"a": 0, "b": 0}


def test_it_has_a_word_in_every_failure_message() -> None:
    cluster = cluster_of([node("a", cpu="1")])
    message = scheduler_for(cluster).attempt(cluster.shapes.info(pod(cpu="2"))).message
    assert ". no new claims to deallocate, preemption: " in message


# --- which claims


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param([], 'could not find ResourceClaim "default/c"', id="no such claim"),
        pytest.param([claim(namespace="other")], 'could not find ResourceClaim "default/c"', id="one elsewhere"),
        pytest.param([claim(deleting=True)], 'resourceclaim "c" is being deleted', id="on its way out"),
    ],
)
def test_a_pod_does_not_enter_the_queue_before_its_claims_are_there(objects: list[Resource], text: str) -> None:
    attempt, _ = tried(pod_with("c"), *objects)
    assert attempt.gated is not None
    assert attempt.gated.message == text


def test_a_claim_that_is_to_be_made_from_a_template_keeps_the_pod_out() -> None:
    asking = pod("p", spec={"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]})
    attempt, _ = tried(asking, template("t", request()))
    assert attempt.gated is not None
    assert "has not been created yet" in attempt.gated.message or "not created yet" in attempt.gated.message


def test_an_unknown_class_refuses_the_pod() -> None:
    attempt, _ = tried(pod_with("c"), claim("c", request(of="tpu")))
    assert "request r: device class tpu does not exist" in attempt.message


# --- where they can be had


def test_a_claim_that_has_devices_is_available_where_they_are() -> None:
    there = devices_of("a", ["g0"])
    attempt, _ = tried(pod_with("c"), there, claim(has=["g0"], node="a", used_by=["other"]))
    assert (attempt.is_placed, attempt.row, len(attempt.sampled)) == (True, 0, 1)


def test_details_say_what_each_request_is_short_of() -> None:
    model = "device.attributes['gpu.example.com'].model == 'h100'"
    cards = [device(f"g{i}", attributes={"model": "h100" if i < 2 else "t4"}) for i in range(4)]
    objects = [claim("c", request("r", model, count=2)), claim("other", has=["g0"], node="a")]
    cluster = cluster_of([node("a")], objects=[device_class(), devices_of("a", cards), *objects])
    said = details(plugin_of_cluster(cluster), pod_with("c"), cluster, "a")
    assert said == [
        "claim c: r wants 2 of class gpu: 4 devices, 1 in use by default/other, "
        "2 lack model == 'h100' (selector #0), 1 left"
    ]


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param(
            [claim("c", request(count=2), constraints=[{"matchAttribute": "gpu.example.com/model"}])],
            "2 must have the same gpu.example.com/model: 1 with h100, 1 with t4",
            id="a constraint",
        ),
        pytest.param(
            [claim("c", request(count=3)), claim("other", has=["g0"], node="a")],
            "r wants 3 of class gpu: 2 devices, 1 in use by default/other, 1 left",
            id="a count",
        ),
        pytest.param(
            [claim("c", first_of("r", request("x", count=3), request("y", "false")))],
            "r/x wants 3 of class gpu: 2 devices, 2 left or r/y wants 1 of class gpu: 2 devices, "
            "2 lack false (selector #0), 0 left",
            id="alternatives",
        ),
    ],
)
def test_details_of(objects: list[Resource], text: str) -> None:
    cards = [device("g0", attributes={"model": "h100"}), device("g1", attributes={"model": "t4"})]
    cluster = cluster_of([node("a")], objects=[device_class(), devices_of("a", cards), *objects])
    (said,) = details(plugin_of_cluster(cluster), pod_with("c"), cluster, "a")
    assert text in said


def test_details_name_tainted_devices_and_counters() -> None:
    parts = [
        device("g0", taints=["sick:NoSchedule"]),
        device("g1", counters={"cards": "3"}),
        device("g2", counters={"cards": "2"}),
    ]
    objects = [claim("c", request(count=3)), claim("other", has=["g1"], node="a")]
    there = [devices_of("a", parts, slices=2), counters("a", cards="4")]
    cluster = cluster_of([node("a")], objects=[device_class(), *there, *objects])
    (said,) = details(plugin_of_cluster(cluster), pod_with("c"), cluster, "a")
    assert said.endswith("3 devices, 1 in use by default/other, 1 short of counter parts/cards, 1 tainted, 0 left")


def test_details_say_where_an_allocated_claim_is() -> None:
    there = claim(has=["g0"], node="a", used_by=["other"])
    cluster = cluster_of([node("a"), node("b")], objects=[device_class(), devices_of("a", ["g0"]), there])
    said = details(plugin_of_cluster(cluster), pod_with("c"), cluster, "b")
    assert said == [f"claim c has {DRIVER}/a/g0, used by other"]


# --- PostFilter


def test_an_allocation_nobody_uses_is_given_up_where_it_is_in_the_way() -> None:
    objects = [devices_of("a", ["g0"]), devices_of("b", ["g1"]), claim(has=["g0"], node="a")]
    attempt, cluster = tried(pod_with("c", node_selector={"kubernetes.io/hostname": "b"}), *objects)
    assert not attempt.is_placed
    assert "deallocation of ResourceClaim completed" in attempt.message
    assert cluster.devices.taken == {}
    again = scheduler_for(cluster).attempt(
        cluster.shapes.info(pod_with("c", node_selector={"kubernetes.io/hostname": "b"}))
    )
    assert (again.is_placed, allocated(cluster)) == (True, ["r=b/g1"])


def test_one_that_somebody_uses_stays() -> None:
    objects = [devices_of("a", ["g0"]), claim(has=["g0"], node="a", used_by=["other"])]
    attempt, cluster = tried(pod_with("c", node_selector={"kubernetes.io/hostname": "b"}), *objects)
    assert "still not schedulable" in attempt.message
    assert allocated(cluster) == ["r=a/g0"]


# --- who else uses it


def test_a_claim_may_be_shared_by_pods() -> None:
    cluster = cluster_of([node("a"), node("b")], objects=[device_class(), devices_of("b", ["g0"]), claim()])
    scheduler = scheduler_for(cluster)
    for name in ("p", "q"):
        assert scheduler.attempt(cluster.shapes.info(pod_with("c", name=name))).row == 1
    users = cluster.devices.claims["default", "c"].status.reserved_for or ()
    assert [user.name for user in users] == ["p", "q"]
    cluster.remove_pod("uid-default-p")
    assert allocated(cluster) == ["r=b/g0"]
    cluster.remove_pod("uid-default-q")
    assert allocated(cluster) == []


def test_no_more_pods_than_a_claim_may_be_reserved_for() -> None:
    users = [f"u{i}" for i in range(256)]
    attempt, _ = tried(pod_with("c"), devices_of("a", ["g0"]), claim(has=["g0"], node="a", used_by=users))
    assert not attempt.is_placed
    assert "256" in attempt.message


def test_the_earlier_alternative_scores_higher() -> None:
    asked = claim(
        "c", first_of("r", request("big", "device.attributes['gpu.example.com'].?big.orValue(false)"), request("any"))
    )
    there = [devices_of("a", ["g0"]), devices_of("b", [device("g1", attributes={"big": True})])]
    attempt, cluster = tried(pod_with("c"), asked, *there)
    assert (attempt.row, allocated(cluster)) == (1, ["r/big=b/g1"])


def tried(asking: Pod, *objects: Resource) -> tuple[Attempt, Cluster]:
    """One attempt on the nodes ``a`` and ``b``."""
    cluster = cluster_of([node("a"), node("b")], objects=[device_class(), *objects])
    return scheduler_for(cluster).attempt(cluster.shapes.info(asking)), cluster


def plugin_of_cluster(cluster: Cluster) -> Plugin[Any, Any]:
    """The plugin, which knows the cluster."""
    scheduler = scheduler_for(cluster)
    return next(plugin for plugin in scheduler.framework.all_plugins if plugin.name == "DynamicResources")
