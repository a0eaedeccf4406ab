"""Pods that a quota refuses are created once others have left it room, and scheduled like everybody."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.results.place import Placement
from tests.scheduler_plugin_builders import Json, namespace_named, plain_node, plain_pod, write_cluster
from tests.simulation.placement.test_rollouts_at_rest import IMPORTANT, deployment, running


def quota(pods: int) -> Json:
    metadata = {"name": "most", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"pods": str(pods)}}}


def stateful_set(replicas: int) -> Json:
    found = deployment("ordered", replicas)
    del found["spec"]["strategy"]
    return found | {"kind": "StatefulSet"}


def job(parallelism: int) -> Json:
    template = deployment("work", 1)["spec"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    metadata = {"name": "work", "namespace": "default"}
    spec = {"parallelism": parallelism, "completions": parallelism, "template": {"spec": template["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


BULKY = plain_pod("bulky", "3", node="n1", memory="1Mi")
FULL = [plain_node("n1", "4"), BULKY, plain_pod("small", "1", node="n1", memory="1Mi", priority=20)]


@dataclass(frozen=True)
class Row:
    """So many pods of each workload are ``placed`` in the end, and so many are ``missing``: not created."""

    most: int
    manifests: Sequence[Json]
    there: Sequence[Json] = field(default_factory=lambda: FULL)
    placed: Mapping[str, int] = field(default_factory=dict)
    missing: int = 0
    victims: int = 0


ROWS = {
    "a quota that stays full keeps pods away": Row(2, [deployment("web", 1)], missing=1),
    "a pod that nobody makes again leaves room for one that was refused": Row(
        3,
        [deployment("web", 2, important=True)],
        placed={"web": 2},
        victims=1,
    ),
    "as many as there is room for": Row(
        3,
        [deployment("web", 4, important=True)],
        placed={"web": 2},
        missing=2,
        victims=1,
    ),
    "a pod that is recreated leaves none": Row(
        2,
        [deployment("web", 2, "1", important=True)],
        there=[plain_node("n1", "1"), *running(deployment("other", 1))],
        placed={"web": 1},
        missing=1,
        victims=1,
    ),
    "the pods of a StatefulSet come one after the other": Row(
        3,
        [deployment("web", 1, important=True), stateful_set(2)],
        placed={"web": 1, "ordered": 1},
        missing=1,
        victims=1,
    ),
    "a Job goes on, too": Row(
        3,
        [deployment("web", 1, important=True), job(1)],
        placed={"web": 1, "work": 1},
        victims=1,
    ),
    "an update that makes a workload smaller leaves room": Row(
        2,
        [deployment("web", 1), deployment("other", 0)],
        there=[plain_node("n1", "4"), *running(deployment("other", 2))],
        placed={"web": 1},
    ),
    "an update that was refused goes on when another one has shrunk": Row(
        3,
        [deployment("web", 1, image="app:2"), deployment("other", 0)],
        there=[plain_node("n1", "4"), *running(deployment("web", 1)), *running(deployment("other", 2))],
        placed={"web": 1},
    ),
}


def count_placed(placements: Iterable[Placement]) -> Mapping[str, int]:
    """``web: 2`` for ``default/web-5d4c7-1`` and ``default/web-5d4c7-2``."""
    return Counter(each.pod.removeprefix("default/").partition("-")[0] for each in placements if each.good)


def is_new(row: Row) -> bool:
    """Whether nothing of it is an update, which is not told over time."""
    return not any(each["kind"] == "Deployment" for each in row.there)


@pytest.mark.parametrize(
    ("name", "timeline"),
    [(name, timeline) for name, row in ROWS.items() for timeline in (False, *([True] if is_new(row) else []))],
)
def test_a_quota_at_rest(name: str, tmp_path: Path, *, timeline: bool) -> None:
    row = ROWS[name]
    found = placed(tmp_path, row, timeline=timeline)
    assert count_placed(found.placements) == row.placed
    assert sum(each.pods for each in found.outcome.not_created) == row.missing
    assert sum(each.pods for each in found.failed) == row.missing
    assert (f"{row.missing} pod" in found.verdict and "not created" in found.verdict) is bool(row.missing)
    assert len(found.outcome.victims) == row.victims
    assert found.good is (not row.missing and not found.outcome.pending)


def placed(tmp_path: Path, row: Row, **options: Any) -> kwhatif.PlaceResult:
    cluster = write_cluster(tmp_path, namespace_named("default"), IMPORTANT, quota(row.most), *row.there)
    return kwhatif.place(list(row.manifests), snapshot=cluster, **options)


@pytest.mark.parametrize("edits", [[], [{"scale": {"kind": "Deployment", "name": "web", "replicas": 4}}]])
def test_all_pods_that_an_update_misses_are_counted_once(edits: list[Json], tmp_path: Path) -> None:
    nodes = [plain_node("n1", "9")]
    cluster = write_cluster(tmp_path, namespace_named("default"), quota(2), *nodes, *running(deployment("web", 2)))
    found = kwhatif.place(deployment("web", 4), snapshot=cluster, edits=edits)
    assert [each.pods for each in found.failed] == [2]
    assert "2 pods not created" in found.verdict


def test_a_pod_that_is_refused_for_the_same_quota_at_another_moment_is_missing_once(tmp_path: Path) -> None:
    heavy = deployment("web", 4, "3")
    heavy["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 2}}
    metadata, spec = {"name": "most", "namespace": "default"}, {"hard": {"requests.cpu": "7"}}
    most = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}
    there = [plain_node("n1", "99"), *running(deployment("web", 4, "1"))]
    result = kwhatif.place(heavy, snapshot=write_cluster(tmp_path, namespace_named("default"), most, *there))
    (rollout,) = result.rollouts
    assert (rollout.creates, rollout.keeps, [failed.pods for failed in result.failed]) == (2, 0, [2])


def test_a_drained_pod_that_nobody_makes_again_leaves_room(tmp_path: Path) -> None:
    nodes = [plain_node("n1", "4"), plain_node("n2", "4")]
    cluster = write_cluster(tmp_path, namespace_named("default"), IMPORTANT, quota(2), *nodes, *FULL[1:])
    found = kwhatif.drain("n1", manifests=[deployment("web", 3)], snapshot=cluster, force=True)
    assert (sum(each.pods for each in found.outcome.not_created), sum(each.pods for each in found.failed)) == (1, 1)
    assert count_placed([*found.before, *found.placements]) == {"web": 2}
    assert "1 pod not created" in found.verdict


def test_the_gate_judges_who_was_created_in_the_end(tmp_path: Path) -> None:
    row = ROWS["a pod that nobody makes again leaves room for one that was refused"]
    cluster = write_cluster(tmp_path, namespace_named("default"), IMPORTANT, quota(row.most), *row.there)
    found = kwhatif.gate(list(row.manifests), snapshot=cluster)
    assert [each.pods for each in found.outcome.not_created] == []
    assert not [each for each in found.findings if each.rule == "quota"]


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if is_new(row)])
def test_chances_create_as_many_in_all_trials(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    cluster = write_cluster(tmp_path, namespace_named("default"), IMPORTANT, quota(row.most), *row.there)
    found = kwhatif.chances(list(row.manifests), snapshot=cluster, trials=4)
    assert {each.workload.rpartition("/")[2]: each.pods for each in found.workloads} == row.placed
    assert (
        sum(each.pods for each in found.outcome.not_created) == sum(each.pods for each in found.failed) == row.missing
    )
    assert found.good is (not row.missing and not found.outcome.pending)


def test_a_sweep_and_what_an_outage_finds_before_create_them_too(tmp_path: Path) -> None:
    row = ROWS["a pod that nobody makes again leaves room for one that was refused"]
    cluster = write_cluster(tmp_path, namespace_named("default"), IMPORTANT, quota(row.most), *row.there)
    space = {"apiVersion": "kwhatif.dev/v1", "kind": "SweepSpace", "weights": {"NodeResourcesFit": [5]}}
    space_file = tmp_path / "space.json"
    space_file.write_text(json.dumps(space))
    swept = kwhatif.sweep(list(row.manifests), snapshot=cluster, space=space_file)
    assert [(point.measures["evictions"], point.measures["pending"]) for point in swept.points] == [(1, 0), (1, 0)]
    assert not swept.failed
    failed = kwhatif.outage("nodes", snapshot=cluster, manifests=list(row.manifests))
    assert count_placed(failed.before) == row.placed
    assert not failed.failed
    assert not failed.outcome.not_created


@pytest.mark.long
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(["500m", "1", "2"]), st.booleans()), max_size=5),
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["500m", "1"]), st.booleans()), min_size=1, max_size=3),
    st.integers(0, 5),
)
def test_no_more_pods_are_there_than_the_quota_lets_in_and_nobody_is_missing_whom_it_would(
    tmp_path: Path, there: list[tuple[str, bool]], wanted: list[tuple[int, str, bool]], room: int
) -> None:
    pods = [
        plain_pod(f"p{number}", cpu, node="n1", memory="1Mi", namespace="default" if mine else "other")
        for number, (cpu, mine) in enumerate(there)
    ]
    manifests = [
        deployment(f"d{number}", replicas, cpu, important=important)
        for number, (replicas, cpu, important) in enumerate(wanted)
    ]
    most = room + sum(mine for _, mine in there)
    row = Row(most, manifests, there=[plain_node("n1", "5"), *pods])
    first, over_time = placed(tmp_path, row), placed(tmp_path, row, timeline=True)
    assert first.outcome.not_created == over_time.outcome.not_created
    gone = {each.pod for each in first.outcome.victims}
    alive = sum(mine for number, (_, mine) in enumerate(there) if f"default/p{number}" not in gone)
    created = {each.pod for each in first.placements} | {each.pod for each in first.replacements}
    number = alive + len(created - gone)
    assert number <= most
    assert number == most or not first.outcome.not_created


def test_the_claims_of_a_set_s_refused_pods_are_there(tmp_path: Path) -> None:
    claims = [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
    ]

    def set_of(replicas: int) -> Json:
        grown = stateful_set(replicas)
        grown["spec"] |= {"podManagementPolicy": "Parallel", "volumeClaimTemplates": claims}
        return grown

    there = [plain_node("n1", "4"), set_of(0)]
    cluster = write_cluster(tmp_path, namespace_named("default"), quota(0), *there)
    after = tmp_path / "after.json"
    kwhatif.place(set_of(3), snapshot=cluster, write_snapshot=str(after))
    names = [each["metadata"]["name"] for each in json.loads(after.read_text())["objects"]["PersistentVolumeClaim"]]
    assert names == ["data-ordered-0"], "the controller goes no further than the first batch that is refused"


@pytest.mark.parametrize(("most", "number"), [(1, 1), (2, 0)])
def test_pods_that_come_again_where_a_quota_was_lowered_are_named(most: int, number: int, tmp_path: Path) -> None:
    there = [plain_node("n1", "4"), plain_node("n2", "4"), *running(deployment("web", 2))]
    cluster = write_cluster(tmp_path, namespace_named("default"), quota(most), *there)
    found = kwhatif.place(snapshot=cluster, edits=[{"removeNodes": "n1"}])
    gaps = [gap for gap in found.fidelity.gaps if "more is used" in gap.what]
    assert [gap.what for gap in gaps] == ["default/most: more is used than the quota allows"] * number
    assert all("may be refused" in gap.effect and len(gap.pods) == 2 for gap in gaps)
