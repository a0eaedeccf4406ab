"""Pods that have a node and wait for siblings that never come: an outcome of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.commands.place.text import place_blocks
from kwhatif.render.html.drawings import groups_data
from kwhatif.render.tables import text_of
from kwhatif.results.group_outcome import SiblingWait
from kwhatif.results.place import PlaceResult
from tests.scheduler_plugin_builders import Json, plain_node, plain_pod, pod_group, policy_with, write_cluster

GANG = {"scheduling.x-k8s.io/pod-group": "train"}
POLICY = policy_with("Coscheduling", sorts=True)
PATIENT = policy_with("Coscheduling", {"podGroupRejectPercentage": 100}, sorts=True)


def members(count: int, cpu: str = "7") -> list[Json]:
    return [plain_pod(f"train-{number}", cpu, labels=GANG) for number in range(count)]


def placed(tmp_path: Path, pods: list[Json], *objects: Json, policy: Json = POLICY, **options: Any) -> PlaceResult:
    cluster = write_cluster(tmp_path, plain_node("n1"), *objects)
    return kwhatif.place(pods, snapshot=cluster, policy=policy, **options)


@pytest.mark.parametrize("timeline", [pytest.param(False, id="one by one"), pytest.param(True, id="over time")])
@pytest.mark.parametrize(
    ("spec", "args", "seconds"),
    [
        pytest.param({}, {}, 60, id="for 60 seconds where nothing is said"),
        pytest.param({}, {"permitWaitingTimeSeconds": 10}, 10, id="as long as the arguments say"),
        pytest.param({"scheduleTimeoutSeconds": 5}, {}, 5, id="as long as the group says"),
    ],
)
def test_a_gang_that_does_not_fit_waits_and_is_not_bound(
    tmp_path: Path, spec: Json, args: Json, seconds: int, *, timeline: bool
) -> None:
    policy = policy_with("Coscheduling", args, sorts=True)
    result = placed(tmp_path, members(5), pod_group("train", 5, **spec), policy=policy, timeline=timeline)
    assert {each.outcome for each in result.placements} <= {"waiting", "unschedulable"}
    waiting = [each for each in result.placements if each.outcome == "waiting"]
    assert {each.reason for each in waiting} == {f"waits for 3 of 5 siblings, up to {seconds} s"}
    assert all(each.node == "" for each in result.placements)
    assert (result.good, result.exit_code) == (False, 1)
    assert f"{len(waiting)} waiting" in result.verdict
    assert len(result.outcome.pending) == 5


def test_the_wait_is_told_in_rows_in_a_table_of_groups_in_json_and_on_the_page(tmp_path: Path) -> None:
    result = placed(tmp_path, members(3), pod_group("train", 3), policy=PATIENT)
    told = "gang default/train: 2 of 3 find a node, needs 3: waits for 1 of 3 siblings, up to 60 s"
    assert [(group["text"], group["good"]) for group in groups_data(result)] == [(told, False)]
    assert isinstance(result.groups, tuple)
    (group,) = result.groups
    assert (group.outcome, group.text) == ("waiting", told)
    assert group.message == "0/1 nodes are available: 1 Insufficient cpu."
    text = text_of(place_blocks(result))
    assert told in text
    waits = [each.waits for each in result.placements if isinstance(each.waits, SiblingWait)]
    assert waits[0] == SiblingWait(group="default/train", needs=3, missing=1, seconds=60.0, node="n1")
    (found,) = {str(each["waits"]) for each in result.to_dict()["placements"] if "waits" in each}
    assert found == "{'group': 'default/train', 'needs': 3, 'missing': 1, 'seconds': 60.0, 'node': 'n1'}"


def test_a_gang_that_fits_runs(tmp_path: Path) -> None:
    result = placed(tmp_path, members(2), pod_group("train", 2))
    assert [(each.outcome, each.node) for each in result.placements] == [("placed", "n1")] * 2
    assert isinstance(result.groups, tuple)
    assert [group.text for group in result.groups] == ["gang default/train: 2 of 2 find a node, needs 2: 2 run"]
    assert result.exit_code == 0


def test_members_that_run_already_count(tmp_path: Path) -> None:
    running = plain_pod("train-old", "1", labels=GANG, node="n1")
    result = placed(tmp_path, members(1), pod_group("train", 3), running, plain_pod("train-more", labels=GANG))
    assert isinstance(result.groups, tuple)
    assert [group.text for group in result.groups] == [
        "gang default/train: 1 of 1 find a node beside 1 that run, needs 3: waits for 1 of 3 siblings, up to 60 s"
    ]


def test_others_get_the_room_that_a_gang_gives_back(tmp_path: Path) -> None:
    pods = [*members(3), plain_pod("modest", "10")]
    result = placed(tmp_path, pods, pod_group("train", 3), policy=PATIENT)
    homes = {each.pod: each.node for each in result.placements}
    assert homes["default/modest"] == "n1"
    assert {homes[f"default/train-{number}"] for number in range(3)} == {""}


def test_a_pod_that_is_asked_about_alone_gets_a_node_and_waits_there(tmp_path: Path) -> None:
    cluster = write_cluster(tmp_path, plain_node("n1"), pod_group("train", 3), *members(3))
    result = kwhatif.explain("train-0", snapshot=cluster, policy=POLICY)
    (report,) = result.pods
    assert (report.placement.outcome, report.placement.node) == ("waiting", "n1")
    assert report.placement.reason == "waits for 2 of 3 siblings, up to 60 s"
    assert result.exit_code == 1


def test_of_a_gang_the_pod_that_finds_no_node_is_explained(tmp_path: Path) -> None:
    cluster = write_cluster(tmp_path, plain_node("n1"), pod_group("train", 3))
    template = {"metadata": {"labels": GANG}, "spec": {**members(1)[0]["spec"], "restartPolicy": "Never"}}
    spec = {"completions": 3, "parallelism": 3, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec}
    result = kwhatif.explain(job, snapshot=cluster, policy=POLICY)
    (report,) = result.pods
    assert [(node.node, [each.reason for each in node.blockers]) for node in report.nodes] == [
        ("n1", ["Insufficient cpu"])
    ]


@pytest.mark.parametrize(
    ("cpu", "fits", "message"),
    [
        pytest.param("2", 2, "1 Insufficient cpu", id="whole gangs are counted"),
        pytest.param("7", 0, "1 Insufficient cpu", id="what a sibling lacks ends it, not that others wait"),
    ],
)
def test_capacity_counts_gangs(tmp_path: Path, cpu: str, fits: int, message: str) -> None:
    cluster = write_cluster(tmp_path, plain_node("n1"), pod_group("train", 3))
    result = kwhatif.capacity(members(3, cpu), snapshot=cluster, policy=POLICY)
    assert result.fits == fits
    assert message in result.message
