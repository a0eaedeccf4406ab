"""What comes of other requests: nodes, money, who waits, what binds, and what may go wrong."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

import kwhatif
from kwhatif.api.quantity import Quantity
from kwhatif.commands.rightsize.result import RightsizeResult
from kwhatif.commands.rightsize.rightsize_result import _verdict
from kwhatif.errors import InputError, UsageError
from kwhatif.simulation.placement import scale_down
from tests.commands.rightsize.clusters import GROUPS, Object, asked, node, row, used, workload

MIB = 1024**2
SAMPLES = Path(__file__).parents[3] / "samples" / "usage"
STORIES = ("memory-binds", "pods-bind", "replicas-follow", "saves-40")


def told(story: str, **options: Any) -> RightsizeResult:
    home = SAMPLES / story
    (usage,) = home.glob("usage.*")
    groups = str(home / "groups.yaml")
    return kwhatif.rightsize(snapshot=str(home / "cluster.json"), usage=str(usage), autoscale=groups, **options)


def test_cpu_goes_down_and_no_node_goes_since_memory_binds() -> None:
    result = told("memory-binds")
    assert result.before.nodes == result.after.nodes == 6
    assert [(each.pool, each.resource) for each in result.binds] == [("general", "memory")]
    assert result.outcome.verdict.endswith("; memory binds in pool general (83%).")


@pytest.mark.parametrize("moments", [["2026-11-01T00:00:00Z"], ["2026-11-01T00:00:00Z", "2026-11-01T00:01:00Z"]])
def test_that_usage_of_one_moment_has_no_percentile_is_said(moments: list[str], tmp_path: Path) -> None:
    head = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "window": "15s"}
    of_pod = {"metadata": {"name": "web-0", "namespace": "shop"}}
    containers = [{"name": "main", "usage": {"cpu": "100m", "memory": "128Mi"}}]
    metrics = [{**head, **of_pod, "timestamp": moment, "containers": containers} for moment in moments]
    cluster, usage = tmp_path / "cluster.json", tmp_path / "usage.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("a"), *workload("web", ["a"])]}))
    usage.write_text("\n".join(json.dumps(each) for each in metrics))
    verdict = kwhatif.rightsize(snapshot=str(cluster), usage=str(usage)).outcome.verdict
    assert verdict.endswith("of 1 moment, which is no percentile: take a day of samples") is (len(moments) == 1)


def test_the_number_of_pods_binds() -> None:
    result = told("pods-bind")
    assert (result.after.nodes_removable, result.binds[0].resource, result.binds[0].share) == (0, "pods", 0.9655)


@pytest.mark.parametrize(
    ("story", "resource", "freed"),
    [
        ("memory-binds", "memory", 2),
        ("pods-bind", "pods", 3),
        ("replicas-follow", "cpu", 0),
        ("saves-40", "cpu", 2),
    ],
)
def test_what_binds_is_proven_by_asking_again_with_no_end_of_it(story: str, resource: str, freed: int) -> None:
    (bound,) = told(story).binds
    assert (bound.resource, bound.nodes_freed) == (resource, freed)


def test_karpenter_consolidates_by_the_new_requests(tmp_path: Path) -> None:
    home = SAMPLES.parent / "karpenter"
    pods = ("web-1", "web-2", "api-1", "api-2", "report-1", "batch-1")
    usage = tmp_path / "usage.txt"
    rows = [f"shop {pod} main 50m 100Mi" for pod in pods]
    usage.write_text("\n".join(["NAMESPACE POD NAME CPU(cores) MEMORY(bytes)", *rows]))
    catalogue = str(home / "catalogue.yaml")
    result = kwhatif.rightsize(snapshot=str(home / "cluster.yaml"), usage=usage, autoscale=catalogue)
    # Today it replaces on-demand nodes by a cheaper spot one; with lower requests all pods fit on what is there.
    assert (result.today.nodes, result.before.nodes, result.after.nodes) == (5, 2, 1)
    assert (result.before.nodes_added, result.after.nodes_added) == (1, 0)
    assert {each.group: each.nodes for each in result.outcome.removed_nodes} == {"spot": 1, "steady": 3}
    assert result.outcome.cost == -144.83
    assert result.exit_code == 0


def test_without_autoscalers_nobody_is_asked_what_binds() -> None:
    home = SAMPLES / "saves-40"
    result = kwhatif.rightsize(snapshot=str(home / "cluster.json"), usage=home / "usage.json")
    assert [(each.resource, each.nodes_freed) for each in result.binds] == [("cpu", None)]


def test_lower_requests_mean_more_pods() -> None:
    result = told("replicas-follow")
    assert [(each.workload, each.replicas, each.then, each.unchanged_would) for each in result.rescaled] == [
        ("Deployment/shop/web", 12, 15, 12),
        ("Deployment/shop/api", 8, 10, 8),
    ]
    assert (result.before.pods, result.after.pods) == (20, 25)
    assert result.after.cost == result.before.cost


@pytest.mark.long
def test_forty_percent_are_saved_as_the_autoscaler_has_it(tmp_path: Path) -> None:
    result = told("saves-40", write=tmp_path)
    assert (result.before.cost, result.after.cost) == (1460.0, 876.0)
    assert result.outcome.cost == -584.0
    home = SAMPLES / "saves-40"
    plan = kwhatif.autoscale(
        snapshot=str(home / "cluster.json"),
        groups=home / "groups.yaml",
        until_quiet=True,
        provision_seconds=120,
        edits=str(tmp_path / "edits.yaml"),
    )
    assert plan.steps[-1].nodes == result.after.nodes == 6


@pytest.mark.long
@pytest.mark.parametrize("story", STORIES)
def test_without_the_nodes_that_go_nobody_waits(story: str, tmp_path: Path) -> None:
    result = told(story, write=tmp_path)
    edits: list[Any] = [str(tmp_path / "edits.yaml"), *({"removeNodes": name} for name in result.after.removed)]
    placed = kwhatif.place(with_pending=True, snapshot=str(SAMPLES / story / "cluster.json"), edits=edits)
    assert placed.exit_code == 0


@pytest.mark.long
@pytest.mark.parametrize("story", STORIES)
def test_steps_sum_up_to_the_whole(story: str) -> None:
    result = told(story, steps=True, most_steps=2)
    before, after = result.before, result.after
    assert sum(step.nodes for step in result.steps) == before.nodes - after.nodes
    assert round(sum(step.cost or 0 for step in result.steps), 2) == round((before.cost or 0) - (after.cost or 0), 2)
    assert sum(step.workloads for step in result.steps) == len({each.workload for each in result.workloads})


@pytest.mark.long
@pytest.mark.parametrize("story", STORIES)
def test_a_large_cluster_loses_as_many_nodes_as_round_by_round(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_rounds = told(story)
    monkeypatch.setattr(scale_down, "LARGE", 1)
    in_turn = told(story)
    assert (in_turn.before.nodes, in_turn.after.nodes) == (by_rounds.before.nodes, by_rounds.after.nodes)
    assert in_turn.after.pending == 0


def test_requests_that_grow_drive_pods_away(tmp_path: Path) -> None:
    objects = [node("a", cpu="2"), *workload("web", ["a", "a", "a"])]
    result = asked(tmp_path, objects, used("web", 3, [1.0], [100 * MIB]))
    assert row(result, "cpu").advised == "1150m"
    assert (result.before.pending, result.after.pending, result.exit_code) == (0, 2, 1)
    assert "Does not fit: 2 more pods stay pending. " in result.outcome.verdict
    assert [(each.workload, each.cause) for each in result.outcome.pending] == [("Deployment/shop/web", "new")] * 2


def test_who_waits_finds_room(tmp_path: Path) -> None:
    objects = [node("a", cpu="1"), *workload("web", ["a", "a", ""])]
    result = asked(tmp_path, objects, used("web", 2, [0.1], [100 * MIB]))
    assert (result.before.pending, result.after.pending) == (1, 0)


def test_a_limit_below_the_peak_kills(tmp_path: Path) -> None:
    sizing = json.dumps(
        {"apiVersion": "kwhatif.dev/v1", "kind": "RightsizingPolicy", "memory": {"percentile": 50, "margin": 0}}
    )
    objects = [node("a"), *workload("web", ["a"], limits={"memory": "512Mi"})]
    result = asked(tmp_path, objects, used("web", 1, [0.1], [100 * MIB, 100 * MIB, 300 * MIB]), sizing=sizing)
    (risk,) = (each for each in result.risks if each.kind == "oom")
    assert (risk.subject, risk.amount, risk.bound) == ("Deployment/shop/web", "300Mi", "100Mi")


def test_a_pod_counts_by_its_own_peak(tmp_path: Path) -> None:
    calm = [each for each in used("web", 3, [0.1] * 20, [MIB]) if each["metric"]["pod"] != "web-2"]
    hot = [each for each in used("web", 3, [0.1] * 19 + [0.9], [MIB]) if each["metric"]["pod"] == "web-2"]
    result = asked(tmp_path, [node("a"), *workload("web", ["a"] * 3)], [*calm, *hot])
    (risk,) = (each for each in result.risks if each.kind == "peak")
    assert (risk.pods, risk.amount, risk.bound) == (1, "900m", "115m")


@pytest.mark.parametrize(
    ("what", "second", "hot"),
    [("at the same times", [0.1, 1.8] * 50, True), ("in turns", [1.8, 0.1] * 50, False)],
)
def test_a_node_is_hot_by_what_its_pods_use_together(what: str, second: list[float], hot: bool, tmp_path: Path) -> None:
    objects = [node("a", cpu="3"), *workload("web", ["a"]), *workload("api", ["a"])]
    usage = [*used("web", 1, [0.1, 1.8] * 50, [MIB]), *used("api", 1, second, [MIB])]
    sizing = json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "RightsizingPolicy", "cpu": {"percentile": 50}})
    result = asked(tmp_path, objects, usage, sizing=sizing)
    assert any(each.kind == "node" for each in result.risks) is hot


def test_a_quota_that_would_be_full_is_told(tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "shop"},
        "spec": {"hard": {"requests.cpu": "1"}},
    }
    result = asked(tmp_path, [node("a"), *workload("web", ["a"]), quota], used("web", 1, [1.0], [MIB]))
    assert [(each.kind, each.amount, each.bound) for each in result.risks] == [("quota", "1150m", "1")]


WRONG: dict[str, tuple[list[Object], str]] = {
    "another cluster's usage": (used("other", 4, [1.0], [MIB]), "none of the 4 pods with usage is of this cluster"),
}


@pytest.mark.parametrize("what", WRONG)
def test_usage_that_says_nothing_of_this_cluster(what: str, tmp_path: Path) -> None:
    usage, said = WRONG[what]
    with pytest.raises(InputError, match=said):
        asked(tmp_path, [node("a"), *workload("web", ["a"])], usage)


def test_a_snapshot_without_usage_asks_for_some(tmp_path: Path) -> None:
    home = SAMPLES / "saves-40" / "cluster.json"
    with pytest.raises(InputError, match="name some with --usage FILE or --prometheus URL"):
        kwhatif.rightsize(snapshot=str(home))
    with pytest.raises(UsageError, match="expected a URL"):
        kwhatif.rightsize(snapshot=str(home), prometheus="file:///etc/passwd")


def test_half_the_pods_unknown_and_clocks_apart_are_told_with_numbers(tmp_path: Path) -> None:
    usage = [*used("web", 1, [0.1], [MIB]), *used("strange", 3, [0.1], [MIB])]
    result = asked(tmp_path, [node("a"), *workload("web", ["a"])], usage)
    notes = "\n".join(result.notes)
    assert "3 of 4 pods with usage are not of this cluster" in notes
    assert "only 1 of 4 pods with usage are of this cluster" in notes
    late = json.loads((SAMPLES / "saves-40" / "usage.json").read_text())
    for each in late["data"]["result"]:
        each["values"] = [[time - 30 * 86_400, value] for time, value in each["values"]]
    moved = tmp_path / "late.json"
    moved.write_text(json.dumps(late))
    result = kwhatif.rightsize(snapshot=str(SAMPLES / "saves-40" / "cluster.json"), usage=moved)
    assert any("the last sample of usage is 30 days before the snapshot" in note for note in result.notes)


@pytest.mark.long
@pytest.mark.parametrize("form", ["patches", "vpa"])
def test_what_is_written_can_be_asked_with_in_every_form(form: str, tmp_path: Path) -> None:
    told("saves-40", write=tmp_path, write_as=form)
    cluster = str(SAMPLES / "saves-40" / "cluster.json")
    filled = [
        kwhatif.place(with_pending=True, snapshot=cluster, edits=str(path)).totals.pools[0].resources
        for path in (tmp_path, tmp_path / form)
    ]
    assert filled[0] == filled[1]
    assert (filled[0][0].resource, filled[0][0].requested) == ("cpu", 14020)


def test_advice_written_as_vpa_is_recommended_again(tmp_path: Path) -> None:
    objects = [node("a"), *workload("web", ["a"])]
    asked(tmp_path, objects, used("web", 1, [0.1], [100 * MIB]), write=tmp_path / "out", write_as="vpa")
    text = (tmp_path / "out" / "vpa" / "deployment-shop-web.yaml").read_text()
    assert "minAllowed:\n        cpu: 115m" in text
    assert (tmp_path / "out" / "vpa" / "kustomization.yaml").is_file()


def test_a_cluster_that_costs_nothing_known_has_no_cost(tmp_path: Path) -> None:
    groups = GROUPS.replace(", price: 0.1", "")
    result = asked(
        tmp_path, [node("a"), node("b"), *workload("web", ["a"])], used("web", 1, [0.1], [MIB]), autoscale=groups
    )
    assert (result.after.cost, result.outcome.cost, result.after.nodes) == (None, None, 1)


@pytest.mark.parametrize("story", STORIES)
def test_the_headline_says_of_requests_what_the_table_does(story: str) -> None:
    result = told(story)
    for name, word in (("cpu", "CPU"), ("memory", "memory")):
        before, after = (float(Quantity.parse(side.requested[name])) for side in (result.before, result.after))
        percent = round(100 * (after - before) / before)
        assert f"{word} requests {percent:+}%" in result.outcome.verdict


@pytest.mark.long
def test_a_saving_is_in_the_headline_though_pods_wait() -> None:
    result = told("saves-40")
    worse = structs.replace(result.after, pending=result.before.pending + 1)
    before, after = (
        cast("Any", SimpleNamespace(side=side, requested={"cpu": 1, "memory": 1})) for side in (result.before, worse)
    )
    said = _verdict(cast("Any", SimpleNamespace(changes=[1], scalings=[])), before, after, ())
    assert said.startswith("Does not fit: 1 more pod stays pending. Saves 4 nodes and 584.00 a month (40%): ")
