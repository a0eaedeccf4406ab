"""Which pod of one side of a comparison is which of the other, and that each side places what ``place`` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.commands.diff.diff import pair_pods
from kwhatif.results.diff import DecisionDiff
from tests.builders import node, pod, write_objects
from tests.commands.answers import diff as kwhatif_diff
from tests.commands.diff.test_diff import PACKING, setup_of, side, snapshot_of, told
from tests.commands.diff.test_diff import compared as compare_pods

WEB = "Deployment shop/web"

PAIRS: dict[str, tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]] = {
    "pods of one name are one pod": ({"p": "", "q": ""}, {"q": "", "p": ""}, [("p", "p"), ("q", "q")]),
    "pods without a workload are by name alone": ({"p": ""}, {"q": ""}, [("p", ""), ("", "q")]),
    "those of a workload are the first, the second and so on": (
        {"web-a-1": WEB, "web-a-2": WEB},
        {"web-b-1": WEB, "web-b-2": WEB},
        [("web-a-1", "web-b-1"), ("web-a-2", "web-b-2")],
    ),
    "more pods on one side are left over": (
        {"web-a-1": WEB},
        {"web-b-1": WEB, "web-b-2": WEB},
        [("web-a-1", "web-b-1"), ("", "web-b-2")],
    ),
    "names go before places": (
        {"web-a-1": WEB, "web-a-2": WEB},
        {"web-b-1": WEB, "web-a-1": WEB},
        [("web-a-1", "web-a-1"), ("web-a-2", "web-b-1")],
    ),
    "another workload is another one": (
        {"web-a-1": WEB},
        {"api-a-1": "Deployment shop/api"},
        [("web-a-1", ""), ("", "api-a-1")],
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_pairs(case: str) -> None:
    a, b, expected = PAIRS[case]
    assert list(pair_pods(a, b)) == expected


# --- manifests


def worker(name: str, cpu: str = "4") -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def web(cpu: str = "1", replicas: int = 2, **more: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "web", "resources": {"requests": {"cpu": cpu}}}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "namespace": "shop"} | more
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def running(folder: Path, *nodes: dict[str, Any]) -> str:
    """A cluster in which two pods of the deployment run, both on the first of the nodes."""
    labels = {"app": "web", "pod-template-hash": "old"}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}
    stored = web(uid="1")
    sets = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web-old", "namespace": "shop", "uid": "2", "labels": labels, "ownerReferences": [owner]},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {**stored["spec"]["template"], "metadata": {"labels": labels}},
        },
        "status": {"replicas": 2},
    }
    mine = {**owner, "kind": "ReplicaSet", "name": "web-old", "uid": "2"}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"web-old-{letter}",
                "namespace": "shop",
                "uid": letter,
                "labels": labels,
                "ownerReferences": [mine],
            },
            "spec": {**stored["spec"]["template"]["spec"], "nodeName": nodes[0]["metadata"]["name"]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for letter in "xy"
    ]
    path = folder / "cluster.json"
    items = [*nodes, stored, sets, *pods]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def empty(folder: Path, *nodes: dict[str, Any]) -> str:
    return write_objects(folder / "empty.json", *nodes)


def changes(result: DecisionDiff) -> list[tuple[str, str, str, str]]:
    """What, from where, to where, and the place of the pod in its workload on either side."""
    return [
        (c.what, c.node_a, c.node_b, f"{c.pod.rpartition('-')[2]} {c.pod_b.rpartition('-')[2]}".strip())
        for c in result.changes
    ]


def test_a_changed_deployment_has_the_same_pods_under_other_names(tmp_path: Path) -> None:
    cluster = empty(tmp_path, worker("a"), worker("b", cpu="3"))
    same = kwhatif.diff(snapshot=cluster, old=[web("500m")], new=[web("600m")])
    assert (same.differs, same.pods) == (False, 2)
    larger = kwhatif.diff(snapshot=cluster, old=[web("500m")], new=[web("3500m", replicas=3)])
    assert changes(larger) == [("pending", "b", "", "2 2"), ("only in B", "", "", "3")]
    assert larger.changes[0].message_b.startswith("0/2 nodes are available")


def test_the_policy_of_one_side_moves_pods_of_other_names_and_says_why(tmp_path: Path) -> None:
    cluster = empty(tmp_path, worker("a"), worker("b", cpu="2"))
    result = kwhatif.diff(snapshot=cluster, policy=["default", PACKING], old=[web("500m", 1)], new=[web("600m", 1)])
    assert changes(result) == [("moved", "a", "b", "1 1")]
    assert dict(result.changes[0].decided_by)["NodeResourcesFit"] > 0


def test_an_object_that_is_in_the_cluster_is_rolled_out(tmp_path: Path) -> None:
    cluster = running(tmp_path, worker("a"), worker("b"))
    result = kwhatif.diff(snapshot=cluster, old=[web()], new=[web("1500m")])
    assert [plan.steps for plan in result.a.rollouts] == [()]
    assert [(plan.creates, plan.removes, plan.unfinished) for plan in result.b.rollouts] == [(2, 2, "")]
    moved = [change for change in changes(result) if change[0] == "moved"]
    assert changes(result) == moved
    assert {(a, b) for _, a, b, _ in moved} == {("a", "b")}
    assert (result.a.placed, result.b.placed, result.exit_code) == (0, 2, 1)


def test_pods_of_a_stateful_set_that_come_back_under_their_names_are_on_both_sides(tmp_path: Path) -> None:
    template = web()["spec"]["template"]
    labels = {"app": "web", "controller-revision-hash": "web-old"}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "1", "controller": True}
    stored = {**web(uid="1"), "kind": "StatefulSet"}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"web-{n}", "namespace": "shop", "uid": f"p{n}", "labels": labels}
            | {"ownerReferences": [owner]},
            "spec": {**template["spec"], "nodeName": "a"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for n in range(2)
    ]
    cluster = write_objects(tmp_path / "cluster.json", worker("a"), worker("b", cpu="1"), stored, *pods)
    changed = {**web("1500m"), "kind": "StatefulSet"}
    result = kwhatif.diff(snapshot=cluster, old=[{**web(), "kind": "StatefulSet"}], new=[changed])
    assert [(plan.creates, plan.removes, plan.unfinished) for plan in result.b.rollouts] == [(2, 2, "")]
    assert not changes(result)
    assert "2 pods, 0 placed anew in A and 2 in B, on the same nodes" in result.outcome.verdict


def test_a_rollout_that_gets_stuck_on_one_side_is_a_difference(tmp_path: Path) -> None:
    cluster = running(tmp_path, worker("a"))
    result = kwhatif.diff(snapshot=cluster, old=[web("1")], new=[web("5")])
    assert [bool(plan.unfinished) for side in (result.a, result.b) for plan in side.rollouts] == [False, True]
    assert ("only in B", "", "") in [change[:3] for change in changes(result)]
    assert result.exit_code == 1


def test_an_update_under_two_policies_is_compared_pod_by_pod(tmp_path: Path) -> None:
    cluster = running(tmp_path, worker("a"), worker("b"))
    result = kwhatif.diff([web("1500m")], snapshot=cluster, policy=["default", "default@1.33"])
    assert not result.differs
    assert [plan.creates for side in (result.a, result.b) for plan in side.rollouts] == [2, 2]


@pytest.mark.long
def test_replayed_pods_that_an_update_replaces_are_the_ones_it_makes(tmp_path: Path) -> None:
    cluster = running(tmp_path, worker("a"), worker("b"))
    result = kwhatif.diff(snapshot=cluster, old=[web()], new=[web("1100m")], replay=["all"])
    assert {change.what for change in result.changes} <= {"moved"}
    assert result.pods == 2


# --- as place has it


def test_a_tie_gives_way_where_it_would_leave_another_pod_without_a_node() -> None:
    """A takes b for p, since a is fuller there; of B's two best nodes b is the one that q needs."""
    fuller = snapshot_of(node("a"), node("b"), pod("old", on="a", cpu="2"))
    equal = snapshot_of(node("a"), node("b"))
    needs_b = pod("q", cpu="4", spec={"nodeSelector": {"kubernetes.io/hostname": "b"}})
    result = compare_pods(fuller, setup_of(), setup_of(), pod("p", cpu="1"), needs_b, other=equal)
    assert told(result) == [("p", "moved", "b", "a"), ("q", "placed", "", "b")]
    assert (result.a.placed, result.b.placed) == (1, 2)


SIZES = st.lists(st.sampled_from(["1", "2", "4"]), min_size=1, max_size=4)
PODS = st.lists(st.tuples(st.sampled_from(["300m", "1", "1500m", "2"]), st.integers(0, 1)), max_size=8)


@pytest.mark.long
@settings(max_examples=40)
@given(sizes=SIZES, others=SIZES, asked=PODS, packing=st.booleans())
def test_each_side_places_the_pods_that_place_does(
    sizes: list[str], others: list[str], asked: list[tuple[str, int]], packing: bool
) -> None:
    from kwhatif.simulation.session import PodToSchedule, Session
    from tests.commands.answers import place

    pods = [pod(f"p{i}", cpu=cpu, priority=priority) for i, (cpu, priority) in enumerate(asked)]
    clusters = [snapshot_of(*(node(f"n{i}", cpu=cpu) for i, cpu in enumerate(each))) for each in (sizes, others)]
    setups = [setup_of(), setup_of(PACKING if packing else None)]
    alone = [place(Session(*each), [PodToSchedule(one) for one in pods]) for each in zip(clusters, setups, strict=True)]
    result = kwhatif_diff(*(side("", cluster, setup, pods) for cluster, setup in zip(clusters, setups, strict=True)))
    counts = [sum(placement.outcome == "placed" for placement in each.placements) for each in alone]
    assert [result.a.placed, result.b.placed] == counts
    gained = {change.pod for change in result.changes if change.what == "placed"}
    lost = {change.pod for change in result.changes if change.what == "pending"}
    pending = [{placement.pod for placement in each.placements if not placement.good} for each in alone]
    assert (gained, lost) == (pending[0] - pending[1], pending[1] - pending[0])
