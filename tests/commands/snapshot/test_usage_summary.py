"""What is reserved against what is used, by pool and workload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import run

HOME = Path(__file__).parents[3] / "samples" / "usage" / "saves-40"


def test_requested_against_used_by_pool_and_workload() -> None:
    ran = run("snapshot", "info", str(HOME / "cluster.json"), "--usage", str(HOME / "usage.json"), "-o", "json")
    found = json.loads(ran.out)
    assert [(each["pool"], each["resource"], each["requested"]) for each in found["usage"]] == [
        ("general", "cpu", 32_000),
        ("general", "memory", 76 * 2**30),
    ]
    assert all(0 < each["used"] < each["requested"] for each in found["usage"])
    first = found["reserved"][0]
    assert (first["workload"], first["resource"], first["requested"]) == ("Deployment/shop/frontend", "cpu", 12_000)
    for resource in ("cpu", "memory"):
        # All workloads are listed, so that what they use together is what pools do, give or take the rounding.
        pools, workloads = (
            sum(each["used"] for each in found[part] if each["resource"] == resource) for part in ("usage", "reserved")
        )
        assert abs(pools - workloads) / pools < 0.2
    wasted = [each["requested"] - each["used"] for each in found["reserved"] if each["resource"] == "memory"]
    assert wasted == sorted(wasted, reverse=True)


def test_a_snapshot_may_hold_what_its_pods_use(tmp_path: Path) -> None:
    snapshot = json.loads((HOME / "cluster.json").read_text())
    name = snapshot["objects"]["Pod"][0]["metadata"]["name"]
    used = {"name": "main", "usage": {"cpu": "250m", "memory": "512Mi"}}
    metrics = {"metadata": {"name": name, "namespace": "shop"}, "containers": [used]}
    snapshot["objects"]["PodMetrics"] = [metrics]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(snapshot))
    found = json.loads(run("snapshot", "info", str(path), "-o", "json").out)
    assert [each["used"] for each in found["usage"]] == [250, 512 * 2**20]
    ran = run("rightsize", "--snapshot", str(path), "-o", "json")
    assert [each["percentile"] for each in json.loads(ran.out)["workloads"]] == ["250m", "512Mi"]
    assert "usage" not in json.loads(run("snapshot", "info", str(HOME / "cluster.json"), "-o", "json").out)


def test_redaction_covers_what_pods_use(tmp_path: Path) -> None:
    snapshot = json.loads((HOME / "cluster.json").read_text())
    name = snapshot["objects"]["Pod"][0]["metadata"]["name"]
    used = {"name": "main", "usage": {"cpu": "250m", "memory": "512Mi"}}
    snapshot["objects"]["PodMetrics"] = [{"metadata": {"name": name, "namespace": "shop"}, "containers": [used]}]
    path, shared = tmp_path / "cluster.json", tmp_path / "shared.json"
    path.write_text(json.dumps(snapshot))
    names = str(tmp_path / "names.json")
    assert run("snapshot", "redact", str(path), "-o", str(shared), "--translation", names).code == 0
    kept = json.loads(shared.read_text())["objects"]
    (metrics,) = kept["PodMetrics"]
    assert name not in shared.read_text()
    assert metrics["metadata"]["name"] in {pod["metadata"]["name"] for pod in kept["Pod"]}
    assert metrics["containers"][0]["usage"] == used["usage"]
    answers = [json.loads(run("rightsize", "--snapshot", str(each), "-o", "json").out) for each in (path, shared)]
    assert answers[0]["after"]["requested"] == answers[1]["after"]["requested"]


@pytest.mark.parametrize(("used", "hot"), [("3900m", True), ("300m", False)])
def test_place_notes_a_node_that_is_hot_already(used: str, hot: bool, tmp_path: Path) -> None:
    snapshot = json.loads((HOME / "cluster.json").read_text())
    snapshot["objects"]["Node"] = snapshot["objects"]["Node"][:1]
    home = snapshot["objects"]["Node"][0]["metadata"]["name"]
    pod = next(pod for pod in snapshot["objects"]["Pod"] if pod["spec"]["nodeName"] == home)
    snapshot["objects"]["Pod"] = [pod]
    usage = {"name": "main", "usage": {"cpu": used, "memory": "1Mi"}}
    snapshot["objects"]["PodMetrics"] = [
        {"metadata": {"name": pod["metadata"]["name"], "namespace": "shop"}, "containers": [usage]}
    ]
    path, new = tmp_path / "cluster.json", tmp_path / "pod.json"
    path.write_text(json.dumps(snapshot))
    spec = {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "100m"}}}]}
    new.write_text(
        json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "namespace": "shop"}, "spec": spec})
    )
    ran = run("place", str(new), "--snapshot", str(path))
    said = f"node {home} takes 1 pod, and 99% of its cpu is used already, at which kube-scheduler does not look"
    assert (f"note: {said}" in ran.err) is hot
