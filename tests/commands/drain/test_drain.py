"""Draining nodes: who goes when, where pods recreated land, and what blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import kwhatif
from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.drain.question import Drain
from kwhatif.commands.drain.text import drain_blocks
from kwhatif.render.tables import text_of
from kwhatif.results.disruption import DrainResult
from kwhatif.simulation.inputs import Inputs
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import node, pod

WEB = ("apps/v1", "ReplicaSet", "web-1")
AGENT = ("apps/v1", "DaemonSet", "agent")
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
UNREADY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
EMPTY_DIR = {"volumes": [{"name": "scratch", "emptyDir": {}}]}


def web(name: str, on: str, cpu: str = "1", **more: Any) -> Pod:
    return pod(name, **{"owner": WEB, "labels": {"app": "web"}, "status": READY, **more}, on=on, cpu=cpu)


def budget(allowed: int, *, healthy: int = 3, desired: int = 2, name: str = "web", **spec: Any) -> PodDisruptionBudget:
    return convert(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
            "status": {"disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired},
        },
        PodDisruptionBudget,
    )


def drained(
    nodes: Sequence[Node],
    pods: Sequence[Pod],
    budgets: Sequence[PodDisruptionBudget] = (),
    *names: str,
    daemon_sets: Collection[str] | None = None,
    **flags: Any,
) -> DrainResult:
    """``daemon_sets`` are those that are known (``namespace/name``), None if that kind is not."""
    objects = Objects()
    for obj in (*nodes, *pods, *budgets):
        objects.add(obj)
    known = [dict(zip(("namespace", "name"), each.split("/"), strict=True)) for each in daemon_sets or ()]
    whole = {} if daemon_sets is None else {"DaemonSet": [{"metadata": each} for each in known]}
    question = Drain(nodes=names or ("a",), **flags)
    return ask(question, Scenario(Inputs(Snapshot(objects=objects, whole=whole))))


def ways(result: DrainResult) -> list[tuple[str, str, int, str]]:
    return [(each.pod.removeprefix("default/"), each.outcome, each.turn, each.lands_on) for each in result.pods]


def test_pods_of_controllers_are_made_again_and_land_elsewhere() -> None:
    result = drained([node("a"), node("b")], [web("web-1-x", "a"), web("web-1-y", "a"), web("web-1-z", "b")])
    assert ways(result) == [("web-1-x", "evicted", 1, "b"), ("web-1-y", "evicted", 1, "b")]
    assert [each.replacement for each in result.pods] == ["default/web-1-r1", "default/web-1-r2"]
    assert (result.nodes[0].drained, result.exit_code) == (True, 0)
    cpu = next(each for each in result.remaining if each.resource == "cpu")
    assert (cpu.allocatable, cpu.requested_before, cpu.requested_after) == (4000, 1000, 3000)


def test_a_pod_of_a_stateful_set_comes_back_under_its_name() -> None:
    owner = ("apps/v1", "StatefulSet", "db")
    result = drained([node("a"), node("b")], [web("db-0", "a", owner=owner)])
    assert [(each.replacement, each.lands_on) for each in result.pods] == [("default/db-0", "b")]


def test_all_nodes_are_cordoned_before_the_first_is_emptied() -> None:
    nodes = [node("a"), node("b"), node("c")]
    result = drained(nodes, [web("web-1-x", "a"), web("web-1-y", "b")], [], "a", "b")
    assert ways(result) == [("web-1-x", "evicted", 1, "c"), ("web-1-y", "evicted", 1, "c")]


def test_one_by_one_a_node_takes_the_pods_of_the_next() -> None:
    result = drained([node("a"), node("b")], [web("web-1-x", "a"), web("web-1-y", "b")], [], "a", "b", one_by_one=True)
    assert ways(result) == [
        ("web-1-x", "evicted", 1, "b"),
        ("web-1-r1", "evicted", 1, "a"),
        ("web-1-y", "evicted", 1, "a"),
    ]
    assert (result.exit_code, result.outcome.verdict) == (
        0,
        "Safe to drain: 2 of 2 nodes drained, 3 pods evicted; the snapshot holds no PodDisruptionBudget",
    )


def test_one_by_one_pods_without_room_wait_until_their_node_is_back() -> None:
    full = [web("web-1-x", "a", "4"), web("web-1-y", "b", "4")]
    result = drained([node("a"), node("b")], full, [], "a", "b", one_by_one=True)
    assert [(each.pod, each.lands_on, each.waits) for each in result.pods] == [
        ("default/web-1-x", "a", True),
        ("default/web-1-y", "b", True),
    ]
    assert "2 pending until a node comes back" in result.outcome.verdict
    assert "a, once a is back" in text_of(drain_blocks(result))
    assert (result.exit_code, result.outcome.pending) == (1, ())


def test_the_cluster_after_a_drain_is_written_and_asked_further(tmp_path: Path) -> None:
    after = str(tmp_path / "after.json")
    drained([node("a"), node("b")], [web("web-1-x", "a")], [], "a", write_snapshot=after)
    again = kwhatif.drain(["b"], snapshot=after)
    assert again.fidelity.source == str(after)
    assert [(each.pod, each.lands_on) for each in again.pods] == [("default/web-1-r1", "")]


def test_a_drain_leaves_nothing_behind_for_the_next_question_about_the_same_snapshot() -> None:
    objects = Objects()
    for obj in (node("a"), node("b"), web("web-1-x", "a"), web("web-1-y", "b")):
        objects.add(obj)
    question = Drain(nodes=("a", "b"), one_by_one=True)
    first, again = (ask(question, Scenario(Inputs(Snapshot(objects=objects)))) for _ in range(2))
    assert ways(first)
    assert first.to_dict() == again.to_dict()


def test_a_pod_that_finds_no_node_stays_pending() -> None:
    result = drained([node("a"), node("b", cpu="1")], [web("web-1-x", "a", cpu="2")])
    assert result.nodes[0].drained
    assert (result.exit_code, [each.pod for each in result.pending]) == (1, ["default/web-1-r1"])
    assert "1 Insufficient cpu" in result.pending[0].message


def test_one_that_waits_is_tried_again_when_others_have_moved() -> None:
    near = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}}
    follower = pod("a-follower", owner=("apps/v1", "ReplicaSet", "follower"), on="a", cpu="1", status=READY, spec=spec)
    result = drained([node("a"), node("b")], [follower, web("web-1-x", "a")])
    assert ways(result) == [("a-follower", "evicted", 1, "b"), ("web-1-x", "evicted", 1, "b")]


# --- what drain touches and what it does not


FLAGS = [
    ("a pod of a daemon set stops the drain", web("agent-x", "a", owner=AGENT), {}, "refused"),
    ("unless they are to be ignored", web("agent-x", "a", owner=AGENT), {"ignore_daemonsets": True}, "ignored"),
    (
        "a daemon set's pod without its daemon set stops it all the same",
        web("agent-x", "a", owner=AGENT),
        {"ignore_daemonsets": True, "daemon_sets": frozenset({"default/other"})},
        "refused",
    ),
    (
        "and goes by force",
        web("agent-x", "a", owner=AGENT),
        {"force": True, "daemon_sets": frozenset()},
        "evicted",
    ),
    ("a pod with data in an emptyDir stops it", web("web-1-x", "a", spec=EMPTY_DIR), {}, "refused"),
    ("unless it may lose them", web("web-1-x", "a", spec=EMPTY_DIR), {"delete_emptydir_data": True}, "evicted"),
    ("a pod that nobody makes again stops it", web("lone", "a", owner=None), {}, "refused"),
    ("unless by force", web("lone", "a", owner=None), {"force": True}, "evicted"),
    ("a finished pod never stops it", web("lone", "a", owner=None, status={"phase": "Succeeded"}), {}, "evicted"),
]


@pytest.mark.parametrize(("one", "flags", "outcome"), [case[1:] for case in FLAGS], ids=[case[0] for case in FLAGS])
def test_flags(one: Pod, flags: dict[str, Any], outcome: str) -> None:
    result = drained([node("a"), node("b")], [one], [], **flags)
    assert [each.outcome for each in result.pods] == [outcome]
    assert result.nodes[0].drained is (outcome != "refused")


def test_a_static_pod_stays_without_a_word() -> None:
    mirror = web("kube-proxy-a", "a", owner=("v1", "Node", "a"))
    metadata = replace(mirror.metadata, annotations={"kubernetes.io/config.mirror": "x"})
    result = drained([node("a")], [replace(mirror, metadata=metadata)])
    assert ([each.outcome for each in result.pods], result.warnings, result.exit_code) == (["ignored"], (), 0)


def test_a_node_with_a_pod_that_must_not_be_touched_is_not_begun_with_but_the_next_one_is() -> None:
    pods = [web("lone", "a", owner=None), web("web-1-x", "a"), web("web-1-y", "b")]
    result = drained([node("a"), node("b"), node("c")], pods, [], "a", "b")
    assert [(each.node, each.drained) for each in result.nodes] == [("a", False), ("b", True)]
    assert ways(result) == [("lone", "refused", 0, ""), ("web-1-x", "blocked", 0, ""), ("web-1-y", "evicted", 1, "c")]


def test_what_goes_on_regardless_is_a_warning() -> None:
    pods = [web("lone", "a", owner=None), web("agent-x", "a", owner=AGENT)]
    result = drained([node("a")], pods, [], force=True, ignore_daemonsets=True)
    assert result.warnings == (
        "deleting Pods that declare no controller: default/lone",
        "ignoring DaemonSet-managed Pods: default/agent-x",
    )


def test_pods_made_again_twice_over_have_names_of_their_own() -> None:
    """One of a set is drained, another has to make room for it."""
    pods = [web("web-1-x", "a", priority=10), web("web-1-y", "b", cpu="4", priority=-5)]
    result = drained([node("a"), node("b")], pods)
    assert result.pods[0].replacement == "default/web-1-r1"
    assert [victim.replacement for victim in result.homeless] == ["default/web-1-r2"]


def test_a_pod_that_is_evicted_on_the_way_and_finds_no_other_node_stays_pending_too() -> None:
    pods = [web("web-1-x", "a", priority=10), pod("low", on="b", cpu="4", priority=-5, owner=("batch/v1", "Job", "j"))]
    result = drained([node("a"), node("b")], pods)
    assert (result.pods[0].lands_on, result.pending) == ("b", ())
    assert [(victim.pod, victim.replacement) for victim in result.homeless] == [("default/low", "default/j-r1")]
    assert (result.nodes[0].drained, result.exit_code) == (True, 1)


# --- budgets


def test_a_budget_of_one_lets_pods_go_one_by_one() -> None:
    pods = [web(f"web-1-{x}", "a") for x in "xyz"]
    result = drained([node("a"), node("b")], pods, [budget(1)])
    assert [(each.turn, each.lands_on) for each in result.pods] == [(1, "b"), (2, "b"), (3, "b")]
    assert [(use.evictions, use.allowed_before, use.allowed_after) for use in result.budgets] == [(3, 1, 1)]


@pytest.mark.parametrize(
    ("others", "fixes"),
    [
        pytest.param([node("b")], ("set maxUnavailable: 1 in PodDisruptionBudget web",), id="and it is tried"),
        pytest.param([], (), id="which is no way out where the pods find no other node"),
    ],
)
def test_what_would_unblock_a_budget_that_allows_nothing_is_named(others: list[Node], fixes: tuple[str, ...]) -> None:
    pods = [web(f"web-1-{x}", "a") for x in "xyz"]
    result = drained([node("a"), *others], pods, [budget(0, healthy=3, desired=3, minAvailable=3)])
    assert [use.fixes for use in result.budgets] == [fixes]
    assert ("FIXES" in text_of(drain_blocks(result))) is bool(fixes)


def test_a_budget_of_which_the_snapshot_tells_no_status_allows_nothing_and_that_is_said() -> None:
    silent = convert(
        {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}},
        PodDisruptionBudget,
    )
    result = drained([node("a"), node("b")], [web("web-1-x", "a")], [silent])
    assert [each.outcome for each in result.pods] == ["blocked"]
    assert result.pods[0].reason.endswith("The snapshot does not tell what the disruption budget web allows: nothing")


def test_a_budget_that_lacks_healthy_pods_allows_nothing_until_it_has_more_than_it_needs() -> None:
    pods = [web("web-1-u", "a", status=UNREADY), web("web-1-x", "a"), web("web-1-y", "a")]
    short = budget(0, healthy=2, desired=3, unhealthyPodEvictionPolicy="AlwaysAllow")
    result = drained([node("a", cpu="8"), node("b", cpu="8")], pods, [short])
    assert [each.outcome for each in result.pods] == ["evicted", "blocked", "blocked"]
    assert "needs 3 healthy pods and has 3 currently" in result.pods[-1].reason


def test_a_budget_stays_used_up_while_a_replacement_waits() -> None:
    pods = [web(f"web-1-{x}", "a", cpu="2") for x in "xyz"]
    result = drained([node("a", cpu="8"), node("b", cpu="3")], pods, [budget(1)])
    assert ways(result) == [
        ("web-1-x", "evicted", 1, "b"),
        ("web-1-y", "evicted", 2, ""),
        ("web-1-z", "blocked", 0, ""),
    ]
    assert result.pods[-1].reason == (
        "Cannot evict pod as it would violate the pod's disruption budget. "
        "The disruption budget web needs 2 healthy pods and has 2 currently"
    )
    assert result.budgets[0].blocks == ("default/web-1-z",)
    assert result.exit_code == 1


BUDGETS = [
    ("nothing allowed keeps the pod", web("web-1-x", "a"), [budget(0)], "blocked"),
    ("two budgets keep it for good", web("web-1-x", "a"), [budget(5), budget(5, name="too")], "blocked"),
    ("a pod that is not up yet needs none", web("web-1-x", "a", status={"phase": "Pending"}), [budget(0)], "evicted"),
    ("nor does one that is going", web("web-1-x", "a", terminating=True), [budget(0)], "evicted"),
    (
        "one that is not ready may go if enough others are",
        web("web-1-x", "a", status=UNREADY),
        [budget(0, healthy=2)],
        "evicted",
    ),
    (
        "but not if too few are",
        web("web-1-x", "a", status=UNREADY),
        [budget(0, healthy=1)],
        "blocked",
    ),
    (
        "unless the budget always lets such pods go",
        web("web-1-x", "a", status=UNREADY),
        [budget(0, healthy=1, unhealthyPodEvictionPolicy="AlwaysAllow")],
        "evicted",
    ),
    ("an empty selector means every pod", web("web-1-x", "a"), [budget(0, selector={})], "blocked"),
    ("none at all means no pod", web("web-1-x", "a"), [budget(0, selector=None)], "evicted"),
]


@pytest.mark.parametrize(("one", "budgets", "outcome"), [c[1:] for c in BUDGETS], ids=[c[0] for c in BUDGETS])
def test_budgets(one: Pod, budgets: list[PodDisruptionBudget], outcome: str) -> None:
    result = drained([node("a"), node("b")], [one], budgets)
    assert [each.outcome for each in result.pods] == [outcome]


@pytest.mark.long
@pytest.mark.usefixtures("cluster_size")
@given(
    cpus=st.lists(st.sampled_from(["1", "2", "3"]), min_size=1, max_size=6),
    allowed=st.integers(0, 3),
    room=st.integers(0, 8),
)
def test_no_budget_is_overdrawn_and_a_drained_node_is_empty(cpus: list[str], allowed: int, room: int) -> None:
    pods = [web(f"web-1-{number}", "a", cpu=cpu) for number, cpu in enumerate(cpus)]
    result = drained([node("a", cpu="32"), node("b", cpu=str(room))], pods, [budget(allowed)])
    gone = [each for each in result.pods if each.outcome == "evicted"]
    assert result.nodes[0].drained is (len(gone) == len(pods))
    down = 0
    for turn in sorted({each.turn for each in gone}):
        together = [each for each in gone if each.turn == turn]
        assert down + len(together) <= allowed
        down += sum(not each.lands_on for each in together)
    assert len(result.pending) == down
