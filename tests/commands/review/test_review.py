"""What a review says of changes to a small cluster: two zones of two nodes, and a Deployment over all of them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.review.brief import MOST_LINES, brief_text
from kwhatif.commands.review.commands import Commands
from kwhatif.commands.review.result import ReviewResult
from kwhatif.commands.review.text import review_blocks
from kwhatif.render.screen import Screen
from kwhatif.render.tables import text_of
from tests.builders import Json, budget, node
from tests.cli.running import TESTS, run
from tests.commands.gate.judging import new
from tests.simulation.edits.editing import of, snapshot_of, workload

POOL = {"eks.amazonaws.com/nodegroup": "general"}
SAMPLE = [str(TESTS.parent / "samples" / "gate" / name) for name in ("head", "base", "snapshot.json")]


def web(replicas: int = 4, cpu: str = "1", **spec: Any) -> Json:
    return new("Deployment", "web", replicas, cpu=cpu, **spec)


def reviewed(
    head: list[Json], base: list[Json] | None, *objects: Any, whole: tuple[Json, ...] = (), **more: Any
) -> Any:
    """A change where ``web`` has four pods of 1 CPU, one on each node of 2 CPUs."""
    nodes = [node(f"n{i}", cpu="2", zone="ab"[i % 2], labels=POOL) for i in range(4)]
    pods = [of("ReplicaSet", "web", f"web-x-{i}", f"n{i}", cpu="1") for i in range(4)]
    stored = [workload("Deployment", "web", 4, cpu="1"), workload("ReplicaSet", "web", 4, owner="web", cpu="1")]
    snapshot = snapshot_of(nodes, pods, objects, whole=[*stored, *whole])
    return kwhatif.review(head, base=base, snapshot=snapshot, **more)


def test_a_change_without_pods_shows_what_its_quota_and_its_budget_come_to() -> None:
    def quota(cpu: str) -> Json:
        metadata = {"name": "team", "namespace": "shop"}
        spec = {"hard": {"requests.cpu": cpu}}
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}

    metadata = {"name": "web", "namespace": "shop"}
    spec = {"minAvailable": 4, "selector": {"matchLabels": {"app": "web"}}}
    least = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
    text = brief_text(reviewed([quota("3"), least], None, whole=(quota("6"),)), Screen())
    assert "shop/team: requests.cpu 4 -> 4 of 6 -> 3" in text
    assert "shop/web allows 0 disruptions, no before" in text


def risks(result: ReviewResult) -> dict[tuple[str, str], tuple[int | None, int]]:
    return {(each.kind, each.name): (each.before, each.after) for each in result.risks}


def test_a_change_that_fits_is_a_yes_that_says_where_its_pods_go_and_what_they_request() -> None:
    result = reviewed([web(), new("Deployment", "api", 2, cpu="500m")], [web()])
    assert (result.good, result.exit_code) == (True, 0)
    assert [(each.what, str(each.subject), each.pods_before, each.pods_after) for each in result.changes[-1:]] == [
        ("added", "Deployment shop/api", 0, 2)
    ]
    (api,) = result.workloads
    assert (api.workload, api.pods, api.placed, api.pools) == ("Deployment/shop/api", 2, 2, {"general": 2})
    assert [(each.scope, each.name, each.resource, each.before, each.after) for each in result.requests] == [
        ("namespace", "shop", "cpu", 4000, 5000),
        ("namespace", "shop", "pods", 4, 6),
        ("pool", "general", "cpu", 4000, 5000),
        ("pool", "general", "pods", 4, 6),
    ]


def test_who_waits_is_named_with_the_reason_and_changes_that_were_tried() -> None:
    result = reviewed([web(), new("Deployment", "api", 5, cpu="900m")], [web()])
    assert (result.good, result.exit_code) == (False, 1)
    (api,) = result.workloads
    assert (api.placed, api.pods) == (4, 5)
    assert api.why.startswith("0/4 nodes are available: 4 Insufficient cpu.")
    assert [(each.workload, each.change) for each in result.remedies][:1] == [
        ("Deployment/shop/api", "lower its cpu request from 900m to 100m")
    ]


def test_the_loss_of_a_zone_is_at_risk_where_only_the_change_leaves_no_room() -> None:
    result = reviewed([web(), new("Deployment", "api", 2, cpu="900m")], [web()])
    assert risks(result)["zone", "a"] == (0, 2)
    assert result.risks[0].kind == "zone"


def test_a_change_without_pods_puts_nothing_at_risk() -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "shop"}}
    result = reviewed([web(), settings], [web()])
    assert result.good
    assert (result.risks, result.examined, result.requests) == ((), (), ())


def test_the_upgrade_of_a_pool_hangs_once_a_budget_allows_no_eviction() -> None:
    def guard(**spec: Any) -> Json:
        metadata = {"name": "web", "namespace": "shop"}
        selector = {"matchLabels": {"app": "web"}}
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata,
            "spec": {"selector": selector, **spec},
        }

    stored = {**guard(maxUnavailable=1), "status": {"disruptionsAllowed": 1, "currentHealthy": 4, "desiredHealthy": 3}}
    change = [web(4, "1100m"), guard(minAvailable=4)]
    result = reviewed(change, [web(), guard(maxUnavailable=1)], whole=(stored,))
    assert not result.refusals
    assert [(each.budget, each.before, each.after) for each in result.budgets] == [("shop/web", 1, 0)]
    assert risks(result)["upgrade", "general"] == (0, 4)


def test_the_command_about_an_upgrade_names_the_pool_by_its_option() -> None:
    commands = Commands(heads=("web.yaml",), cluster="--snapshot cluster.json")
    assert commands.upgrade("pool=general") == (
        "kwhatif place web.yaml --recursive --snapshot cluster.json --write-snapshot after.json "
        "&& kwhatif upgrade --pool pool=general --snapshot after.json"
    )


def test_the_next_update_has_no_room_for_its_surge() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
    big = new("Deployment", "big", 4, cpu="900m", strategy=strategy)
    result = reviewed([web(), big], [web()])
    assert result.good
    (risk,) = [each for each in result.risks if each.kind == "rollout"]
    assert (risk.name, risk.after, risk.what) == ("shop/big", 2, "its next update finds room for 0 of 2 surge pods")


def test_a_quota_is_shown_with_what_the_change_uses_of_it() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "shop"},
        "spec": {"hard": {"requests.cpu": "8", "pods": "20"}},
    }
    result = reviewed([web(), new("Deployment", "api", 2, cpu="500m")], [web()], whole=(quota,))
    assert [(each.quota, each.resource, each.before, each.after, each.hard) for each in result.quotas] == [
        ("shop/team", "pods", "4", "6", "20"),
        ("shop/team", "requests.cpu", "4", "5", "8"),
    ]


@pytest.mark.long
@pytest.mark.parametrize("width", [None, 80, 200])
def test_the_text_has_at_most_forty_lines_however_much_there_is_to_say(width: int | None) -> None:
    many = [new("Deployment", f"api-{i:02}", 3, cpu="600m") for i in range(30)]
    result = reviewed([web(), *many], [web()])
    whole, brief = text_of(review_blocks(result)), brief_text(result, Screen(width))
    assert brief.count("\n") <= MOST_LINES < whole.count("\n")
    assert brief.splitlines()[0] == whole.splitlines()[0] == result.verdict
    assert "Every line: --all." in brief


def test_a_changed_file_that_nobody_reads_makes_the_answer_unknown(tmp_path: Path) -> None:
    for side, text in (("base", "replicas: 1"), ("head", "replicas: 2")):
        chart = tmp_path / side / "chart"
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
        (chart / "values.yaml").write_text(f"{text}\n")
        (chart / "templates" / "web.yaml").write_text("{{ fail }}\n")
    result = kwhatif.review(
        str(tmp_path / "head"), base=str(tmp_path / "base"), snapshot=snapshot_of([node("n1", zone="a")])
    )
    assert (result.exit_code, result.good) == (2, False)
    assert result.verdict.startswith("unknown: ")


@pytest.mark.long
def test_the_numbers_are_those_of_the_gate() -> None:
    head, base, snapshot = SAMPLE
    review = kwhatif.review(head, base=base, snapshot=snapshot)
    gate = kwhatif.gate(head, base=base, snapshot=snapshot)
    assert review.changes == gate.changes
    assert sum(each.pods for each in review.workloads) == len(gate.placements)
    assert sum(each.placed for each in review.workloads) == gate.placed_count
    assert review.outcome.pending == gate.outcome.pending
    assert review.outcome.victims == gate.outcome.victims
    assert {each.pod for each in review.evicted} == {each.pod for each in gate.outcome.victims}


@pytest.mark.long
def test_each_command_that_says_more_runs() -> None:
    head, base, snapshot = SAMPLE
    result = kwhatif.review(head, base=base, snapshot=snapshot)
    assert len(result.commands) > 3
    for command in result.commands[:3]:
        name, *rest = shlex.split(command)
        assert name == "kwhatif"
        assert run(*rest).code in (0, 1), command


@pytest.mark.long
def test_the_outage_that_a_review_names_says_the_same_of_it() -> None:
    head, _, snapshot = SAMPLE
    result = kwhatif.review(head, snapshot=snapshot)
    zones = [risk for risk in result.risks if risk.kind == "zone"]
    lost = kwhatif.outage(manifests=head, recursive=True, snapshot=snapshot, zones=[risk.name for risk in zones])
    assert {failure.name: failure.stuck for failure in lost.failures} == {risk.name: risk.after for risk in zones}


def test_budgets_of_the_cluster_that_the_change_leaves_alone_are_not_named() -> None:
    result = reviewed([web(), new("Deployment", "api", 1)], [web()], budget("other", {"app": "other"}, allowed=1))
    assert isinstance(budget("other", {}), PodDisruptionBudget)
    assert result.budgets == ()
