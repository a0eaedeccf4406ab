"""How cycles of the descheduler leave a cluster: who waits, who lost a node to whom, and what makes it good or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.api.core import Node, Pod
from kwhatif.commands.deschedule.result import DescheduleResult
from tests.builders import node
from tests.commands.deschedule.test_deschedule import LOW, descheduled, policy
from tests.commands.drain.test_drain import web

TAINTS = policy("RemovePodsViolatingNodeTaints", "deschedule")


def owned(name: str, on: str, **more: Any) -> Pod:
    """A pod that is the only one of its ReplicaSet."""
    return web(name, on, owner=("apps/v1", "ReplicaSet", name), **more)


@dataclass(frozen=True)
class Row:
    """``pending`` are pods and causes, ``victims`` pods and who took their place."""

    nodes: Sequence[Node]
    pods: Sequence[Pod]
    policy: dict[str, Any] = field(default_factory=lambda: TAINTS)
    pending: Sequence[tuple[str, str]] = ()
    victims: Sequence[tuple[str, str | None]] = ()
    good: bool = False
    verdict: str = ""


ROWS = {
    "a pod that finds another node leaves nobody waiting": Row(
        [node("a", taints=["x:NoSchedule"]), node("b")],
        [owned("p", "a")],
        victims=[("default/p", None)],
        good=True,
        verdict="Safe to deschedule: 1 eviction in 1 cycle, 1 to another node, balance no better; "
        "the next cycle evicts no pod",
    ),
    "a pod that finds none waits since it was evicted": Row(
        [node("a", taints=["x:NoSchedule"]), node("b", cpu="1")],
        [owned("p", "a", cpu="2")],
        pending=[("default/p-r1", "evicted")],
        victims=[("default/p", None)],
        verdict="Not safe to deschedule: 1 eviction in 1 cycle, 1 pod pending; the next cycle evicts no pod",
    ),
    "whom it drives out of its new node is a victim and waits": Row(
        [node("a", taints=["x:NoSchedule"]), node("b", cpu="2")],
        [owned("p", "a", cpu="2", priority=10), owned("q", "b", cpu="2")],
        pending=[("default/q-r1", "evicted")],
        victims=[("default/p", None), ("default/q", "default/p-r1")],
        verdict="Not safe to deschedule: 1 eviction in 1 cycle, 1 to another node, 1 preempted, 1 pod pending; "
        "the next cycle evicts no pod",
    ),
    "who waited before is tried, and not asked about": Row(
        [node("a", taints=["x:NoSchedule"]), node("b", cpu="2")],
        [owned("p", "a", cpu="1"), web("waits", "", cpu="9")],
        victims=[("default/p", None)],
        good=True,
        verdict="Safe to deschedule: 1 eviction in 1 cycle, 1 to another node, balance no better; "
        "the next cycle evicts no pod",
    ),
    "a pod that is evicted again is no good end though it has a node": Row(
        [node("a"), node("b")],
        [owned("p", "a", cpu="3")],
        LOW,
        victims=[("default/p", None)],
        verdict="Not safe to deschedule: 1 eviction in 1 cycle, 1 to another node, balance no better; "
        "the next cycle evicts 1 pod, 1 of them again",
    ),
    "one ready node is too few": Row(
        [node("a")],
        [owned("p", "a")],
        good=True,
        verdict="Safe to deschedule: the descheduler does nothing with fewer than two ready nodes",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_how_a_cycle_leaves_the_cluster(name: str) -> None:
    row = ROWS[name]
    found = descheduled(row.nodes, row.pods, row.policy)
    assert [(each.pod, each.cause) for each in found.outcome.pending] == list(row.pending)
    assert [(each.pod, each.taken_by) for each in found.outcome.victims] == list(row.victims)
    assert found.outcome.evicted == len(row.victims)
    assert (found.good, found.exit_code) == (row.good, 0 if row.good else 1)
    assert found.verdict == row.verdict


def test_a_plugin_that_fails_is_in_the_verdict() -> None:
    metrics = {"metricsProviders": [{"source": "KubernetesMetrics"}]}
    chosen = policy(
        "LowNodeUtilization",
        thresholds={"cpu": 20},
        targetThresholds={"cpu": 50},
        metricsUtilization={"source": "KubernetesMetrics"},
    )
    found = descheduled([node("a"), node("b")], [owned("p", "a")], chosen | metrics)
    assert found.verdict == "Not safe to deschedule: no pod is evicted; LowNodeUtilization failed"
    assert not found.good


def test_a_pod_that_goes_already_is_made_again_once() -> None:
    nodes = [node("a", taints=["x:NoSchedule"]), node("b", taints=["y:NoSchedule"]), node("c", cpu="3")]
    # What is made for ``high`` may only go where ``low`` still takes room on its way out.
    low = web("low-0", "a", cpu="3", owner=("apps/v1", "StatefulSet", "low"))
    high = owned("high", "b", cpu="4", priority=10, tolerations=["x"])
    found = descheduled(nodes, [low, high], TAINTS)
    assert {pod.pod: pod.lands_on for pod in found.pods} == {"default/low-0": "c", "default/high": "a"}
    assert [each.pod for each in found.placements] == ["default/high-r1", "default/low-0"]
    assert found.good


def test_a_pod_made_again_that_is_driven_out_is_followed_to_its_last_node() -> None:
    nodes = [node("a", taints=["x:NoSchedule"]), node("b", cpu="2"), node("c", cpu="1")]
    # ``low`` is evicted and recreated first, on b; ``high`` fits nowhere else.
    low, high = owned("low", "a", cpu="1"), owned("high", "a", cpu="2", priority=10)
    found = descheduled(nodes, [low, high], TAINTS)
    homes = {pod.pod: (pod.outcome, pod.lands_on) for pod in found.pods}
    assert homes == {"default/low": ("moved", "c"), "default/high": ("moved", "b")}
    assert found.good


LAWS: dict[str, Callable[[DescheduleResult], bool]] = {
    "every eviction has lost a node": lambda found: found.outcome.evicted >= len(found.pods),
    "who lost a node is recreated once": lambda found: len(found.placements) == found.outcome.evicted,
    "who waits is no pod that has a node": lambda found: {each.pod for each in found.outcome.pending}.isdisjoint(
        each.pod for each in found.placements if each.good
    ),
    "a good end leaves nobody waiting": lambda found: not (found.good and found.outcome.pending),
}


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["500m", "1", "2"]), st.integers(0, 2)),
        min_size=1,
        max_size=7,
    ),
    st.sampled_from(["ReplicaSet", "StatefulSet"]),
    st.sampled_from([TAINTS, LOW, policy()]),
)
def test_laws_of_the_end_of_cycles(pods: list[tuple[str, str, int]], kind: str, chosen: dict[str, Any]) -> None:
    nodes = [node("a", taints=["x:NoSchedule"]), node("b", cpu="3"), node("c", cpu="2")]
    running = [
        web(f"w{level}-{i}", on, cpu=cpu, priority=level, owner=("apps/v1", kind, f"w{level}"))
        for i, (on, cpu, level) in enumerate(pods)
    ]
    found = descheduled(nodes, running, chosen, cycles=2)
    for name, holds in LAWS.items():
        assert holds(found), name
