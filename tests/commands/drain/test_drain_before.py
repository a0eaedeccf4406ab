"""What comes before a drain: pods of manifests, and those that edits left without a node, are placed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.results.disruption import DrainResult
from tests.commands.diff.test_diff_pairs import empty, running, web, worker


def before(result: DrainResult) -> list[str]:
    """The nodes of pods that are placed before."""
    return [placement.node for placement in result.before]


def evicted(result: DrainResult) -> list[tuple[str, str]]:
    return [(pod.node, pod.lands_on) for pod in result.pods if pod.outcome == "evicted"]


def test_pods_that_an_edit_moved_are_placed_and_then_evicted_like_others(tmp_path: Path) -> None:
    cluster = running(tmp_path, worker("a"), worker("b"), worker("c", cpu="2"))
    result = kwhatif.drain("b", snapshot=cluster, edits=[{"removeNodes": "a"}])
    assert (before(result), evicted(result)) == (["b", "b"], [("b", "c"), ("b", "c")])
    assert (result.nodes[0].drained, result.exit_code) == (True, 0)


def test_pods_of_manifests_take_their_room_first(tmp_path: Path) -> None:
    cluster = running(tmp_path, worker("a", cpu="2"), worker("b", cpu="3"))
    assert kwhatif.drain("a", snapshot=cluster).exit_code == 0
    other = web(replicas=2, name="other")
    full = kwhatif.drain("a", manifests=[other], snapshot=cluster)
    assert before(full) == ["b", "b"]
    assert [lands for _, lands in evicted(full)] == ["b", ""]
    assert full.exit_code == 1


def test_one_that_finds_no_node_counts_against_the_answer(tmp_path: Path) -> None:
    cluster = empty(tmp_path, worker("a"), worker("b"))
    result = kwhatif.drain("a", manifests=[web("5", replicas=1)], snapshot=cluster)
    assert (result.nodes[0].drained, before(result), result.exit_code) == (True, [""], 1)


def test_an_update_is_rolled_out_before(tmp_path: Path) -> None:
    cluster = running(tmp_path, worker("a"), worker("b"))
    result = kwhatif.drain("a", manifests=[web("1500m")], snapshot=cluster)
    assert (result.rollouts[0].creates, result.rollouts[0].removes, result.exit_code) == (2, 2, 0)
    assert not any("old" in pod.pod for pod in result.pods)
    stuck = kwhatif.drain("a", manifests=[web("5")], snapshot=cluster)
    assert (bool(stuck.rollouts[0].unfinished), stuck.exit_code) == (True, 1)


MANIFESTS: dict[str, list[dict[str, Any]]] = {
    "new pods": [web(replicas=3, name="other")],
    "an update": [web("600m", replicas=3)],
    "both": [web("600m"), web(replicas=2, name="other")],
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_it_is_the_same_as_to_place_first_and_to_drain_the_cluster_afterwards(case: str, tmp_path: Path) -> None:
    cluster, after = running(tmp_path, worker("a"), worker("b"), worker("c", cpu="1")), tmp_path / "after.json"
    first = kwhatif.place(MANIFESTS[case], snapshot=cluster, write_snapshot=after)
    apart, at_once = kwhatif.drain("a", snapshot=after), kwhatif.drain("a", manifests=MANIFESTS[case], snapshot=cluster)
    assert before(at_once) == [placement.node for placement in first.placements]
    for what in ("nodes", "pods", "budgets", "remaining"):
        assert getattr(at_once, what) == getattr(apart, what), what
    # Pods that controllers make again come from the snapshot that was read, which has another name.
    of_placements = [[replace(placement, origin="") for placement in end.placements] for end in (at_once, apart)]
    assert of_placements[0] == of_placements[1]


def test_what_is_missing_touches_the_pods_of_both(tmp_path: Path) -> None:
    cluster = tmp_path / "nodes.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [worker("a"), worker("b")]}))
    gaps = kwhatif.drain("a", manifests=[web()], snapshot=cluster, assume_empty=True).fidelity.touching
    assert any(gap.what == "the snapshot holds no Pod" for gap in gaps)
