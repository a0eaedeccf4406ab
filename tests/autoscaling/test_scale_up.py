"""Scale-up: which group grows, by how many nodes, and why a pod gets none."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import Prices
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import ScaleUp, balance_scale_up
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import (
    LoopResult,
    StaticAutoscaler,
    list_unschedulable_pods,
)
from tests.autoscaling.worlds import group, ready_node, waiting, world
from tests.builders import pod

SMALL = ready_node("small", cpu="2", memory="4Gi", pods=10)
LARGE = ready_node("large", cpu="8", memory="32Gi", pods=10)


def scaled_up(*cpus: str, flags: dict[str, Any] | None = None, **more: Any) -> ScaleUp:
    """A scale-up for pods that ask for so much cpu each, by a small and a large group, neither of which has a node."""
    groups = [group("small", template=SMALL, **more.pop("small", {})), group("large", template=LARGE)]
    pending = [pod(f"p{n}", cpu=cpu, memory="1Gi") for n, cpu in enumerate(cpus)]
    return StaticAutoscaler().loop(world([], groups, pending=pending, flags=flags, **more)).scale_up


def plan(found: ScaleUp) -> dict[str, int]:
    return {each.group.name: each.new_size for each in found.plan}


@pytest.mark.parametrize(
    ("expander", "more", "grown"),
    [
        ("least-waste", {}, {"small": 2}),
        ("most-pods", {}, {"large": 1}),
        ("least-nodes", {}, {"large": 1}),
        ("most-pods,least-nodes", {}, {"large": 1}),
        ("random", {}, {"small": 2}),
        ("priority", {"priorities": '{"10": ["small"], "20": ["lar.*"]}'}, {"large": 1}),
        ("priority", {"priorities": '{"20": ["^small$"]}'}, {"small": 2}),
        ("priority", {"priorities": '{"20": ["("]}'}, {"small": 2}),
        ("priority", {}, {"small": 2}),
    ],
)
def test_the_expander_chooses_the_group(expander: str, more: Any, grown: dict[str, int]) -> None:
    pods = ("1800m", "1800m", "3") if "pods" in expander else ("1800m", "1800m")
    assert plan(scaled_up(*pods, flags={"expander": expander}, **more)) == grown


def test_the_cheapest_group_grows_for_the_price_expander() -> None:
    dear, cheap = (group(name, template=SMALL, price=price) for name, price in (("dear", 2.0), ("cheap", 0.1)))
    found = StaticAutoscaler().loop(
        world(
            [], [dear, cheap], pending=[pod("p", cpu="1")], flags={"expander": "price"}, prices=Prices({}, 0.03, 0.004)
        )
    )
    assert plan(found.scale_up) == {"cheap": 1}


def test_without_any_price_nothing_grows_for_the_price_expander() -> None:
    found = scaled_up("1", flags={"expander": "price"})
    assert found.result == "ScaleUpNoOptionsAvailable"
    assert found.why_not("default/p0") == "2 expansion options filtered out and no longer considered"


@pytest.mark.parametrize(
    ("flags", "more", "grown"),
    [
        ({"max-nodes-per-scaleup": 1}, {}, {"small": 1}),
        ({"max-nodes-total": 1}, {}, {"small": 1}),
        ({"cores-total": "0:3"}, {}, {"small": 1}),
        ({}, {"small": {"most": 1}}, {"small": 1}),
        ({}, {"small": {"options": {"zero-or-max-node-scaling": True}}}, {"small": 10}),
    ],
    ids=["nodes at once", "nodes in all", "cores in all", "the group's own maximum", "all or none"],
)
def test_limits_cut_the_plan(flags: dict[str, Any], more: Any, grown: dict[str, int]) -> None:
    assert plan(scaled_up("1800m", "1800m", flags={"expander": "random", **flags}, **more)) == grown


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"small": {"most": 0}}, "max node group size reached"),
        ({"small": {"failed_scale_up": 1_772_452_700 * 10**9}}, "in backoff after failed scale-up"),
        ({"flags": {"memory-total": "0:3"}}, 'exceeded quota: "cluster-wide", resources: memory'),
    ],
)
def test_a_group_that_must_not_grow_is_skipped(more: Any, reason: str) -> None:
    assert scaled_up("1", **more).skipped["small"] == [reason]


def test_why_no_group_helps_is_told_group_by_group() -> None:
    found = scaled_up("12")
    assert {name: status.plugin for name, status in found.remain_unschedulable["default/p0"].rejected.items()} == {
        "small": "NodeResourcesFit",
        "large": "NodeResourcesFit",
    }
    assert found.events() == {
        "default/p0": "NotTriggerScaleUp: pod didn't trigger scale-up: 2 Insufficient cpu",
    }


@pytest.mark.parametrize(
    ("sizes", "count", "shared"),
    [
        ([(1, 10), (3, 10)], 4, [4, 4]),
        ([(1, 2), (3, 10)], 4, [2, 6]),
        ([(0, 1), (0, 1)], 5, [1, 1]),
        ([(2, 2), (3, 9)], 1, [4]),
    ],
    ids=["the smallest first", "up to the maximum", "no more than fit", "full ones are left out"],
)
def test_similar_groups_share_what_is_new(sizes: list[tuple[int, int]], count: int, shared: list[int]) -> None:
    groups = [
        group(f"g{n}", [ready_node(f"g{n}-{k}") for k in range(size)], most=most)
        for n, (size, most) in enumerate(sizes)
    ]
    assert sorted(each.new_size for each in balance_scale_up(groups, count)) == shared


def test_pods_that_are_not_for_the_autoscaler_are_left_alone() -> None:
    pods = [
        pod("expendable", cpu="1", priority=-11),
        pod("daemon", cpu="1", owner=("apps/v1", "DaemonSet", "agents")),
    ]
    found = StaticAutoscaler().loop(world([], [group("small", template=SMALL)], pending=pods))
    assert found.ignored == {
        "default/daemon": "it is of a daemon set",
        "default/expendable": "priority -11 is below the cutoff -10",
    }
    assert found.scale_up.result == "ScaleUpNotNeeded"


def test_a_pod_that_fits_where_there_is_room_needs_no_node() -> None:
    node = ready_node("n")
    found = StaticAutoscaler().loop(world([node], [group("g", [node])], pending=[pod("p", cpu="1")]))
    assert found.placed == {"default/p": "n"}
    assert found.scale_up.result == "ScaleUpNotNeeded"


SCHEDULERS = [
    ("a pod of another scheduler is helped", {}, "other", True, ["default/p"]),
    ("unless only some schedulers' pods are", {"allowed-scheduler-names": "default-scheduler"}, "other", True, []),
    ("those that are allowed are helped", {"allowed-scheduler-names": "other"}, "other", True, ["default/p"]),
    ("a pod that nobody has looked at waits", {}, "other", False, []),
    ("unless its scheduler is not waited for", {"bypassed-scheduler-names": "other"}, "other", False, ["default/p"]),
]


@pytest.mark.parametrize(
    ("flags", "scheduler", "seen", "expected"), [row[1:] for row in SCHEDULERS], ids=[row[0] for row in SCHEDULERS]
)
def test_whose_pods_are_helped(flags: dict[str, str], scheduler: str, seen: bool, expected: list[str]) -> None:
    found = waiting(pod("p"))
    found = structs.replace(found, spec=structs.replace(found.spec, scheduler_name=scheduler))
    if not seen:
        found = structs.replace(found, status=structs.replace(found.status, conditions=None))
    asked = replace(world([ready_node("n")], [], flags=flags), pending=[found])
    assert [each.key for each in list_unschedulable_pods(asked)] == expected


NODES = [ready_node("n1", cpu="100m"), ready_node("n2", cpu="100m")]


def enforced(most: int) -> LoopResult:
    """A loop for a pod that only a large node takes, where there are two nodes, of at most ``most``."""
    groups = [
        group("old", NODES, most=2),
        group("large", template=LARGE),
        group("small", least=2, template=SMALL),
    ]
    flags = {"enforce-node-group-min-size": True, "max-nodes-total": most}
    return StaticAutoscaler().loop(world(NODES, groups, pending=[pod("p", cpu="4")], flags=flags))


def test_minimum_sizes_are_served_after_the_pods() -> None:
    found = enforced(most=0)
    assert plan(found.scale_up) == {"large": 1}
    assert [(each.group.name, each.current_size, each.new_size) for each in found.scale_up_to_min_size] == [
        ("small", 0, 2)
    ]


def test_at_the_most_nodes_minimum_sizes_are_served_and_pods_are_not_looked_at() -> None:
    found = enforced(most=2)
    assert (found.scale_up.result, plan(found.scale_up)) == ("ScaleUpSuccessful", {"small": 2})
    assert (found.scale_up_to_min_size, found.scale_up.remain_unschedulable, found.scale_up.events()) == (
        found.scale_up.plan,
        {},
        {},
    )
    assert found.scale_up.pods == (), "no scale-up was tried for them"
    assert set(found.overlooked.values()) == {"max total nodes in cluster reached"}


def test_minimum_sizes_are_served_where_no_pod_needs_a_node() -> None:
    found = StaticAutoscaler().loop(
        world([], [group("low", least=3, template=SMALL)], flags={"enforce-node-group-min-size": True})
    )
    assert (found.scale_up.result, plan(found.scale_up)) == ("ScaleUpSuccessful", {"low": 3})


def test_a_group_that_grows_for_pods_and_to_its_minimum_is_resized_once() -> None:
    flags = {"enforce-node-group-min-size": True}
    found = StaticAutoscaler().loop(
        world([], [group("low", least=3, template=SMALL)], pending=[pod("p", cpu="1")], flags=flags)
    )
    assert [(each.current_size, each.new_size) for each in found.resizes()] == [(0, 3)]
    assert plan(found.scale_up) == {"low": 1}
