"""Reports, pages and exit codes say what the outcome says, in every command that has one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif import chances, drain, outage, place
from kwhatif.render.formats import escape_markdown
from tests.cli.running import run
from tests.render.html.html_reading import Page

SAMPLES = "../samples"
CLUSTER = f"--snapshot {SAMPLES}/cluster"
SCALED = f"--snapshot {SAMPLES}/scaled/cluster.yaml"
ASKED = {
    "place": f"{SAMPLES}/manifests/too-big.yaml {CLUSTER}",
    "gate": f"{SAMPLES}/scaled/more.yaml {SCALED} --config {SAMPLES}/scaled/rules.yaml",
    "capacity": f"{SAMPLES}/manifests/web.yaml {CLUSTER} --at-least 5",
    "chances": f"{SAMPLES}/manifests/web.yaml {CLUSTER} --trials 3",
    "drain": f"general-a-1 {CLUSTER}",
    "outage": f"--each nodes --survive node {CLUSTER}",
    "diff": f"{SAMPLES}/manifests/web.yaml {CLUSTER} --policy default --policy {SAMPLES}/policies/most-allocated.yaml",
    "autoscale": f"{SAMPLES}/autoscaled/training.yaml --groups {SAMPLES}/autoscaled/groups.yaml "
    f"--snapshot {SAMPLES}/autoscaled/cluster.yaml",
    "autoscale plan": f"{SAMPLES}/karpenter/web.yaml --catalogue {SAMPLES}/karpenter/catalogue.yaml "
    f"--snapshot {SAMPLES}/karpenter/cluster.yaml",
    "rightsize": f"--snapshot {SAMPLES}/usage/saves-40/cluster.json --usage {SAMPLES}/usage/saves-40/usage.json",
    "deschedule": f"--descheduler-policy {SAMPLES}/deschedule/policy.yaml {CLUSTER} --until-quiet",
    "upgrade": f"--pool pool=batch --snapshot {SAMPLES}/upgrade/hangs.yaml --strategy gke-surge",
    "sweep": f"{SAMPLES}/sweep/training.yaml --space {SAMPLES}/sweep/space.yaml "
    f"--snapshot {SAMPLES}/sweep/cluster.yaml",
}


@pytest.mark.parametrize("command", ASKED)
def test_exit_code_first_line_and_banner_are_those_of_the_outcome(command: str, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("json", "markdown", "html")}
    reports = [f"--report={name}={path}" for name, path in files.items()]
    ran = run(*command.split(), *ASKED[command].split(), *reports)
    outcome: dict[str, Any] = json.loads(files["json"].read_text())["outcome"]
    verdict = outcome["verdict"]
    assert ran.code == (0 if outcome["good"] else 1)
    assert ran.lines[0] == verdict
    assert escape_markdown(verdict) in "\n".join(files["markdown"].read_text().splitlines()[:2])
    banner = Page(files["html"].read_text()).data["verdict"]
    assert banner["words"] == verdict
    assert (banner["tone"] in ("bad", "differs")) is not outcome["good"]


def test_a_gap_that_the_verdict_hangs_on_is_named_there_and_nowhere_else(tmp_path: Path) -> None:
    lines = (Path(__file__).parents[2] / "samples" / "three-nodes.json").read_text()
    cluster = json.loads(lines)
    del cluster["objects"]["PodDisruptionBudget"]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(cluster))
    node = next(pod["spec"]["nodeName"] for pod in cluster["objects"]["Pod"] if pod["spec"].get("nodeName"))
    ran = run("drain", node, "--force", "--snapshot", str(path))
    assert "the snapshot holds no PodDisruptionBudget" in ran.lines[0]
    assert "PodDisruptionBudget" not in "\n".join(ran.lines[1:]).replace(ran.lines[0], "")
    assert "closed by" in run("drain", node, "--force", "--snapshot", str(path), "--gaps").out


REFUSED: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "odd", "namespace": "shop"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "b"}}},
    },
}


@pytest.mark.long
def test_an_answer_that_is_not_good_since_an_object_is_refused_says_so() -> None:
    snapshot = str(Path(__file__).parents[2] / "samples" / "cluster")
    for found in (
        chances([REFUSED], snapshot=snapshot, trials=2),
        outage(["nodes"], manifests=[REFUSED], snapshot=snapshot),
        place([REFUSED], snapshot=snapshot),
        drain(["general-a-1"], manifests=[REFUSED], snapshot=snapshot),
    ):
        assert not found.good
        assert found.verdict == found.outcome.verdict
        assert "1 object refused" in found.verdict
        assert [each.object for each in found.outcome.refused] == ["Deployment shop/odd"]
