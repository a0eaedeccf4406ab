"""What claims are given: one pod at a time, through the whole scheduler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kwhatif.api.core import Pod
from kwhatif.api.meta import Resource
from kwhatif.cluster.cluster import Cluster
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.controllers import with_claims
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.versions import features_of
from tests.builders import FEATURES, Json, cluster_of, node, pod, profile_document, scheduler_for
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
    taint_rule,
    template,
)

MODEL = "device.attributes['gpu.example.com'].model == '{}'"
NO_SOLUTION = "cannot allocate all claims"


def tried(
    *objects: Resource, asking: Pod | None = None, features: Any = FEATURES, **nodes: Json
) -> tuple[Attempt, Cluster]:
    """One attempt for a pod (``asking``) with the claim ``c``, on the nodes ``a`` and ``b`` unless others are given."""
    labels: dict[str, Any] = nodes or {"a": {}, "b": {}}
    there = [node(name, labels=more) for name, more in labels.items()]
    cluster = cluster_of(there, objects=[device_class(), *objects], features=features)
    return scheduler_for(cluster).attempt(cluster.shapes.info(asking or pod_with("c"))), cluster


def given(*objects: Resource, **more: Any) -> list[str] | str:
    """What the claim ``c`` gets; the message if the pod finds no node."""
    attempt, cluster = tried(*objects, **more)
    return allocated(cluster) if attempt.is_placed else attempt.message


def two(*names: str, **more: Any) -> list[Json]:
    return [device(name, attributes={"model": "h100" if name.startswith("h") else "t4"}, **more) for name in names]


# --- claims from templates


@pytest.mark.parametrize(
    ("there", "made"),
    [
        pytest.param([], "p-c", id="it is called after the pod and what the pod calls it"),
        pytest.param(["p-c"], "p-c-1", id="a name that somebody else's claim has is numbered"),
        pytest.param(["p-c", "p-c-1"], "p-c-2", id="until one is free"),
    ],
)
def test_a_claim_from_a_template_takes_nobody_elses_name(there: list[str], made: str) -> None:
    others = [claim(name) for name in there]
    cluster = cluster_of([node("a")], objects=[*others, template("t", request())])
    mine = pod("p", spec={"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]})
    (status,) = with_claims(mine, cluster).status.resource_claim_statuses or []
    assert (status.name, status.resource_claim_name) == ("c", made)
    claims = cluster.devices.claims
    assert {name for _, name in claims} == {*there, made}
    assert [claims["default", each.name] for each in others] == others


# --- which devices


def test_the_first_free_device_of_the_node_is_taken() -> None:
    taken = claim("other", has=["g0"], node="a")
    assert given(claim(), taken, devices_of("a", ["g0", "g1", "g2"])) == ["r=a/g1"]


def test_a_claim_is_reserved_and_bound_to_the_node() -> None:
    attempt, cluster = tried(claim(), devices_of("b", ["g0"]))
    status = cluster.devices.claims["default", "c"].status
    assert attempt.is_placed
    assert attempt.row == 1
    assert [user.name for user in status.reserved_for or ()] == ["p"]
    assert status.allocation is not None
    assert status.allocation.node_selector is not None


@pytest.mark.parametrize(
    ("requests", "wanted"),
    [
        pytest.param([request(count=2)], ["r=a/h0", "r=a/t0"], id="a count"),
        pytest.param([request("r", MODEL.format("t4"))], ["r=a/t0"], id="a selector"),
        pytest.param([request(everything=True)], ["r=a/h0", "r=a/t0", "r=a/t1"], id="all"),
        pytest.param([request("r", MODEL.format("t4"), everything=True)], ["r=a/t0", "r=a/t1"], id="all that match"),
        pytest.param(
            [request("any"), request("h", MODEL.format("h100"))], ["any=a/t0", "h=a/h0"], id="one in another's way"
        ),
        pytest.param(
            [first_of("r", request("big", count=4), request("small", count=3))],
            ["r/small=a/h0", "r/small=a/t0", "r/small=a/t1"],
            id="the second alternative",
        ),
        pytest.param(
            [first_of("r", request("one"), request("two", count=2))], ["r/one=a/h0"], id="the first alternative"
        ),
        pytest.param([request(count=4)], NO_SOLUTION, id="too many"),
        pytest.param([request("r", MODEL.format("b200"))], NO_SOLUTION, id="no such device"),
        pytest.param([request("r", "false", everything=True)], NO_SOLUTION, id="all of none"),
    ],
)
def test_requests(requests: list[Json], wanted: list[str] | str) -> None:
    got = given(claim("c", *requests), devices_of("a", two("h0", "t0", "t1")), a={})
    assert got == wanted if isinstance(wanted, list) else wanted in got


def test_all_devices_are_not_to_be_had_if_one_is_in_use() -> None:
    taken = claim("other", has=["g0"], node="a")
    assert NO_SOLUTION in given(claim("c", request(everything=True)), taken, devices_of("a", ["g0", "g1"]))


def test_an_administrator_gets_devices_in_use() -> None:
    taken = claim("other", has=["g0"], node="a")
    assert given(claim("c", request(admin=True)), taken, devices_of("a", ["g0"])) == ["r=a/g0"]


def test_what_an_administrator_has_is_free_for_others() -> None:
    cluster = cluster_of(
        [node("a")], objects=[device_class(), claim("c", request(admin=True)), claim("d"), devices_of("a", ["g0"])]
    )
    scheduler = scheduler_for(cluster)
    for name in ("c", "d"):
        assert scheduler.attempt(cluster.shapes.info(pod_with(name, name=f"p-{name}"))).is_placed
    assert allocated(cluster, "c") == allocated(cluster, "d") == ["r=a/g0"]


def test_a_selector_that_fails_is_an_error() -> None:
    message = given(claim("c", request("r", "device.attributes['x'].y == 1")), devices_of("a", ["g0"]))
    assert "CEL runtime error: no such key: y" in message


# --- constraints


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("matchAttribute", ["r=a/t0", "r=a/t1"]), ("distinctAttribute", ["r=a/h0", "r=a/t0"])],
)
def test_constraints(kind: str, wanted: list[str]) -> None:
    constraint = {kind: "gpu.example.com/model"}
    asked = claim("c", request(count=2), constraints=[constraint])
    assert given(asked, devices_of("a", two("h0", "t0", "t1"))) == wanted


def test_a_constraint_of_other_requests_does_not_matter() -> None:
    constraint = {"matchAttribute": "gpu.example.com/model", "requests": ["q"]}
    asked = claim("c", request("q"), request("r"), constraints=[constraint])
    assert given(asked, devices_of("a", two("h0", "t0"))) == ["q=a/h0", "r=a/t0"]


# --- taints


def test_tainted_devices_are_left_to_those_who_tolerate() -> None:
    there = devices_of("a", [device("g0", taints=["sick:NoSchedule"]), device("g1", taints=["odd:None"])])
    assert given(claim(), there) == ["r=a/g1"]
    assert given(claim("c", request(tolerates=["sick"])), there) == ["r=a/g0"]


def test_taint_rules_count_where_the_minor_has_them() -> None:
    rule, there = taint_rule("sick", pool="a", device="g0"), devices_of("a", ["g0"])
    without, with_rules = (features_of(gates={"DRADeviceTaintRules": on}) for on in (False, True))
    assert given(claim(), there, rule, features=without) == ["r=a/g0"]
    assert NO_SOLUTION in given(claim(), there, rule, features=with_rules)


@pytest.mark.parametrize(
    ("selector", "hits"),
    [
        pytest.param({}, True, id="any device"),
        pytest.param({"driver": DRIVER}, True, id="its driver's"),
        pytest.param({"driver": "nic.example.com"}, False, id="another driver's"),
        pytest.param({"pool": "b"}, False, id="of another pool"),
        pytest.param({"device": "g1"}, False, id="another one"),
    ],
)
def test_which_devices_a_taint_rule_is_about(selector: dict[str, str], hits: bool) -> None:
    with_rules = features_of(gates={"DRADeviceTaintRules": True})
    found = given(claim(), devices_of("a", ["g0"]), taint_rule("sick", **selector), features=with_rules)
    assert (NO_SOLUTION in found) is hits


# --- pools


def test_only_the_newest_generation_counts() -> None:
    old, new = devices_of("a", ["g0"]), devices_of("a", ["g1"], generation=2)
    assert given(claim(), old, new) == ["r=a/g1"]


def test_a_pool_that_lacks_slices_is_left_alone() -> None:
    assert NO_SOLUTION in given(claim(), devices_of("a", ["g0"], slices=2))


def test_a_pool_with_a_device_twice_is_left_alone() -> None:
    twice = [devices_of("a", ["g0"], slices=2, name=name) for name in ("x", "y")]
    assert NO_SOLUTION in given(claim(), *twice)


@pytest.mark.parametrize(
    "there",
    [
        {"allNodes": True},
        {
            "nodeSelector": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}]
            }
        },
    ],
)
def test_devices_in_reach_of_several_nodes(there: Json) -> None:
    attempt, cluster = tried(claim(), devices_of(None, ["g0"], **there), a={}, b={"rack": "r1"})
    assert allocated(cluster) == ["r=pool/g0"]
    assert len(attempt.sampled) == (2 if "allNodes" in there else 1)


def test_devices_may_choose_their_nodes_one_by_one() -> None:
    there = devices_of(None, [device("g0", nodeName="b"), device("g1", nodeName="a")], perDeviceNodeSelection=True)
    assert given(claim(), there, a={}) == ["r=pool/g1"]


# --- counters and shares


def test_parts_of_a_device_share_counters() -> None:
    parts = [device("whole", counters={"cards": "4"}), *(device(f"half{i}", counters={"cards": "2"}) for i in (0, 1))]
    objects = [devices_of("a", parts, slices=2), counters("a", cards="4")]
    half = claim("other", has=["half0"], node="a")
    assert given(claim(), *objects) == ["r=a/whole"]
    assert given(claim(), half, *objects) == ["r=a/half1"]
    assert NO_SOLUTION in given(claim("c", request(count=2)), half, *objects)


def test_shares_of_a_device_take_parts_of_its_capacity() -> None:
    there = devices_of("a", [device("g0", capacity={"memory": "10Gi"}, shared=True)])
    names = ("c", "d", "e")
    claims = [claim(name, request(capacity={"memory": "4Gi"})) for name in names]
    cluster = cluster_of([node("a")], objects=[device_class(), there, *claims])
    scheduler = scheduler_for(cluster)
    done = [scheduler.attempt(cluster.shapes.info(pod_with(name, name=f"p-{name}"))).is_placed for name in names]
    assert done == [True, True, False]
    assert cluster.devices.consumed[("gpu.example.com", "a", "g0")] == {"memory": 8 * 1024**3 * 10**9}


@pytest.mark.parametrize(
    ("policy", "asked", "consumed"),
    [
        ({"default": "2Gi"}, None, "2Gi"),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}, "1500Mi", "2Gi"),
        ({"default": "1Gi", "validValues": ["1Gi", "4Gi"]}, "2Gi", "4Gi"),
        ({"default": "1Gi", "validValues": ["1Gi", "4Gi"]}, "5Gi", None),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "3Gi"}}, "4Gi", None),
    ],
)
def test_capacity_is_rounded_as_its_policy_says(policy: Json, asked: str | None, consumed: str | None) -> None:
    amount = {"value": "10Gi", "requestPolicy": policy}
    there = devices_of("a", [device("g0", capacity={"memory": amount}, shared=True)])
    attempt, cluster = tried(claim("c", request(capacity={"memory": asked} if asked else None)), there)
    assert attempt.is_placed is (consumed is not None)
    if consumed:
        allocation = cluster.devices.claims["default", "c"].status.allocation
        (result,) = (allocation.devices.results if allocation else None) or []
        assert str((result.consumed_capacity or {})["memory"]) == consumed


# --- extended resources


def test_a_class_serves_an_extended_resource() -> None:
    own = device_class("cards", extendedResourceName="example.com/card")
    attempt, cluster = tried(own, devices_of("a", ["g0", "g1"]), asking=pod("p", requests={"example.com/card": "2"}))
    assert attempt.is_placed
    (made,) = cluster.devices.claims.values()
    assert made.name.startswith("p-extended-resources-")
    assert made.status.allocation is not None
    assert [result.device for result in made.status.allocation.devices.results or ()] == ["g0", "g1"]


@pytest.mark.parametrize("plugin", ["NodeResourcesBalancedAllocation", "NodeResourcesFit"])
def test_devices_that_nodes_share_are_scored_anew_on_all_of_them_once_one_is_taken(plugin: str) -> None:
    card, own = "example.com/card", device_class("cards", extendedResourceName="example.com/card")
    resources = [{"name": name, "weight": 1} for name in ("cpu", card)]
    strategy = {"scoringStrategy": {"type": "MostAllocated", "resources": resources}}
    args = strategy if plugin == "NodeResourcesFit" else {"resources": resources}
    shared = devices_of(None, ["g0", "g1", "g2"], allNodes=True)
    cluster = cluster_of([node("a"), node("b")], objects=[own, shared])
    config = profile_document(args={plugin: args})
    first, second = (cluster.shapes.info(pod(name, cpu="1", requests={card: "1"})) for name in ("p", "q"))
    assert first.shape is second.shape

    def totals(scheduler: Scheduler) -> list[int]:
        """What it makes of the nodes for the next of these pods."""
        evaluation = scheduler.evaluation(second)
        evaluation.begin(second)
        evaluation.refresh(second)
        found: list[int] = evaluation.totals(second, np.arange(2)).tolist()
        return found

    kept = scheduler_for(cluster, config)
    before = totals(kept)
    assert kept.attempt(first).row == 0
    after = totals(kept)
    assert after == totals(scheduler_for(cluster, config))
    assert after[1] != before[1]
