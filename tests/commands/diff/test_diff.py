"""Two runs compared: what is a difference, what is none, and why pods move."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.commands.diff.diff import Side
from kwhatif.commands.diff.text import diff_blocks
from kwhatif.policy.configuration_file import default_configuration, load_configuration
from kwhatif.render.tables import text_of
from kwhatif.results.diff import DecisionDiff, PodChange
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.replay import replay
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import features_of
from tests.builders import ZONE, budget, node, pod, replica_set
from tests.commands.answers import diff
from tests.scheduler_plugin_builders import namespace_named, plain_node, write_cluster

MOST = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
PACKING: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": MOST}}]}],
}
WEB = ("apps/v1", "ReplicaSet", "web")


def setup_of(document: dict[str, Any] | None = None, minor: str = "1.36") -> Setup:
    features = features_of(minor)
    if document is None:
        return Setup(default_configuration(features), features)
    return Setup(load_configuration(document, source="policy.yaml", features=features), features)


def snapshot_of(*objects: Resource) -> Snapshot:
    found = Objects()
    for obj in objects:
        found.add(obj)
    return Snapshot(objects=found)


def side(label: str, snapshot: Snapshot, setup: Setup, pods: Sequence[Pod]) -> Side:
    return Side(label, partial(Session, snapshot, setup), [PodToSchedule(each) for each in pods])


def compared(snapshot: Snapshot, a: Setup, b: Setup, *pods: Pod, other: Snapshot | None = None) -> DecisionDiff:
    return diff(side("A", snapshot, a, pods), side("B", other or snapshot, b, pods))


def told(result: DecisionDiff) -> list[tuple[str, str, str, str]]:
    return [(c.pod.removeprefix("default/"), c.what, c.node_a, c.node_b) for c in result.changes]


def test_the_same_twice_is_no_difference() -> None:
    nodes = [node("a"), node("b")]
    result = compared(snapshot_of(*nodes), setup_of(), setup_of(), pod("p", cpu="1"), pod("q", cpu="1"))
    assert (result.differs, result.exit_code, result.pods) == (False, 0, 2)
    assert result.cluster_a == result.cluster_b
    assert (result.skews, result.rules) == ((), ())


def test_a_policy_that_packs_moves_a_pod_to_the_fuller_node_and_the_plugin_is_named() -> None:
    snapshot = snapshot_of(node("a"), node("b"), pod("old", on="b", cpu="2"))
    result = compared(snapshot, setup_of(), setup_of(PACKING), pod("p", cpu="1"))
    assert told(result) == [("p", "moved", "a", "b")]
    (change,) = result.changes
    assert [plugin for plugin, by in change.decided_by if by > 0] == ["NodeResourcesFit"]
    of_a, of_b = change.scores
    assert of_a.of_a is not None
    assert of_a.of_b is not None
    assert of_b.of_a is not None
    assert of_b.of_b is not None
    assert sum(of_a.of_a.values()) > sum(of_a.of_b.values())
    assert sum(of_b.of_b.values()) > sum(of_b.of_a.values())
    assert dict(change.decided_by)["NodeResourcesFit"] == (
        (of_b.of_b["NodeResourcesFit"] - of_b.of_a["NodeResourcesFit"])
        - (of_a.of_b["NodeResourcesFit"] - of_a.of_a["NodeResourcesFit"])
    )


def test_replicas_that_only_swap_nodes_are_said_to() -> None:
    snapshot = snapshot_of(node("a", cpu="2"), node("b", cpu="4"), pod("old", on="b", cpu="2500m"))
    replicas = [pod(name, cpu="1", owner=WEB) for name in ("p", "q")]
    result = compared(snapshot, setup_of(), setup_of(PACKING), *replicas)
    assert told(result) == [("p", "moved", "a", "b"), ("q", "moved", "b", "a")]
    assert result.verdict == "Differs: 2 moved (only swapped among equal replicas), of 2 pods."
    words = "Replicas of ReplicaSet default/web swapped nodes; each node has as many in B as in A."
    assert words in text_of(diff_blocks(result))
    single = compared(snapshot, setup_of(), setup_of(PACKING), pod("p", cpu="1"), pod("q", cpu="1"))
    assert single.verdict == "Differs: 2 moved, of 2 pods."


def test_empty_nodes_are_named_where_their_number_differs() -> None:
    snapshot = snapshot_of(node("a"), node("b"), node("c"), pod("old", on="b", cpu="2"))
    text = text_of(diff_blocks(compared(snapshot, setup_of(), setup_of(PACKING), pod("p", cpu="1"))))
    assert "empty in A: c\nempty in B: a, c" in text


def test_a_tie_is_no_difference() -> None:
    """Packing holds every empty node for equally good, and takes the one that spreading took."""
    a = snapshot_of(node("a"), node("b"), node("c"), pod("old", on="a", cpu="4"))
    # A has only one best node, b, since c is smaller there; B has two, b and c, and without A it would take b, too.
    result = compared(a, setup_of(), setup_of(PACKING), pod("p", cpu="1"))
    assert not result.changes
    # Names decide otherwise when A could not take the first of B's best nodes.
    smaller = snapshot_of(node("a", cpu="2"), node("b"), pod("one", on="a", cpu="500m"))
    equal = snapshot_of(node("a"), node("b"))
    result = compared(smaller, setup_of(), setup_of(), pod("p", cpu="1"), other=equal)
    assert not result.changes


def test_pods_that_only_one_side_places() -> None:
    small, large = snapshot_of(node("a", cpu="1")), snapshot_of(node("a", cpu="2"))
    one = pod("p", cpu="2")
    gained = compared(small, setup_of(), setup_of(), one, other=large)
    lost = compared(large, setup_of(), setup_of(), one, other=small)
    assert told(gained) == [("p", "placed", "", "a")]
    assert told(lost) == [("p", "pending", "a", "")]
    assert "Insufficient cpu" in gained.changes[0].message_a
    assert (gained.a.placed, gained.a.unplaced, gained.b.placed, gained.b.unplaced) == (0, 1, 1, 0)


def test_a_pod_that_fits_nowhere_for_another_reason() -> None:
    short, tainted = snapshot_of(node("a", cpu="1")), snapshot_of(node("a", taints=["k=v:NoSchedule"]))
    result = compared(short, setup_of(), setup_of(), pod("p", cpu="2"), other=tainted)
    assert told(result) == [("p", "reason", "", "")]
    assert "Insufficient cpu" in result.changes[0].message_a
    assert "untolerated taint" in result.changes[0].message_b


def test_what_preemption_says_in_the_words_of_another_minor_is_no_other_reason() -> None:
    result = compared(snapshot_of(node("a", cpu="1")), setup_of(minor="1.30"), setup_of(), pod("p", cpu="2"))
    assert told(result) == []
    assert (result.a.unplaced, result.b.unplaced) == (1, 1)


def test_utilisation_of_amounts_whose_hundredfold_no_integer_holds() -> None:
    snapshot = snapshot_of(node("a", memory="4Ei"), pod("p", on="a", memory="1Ei"))
    result = compared(snapshot, setup_of(), setup_of())
    (memory,) = (use for use in result.cluster_a.resources if use.resource == "memory")
    assert (memory.mean, memory.maximum) == (25.0, 25.0)


def test_pods_that_one_side_has_not() -> None:
    snapshot = snapshot_of(node("a"))
    a, b = ([pod("p", cpu="1"), pod("q", cpu="1")], [pod("q", cpu="1"), pod("r", cpu="1")])
    result = diff(side("A", snapshot, setup_of(), a), side("B", snapshot, setup_of(), b))
    assert told(result) == [("p", "only in A", "a", ""), ("r", "only in B", "", "a")]


def test_victims_gained_and_lost() -> None:
    low = pod("low", on="a", cpu="3", priority=-1)
    full, roomy = snapshot_of(node("a"), low), snapshot_of(node("a", cpu="8"), low)
    urgent = pod("urgent", cpu="2", priority=10)
    lost = compared(full, setup_of(), setup_of(), urgent, other=roomy)
    gained = compared(roomy, setup_of(), setup_of(), urgent, other=full)
    assert told(lost) == [("low", "spared", "", "")]
    assert told(gained) == [("low", "evicted", "", "")]
    assert gained.changes[0].message_b == "for default/urgent"


def test_a_victim_whose_replacement_finds_a_node_is_placed_on_both_sides() -> None:
    low = pod("low", cpu="1", priority=-1, owner=("apps/v1", "ReplicaSet", "low"))
    full, roomy = snapshot_of(node("a"), node("b", cpu="2")), snapshot_of(node("a", cpu="8"), node("b", cpu="2"))
    result = compared(full, setup_of(), setup_of(), low, pod("urgent", cpu="4", priority=10), other=roomy)
    assert told(result) == [("low", "moved", "b", "a")]


def test_a_side_that_cannot_take_the_others_node_says_why() -> None:
    a, b = snapshot_of(node("a"), node("b", cpu="2")), snapshot_of(node("a", cordoned=True), node("b", cpu="2"))
    result = compared(a, setup_of(), setup_of(), pod("p", cpu="1"), other=b)
    assert told(result) == [("p", "moved", "a", "b")]
    assert result.changes[0].scores[1].missing == "node(s) were unschedulable"
    assert result.changes[0].decided_by == ()


def test_what_it_did_to_the_cluster() -> None:
    snapshot = snapshot_of(node("a"), node("b"), pod("old", on="b", cpu="2"))
    result = compared(snapshot, setup_of(), setup_of(PACKING), pod("p", cpu="1"))
    a, b = result.cluster_a, result.cluster_b
    assert (a.nodes, a.used, a.empty, a.pods) == (2, 2, 0, 2)
    assert (b.used, b.empty) == (1, 1)
    cpu_a, cpu_b = (next(use for use in each.resources if use.resource == "cpu") for each in (a, b))
    assert (cpu_a.mean, cpu_a.deviation, cpu_a.maximum, cpu_a.largest_free) == (37.5, 12.5, 50.0, 3000)
    assert (cpu_b.mean, cpu_b.deviation, cpu_b.maximum, cpu_b.largest_free) == (37.5, 37.5, 75.0, 4000)


def test_zone_skew_of_workloads() -> None:
    nodes = [node("a", zone="x"), node("b", zone="y"), pod("old", on="b", cpu="2")]
    pods = [pod(f"web-{i}", cpu="1", owner=WEB, labels={"app": "web"}) for i in range(2)]
    sets = replica_set("web", {"matchLabels": {"app": "web"}})
    result = compared(snapshot_of(*nodes, sets), setup_of(), setup_of(_without_spread()), *pods)
    assert [(skew.workload, skew.a, skew.b) for skew in result.skews] == [("ReplicaSet default/web", 0, 2)]


def _without_spread() -> dict[str, Any]:
    plugins = {"multiPoint": {"disabled": [{"name": "PodTopologySpread"}]}}
    return {**PACKING, "profiles": [{"plugins": plugins}]}


def test_rules_that_differ_between_minors_are_named_with_their_source() -> None:
    result = compared(snapshot_of(node("a")), setup_of(minor="1.35"), setup_of(minor="1.36"), pod("p", cpu="1"))
    rules = {rule.name: rule for rule in result.rules}
    assert (rules["balanced_allocation_compares"].in_a, rules["balanced_allocation_compares"].in_b) == (False, True)
    assert rules["balanced_allocation_compares"].source == "framework/plugins/noderesources/balanced_allocation.go"


def test_rules_about_the_plugins_that_decided_come_first_though_their_words_do_not_name_them() -> None:
    cluster = snapshot_of(node("a", cpu="4"), node("b", cpu="8"))
    result = compared(cluster, setup_of(PACKING, "1.32"), setup_of(minor="1.36"), pod("p", cpu="1"))
    assert told(result) == [("p", "moved", "a", "b")]
    touched = {rule.name: rule.touches for rule in result.rules if rule.touches}
    assert touched["PodLevelResources"] == ("NodeResourcesBalancedAllocation", "NodeResourcesFit")
    assert "VolumeAttributesClass" not in touched
    assert [rule.name for rule in result.rules][: len(touched)] == list(touched)


# --- replay


def replayed(snapshot: Snapshot, a: Setup, b: Setup) -> DecisionDiff:
    sides = []
    for label, setup in (("A", a), ("B", b)):
        again, pods = replay(snapshot, lambda pod: True, lambda name: True)
        sides.append(Side(label, partial(Session, again, setup), replayed=pods))
    return diff(*sides)


def test_pods_are_replayed_in_the_order_they_started() -> None:
    pods = [
        pod("late", on="a", cpu="1", started="2026-01-01T00:00:03Z", priority=100),
        pod("early", on="a", cpu="1", started="2026-01-01T00:00:01Z"),
        pod("also-early", on="a", cpu="1", started="2026-01-01T00:00:01Z"),
    ]
    _, found = replay(snapshot_of(node("a"), *pods), lambda pod: True, lambda name: True)
    assert [item.pod.name for item in found.pods] == ["also-early", "early", "late"]


STAYS = [
    ("a finished pod", pod("p", on="a", status={"phase": "Succeeded"})),
    ("a pod on its way out", pod("p", on="a", terminating=True)),
    ("a daemon set's pod", pod("p", on="a", owner=("apps/v1", "DaemonSet", "agent"))),
    ("a static pod", pod("p", on="a", owner=("v1", "Node", "a"))),
    ("a pod of a scheduler that nobody here knows", pod("p", on="a", spec={"schedulerName": "other"})),
]


@pytest.mark.parametrize("one", [case[1] for case in STAYS], ids=[f"{case[0]} stays" for case in STAYS])
def test_replay_leaves_alone(one: Pod) -> None:
    snapshot, found = replay(snapshot_of(node("a"), one), lambda pod: True, lambda name: name == "default-scheduler")
    assert (list(found.pods), found.stay) == ([], 1)
    assert snapshot.objects.list_all(Pod) == [one]


def test_a_replayed_pod_keeps_a_node_that_both_find_best() -> None:
    pods = [pod(f"p{i}", on="a", cpu="1", started=f"2026-01-01T00:00:0{i}Z") for i in range(4)]
    result = replayed(snapshot_of(node("a"), node("b"), *pods, budget("b", {})), setup_of(), setup_of())
    assert (result.replayed, result.differs) == (4, False)


NODES = st.lists(st.sampled_from(["1", "2", "4"]), min_size=1, max_size=4)
PODS = st.lists(st.tuples(st.sampled_from(["300m", "1", "1500m"]), st.integers(0, 2)), max_size=6)


def clusters(cpus: list[str]) -> list[Node]:
    return [node(f"n{i}", cpu=cpu, zone=f"z{i % 2}", labels={ZONE: f"z{i % 2}"}) for i, cpu in enumerate(cpus)]


@pytest.mark.long
@settings(max_examples=40)
@pytest.mark.usefixtures("cluster_size")
@given(cpus=NODES, asked=PODS, packing=st.booleans())
def test_nothing_differs_from_itself(cpus: list[str], asked: list[tuple[str, int]], packing: bool) -> None:
    pods = [pod(f"p{i}", cpu=cpu, priority=priority) for i, (cpu, priority) in enumerate(asked)]
    setup = setup_of(PACKING if packing else None)
    result = compared(snapshot_of(*clusters(cpus)), setup, setup, *pods)
    assert not result.differs
    assert (result.cluster_a, result.skews) == (result.cluster_b, ())


@pytest.mark.long
@settings(max_examples=40)
@pytest.mark.usefixtures("cluster_size")
@given(cpus=NODES, asked=PODS, smaller=NODES)
def test_the_other_way_round_gains_are_losses(
    cpus: list[str], asked: list[tuple[str, int]], smaller: list[str]
) -> None:
    """For one pod; of several, ties that A breaks lead each direction elsewhere."""
    pods = [pod(f"p{i}", cpu=cpu) for i, (cpu, _) in enumerate(asked[:1])]
    one, two = snapshot_of(*clusters(cpus)), snapshot_of(*clusters(smaller))
    there = compared(one, setup_of(), setup_of(), *pods, other=two)
    back = compared(two, setup_of(), setup_of(), *pods, other=one)
    mirror = {"pending": "placed", "placed": "pending", "reason": "reason"}
    assert [mirror[c.what] for c in _unmoved(there)] == [c.what for c in _unmoved(back)]


def _unmoved(result: DecisionDiff) -> list[PodChange]:
    return [change for change in result.changes if change.what != "moved"]


def test_a_victim_that_stays_pending_on_one_side_is_in_verdict_and_text() -> None:
    owner = ("apps/v1", "ReplicaSet", "low")
    low = pod("low", on="a", cpu="3", priority=-1, owner=owner)
    full, roomy = snapshot_of(node("a"), low), snapshot_of(node("a", cpu="8"), low)
    result = compared(full, setup_of(), setup_of(), pod("urgent", cpu="2", priority=10), other=roomy)
    (waiting,) = result.a.outcome.pending
    assert "1 pending in A, 0 in B" in result.outcome.verdict
    text = text_of(diff_blocks(result))
    assert f"A     {waiting.pod}" in text.partition("PENDING")[2]


def test_pods_that_neither_side_creates_are_named_though_they_make_no_difference(tmp_path: Path) -> None:
    metadata = {"name": "team", "namespace": "default"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"pods": "1"}}}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "web"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    web = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec}
    cluster = write_cluster(tmp_path, namespace_named("default"), plain_node("a", "4"), quota)
    result = kwhatif.diff(web, snapshot=cluster, policy=[None, PACKING])
    assert not result.differs
    _, _, table = text_of(diff_blocks(result)).partition("REFUSED BY BOTH SIDES")
    row = next(line for line in table.splitlines() if line.startswith("ReplicaSet"))
    assert row.split()[1:3] == ["web", "2"]
    assert "exceeded quota: team" in row
