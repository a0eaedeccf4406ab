"""Whoever is asked with autoscalers buys the nodes that place buys, in trials, failures and sweeps as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.results.place import ScaleUp

SAMPLES = Path(__file__).parents[2] / "samples"
CLUSTER, GROUPS = SAMPLES / "autoscaled" / "cluster.yaml", SAMPLES / "autoscaled" / "groups.yaml"
CATALOGUE = SAMPLES / "karpenter" / "catalogue.yaml"
TRAINING = SAMPLES / "autoscaled" / "training.yaml"
SPACE: dict[str, Any] = {
    "apiVersion": "kwhatif.dev/v1",
    "kind": "SweepSpace",
    "weights": {"NodeResourcesFit": [1, 5]},
}


def bought(outcome: Any) -> tuple[dict[str, int], float | None]:
    return {each.group: each.nodes for each in outcome.added_nodes}, outcome.cost


def test_explain_of_a_manifest_shows_the_nodes_that_come() -> None:
    placed = kwhatif.place(TRAINING, snapshot=CLUSTER, autoscale=[GROUPS])
    explained = kwhatif.explain(TRAINING, snapshot=CLUSTER, autoscale=[GROUPS])
    assert explained.outcome == placed.outcome
    assert isinstance(explained.scale_up, ScaleUp)
    assert explained.scale_up.nodes == placed.scale_up.nodes  # type: ignore[union-attr]


def test_explain_of_a_pod_that_waits_says_why_no_node_comes(tmp_path: Path) -> None:
    after = tmp_path / "after.json"
    big = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "big"},
        "spec": {"containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "64"}}}]},
    }
    kwhatif.place(big, snapshot=CLUSTER, write_snapshot=after)
    explained = kwhatif.explain("big", snapshot=after, autoscale=[GROUPS])
    assert isinstance(explained.scale_up, ScaleUp)
    assert [each.pod for each in explained.scale_up.unhelped] == ["default/big"]
    assert explained.exit_code == 1


@pytest.mark.parametrize(("cluster", "machines"), [("autoscaled", GROUPS), ("karpenter", CATALOGUE)])
def test_what_is_certain_in_chances_is_bought_by_place(cluster: str, machines: Path) -> None:
    snapshot = SAMPLES / cluster / "cluster.yaml"
    placed = kwhatif.place(TRAINING, snapshot=snapshot, autoscale=[machines])
    found = kwhatif.chances(TRAINING, snapshot=snapshot, autoscale=[machines], trials=3)
    assert not isinstance(found.growth, msgspec.UnsetType)
    (only,) = found.growth
    assert ({each.group: each.nodes for each in only.added_nodes}, only.cost) == bought(placed.outcome)
    assert bought(found.outcome) == bought(placed.outcome)
    assert only.probability.times == 3


def test_new_nodes_of_trials_are_one_place_whatever_their_names() -> None:
    found = kwhatif.chances(TRAINING, snapshot=CLUSTER, autoscale=[GROUPS], trials=2)
    (training,) = found.workloads
    assert [(each.name, each.probability.times) for each in training.nodes] == [("new node of gpu in a", 2)]
    assert [each.name for each in training.zones] == ["a"]


def test_an_outage_buys_what_place_buys_without_these_nodes() -> None:
    failed = kwhatif.outage(snapshot=CLUSTER, autoscale=[GROUPS], nodes=["general-a"])
    placed = kwhatif.place(snapshot=CLUSTER, autoscale=[GROUPS], edits=[{"removeNodes": "general-a"}])
    (failure,) = failed.failures
    assert bought(failure.outcome) == bought(placed.outcome)
    assert failure.new_nodes == sum(each.nodes for each in placed.outcome.added_nodes)


def test_no_machine_comes_up_in_a_zone_that_fails(tmp_path: Path) -> None:
    """The only GPUs are to be had in zone a, so nobody helps its training once the zone is gone."""
    after = tmp_path / "after.json"
    kwhatif.place(TRAINING, snapshot=CLUSTER, autoscale=[GROUPS], write_snapshot=after)
    by_node = kwhatif.outage(snapshot=after, autoscale=[GROUPS], nodes=["gpu-new-1"])
    by_zone = kwhatif.outage(snapshot=after, autoscale=[GROUPS], zones=["a"])
    assert [(each.group, each.nodes) for each in by_node.failures[0].outcome.added_nodes] == [("gpu", 1)]
    assert "gpu" not in {each.group for each in by_zone.failures[0].outcome.added_nodes}
    assert [each.workload for each in by_zone.failures[0].outcome.pending].count("Deployment/ml/training") == 2
    assert by_node.failures[0].outcome.pending == ()


def test_each_policy_of_a_sweep_buys_its_own_nodes() -> None:
    found = kwhatif.sweep(
        TRAINING, space=SPACE, snapshot=CLUSTER, autoscale=[GROUPS], workers=1, objectives={"nodesAdded": 1}
    )
    placed = kwhatif.place(TRAINING, snapshot=CLUSTER, autoscale=[GROUPS])
    assert found.today.measures["nodesAdded"] == sum(each.nodes for each in placed.outcome.added_nodes) > 0
    assert found.today.measures["pending"] == 0
    with pytest.raises(kwhatif.KwhatifError, match="nothing is known of it without"):
        kwhatif.sweep(TRAINING, space=SPACE, snapshot=CLUSTER, workers=1, objectives={"nodesAdded": 1})
