"""``--kubernetes-version`` and ``--feature-gates``, and what files say of the Kubernetes they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.versions import DEFAULT_MINOR
from tests.cli.running import CLUSTER, TESTS, refused, run

PODS = "data/pods.yaml"
TAINT = {"1.33": "node(s) had untolerated taint {", "1.34": "node(s) had untolerated taint(s)"}


def snapshot(directory: Path, version: str = "v1.36.2", gates: dict[str, bool] | None = None) -> str:
    """A cluster of that version in which no node tolerates a pod."""
    made: dict[str, Any] = json.loads((TESTS / CLUSTER).read_text())
    made["metadata"]["kubernetesVersion"] = version
    for node in made["objects"]["Node"]:
        node.setdefault("spec", {})["taints"] = [{"key": "dedicated", "value": "a", "effect": "NoSchedule"}]
    if gates is not None:
        made["metadata"]["scheduler"] = {"featureGates": gates}
    path = directory / "cluster.json"
    path.write_text(json.dumps(made))
    return str(path)


def answer(*words: str) -> Any:
    return json.loads(run(*words, "-o", "json").out)


@pytest.mark.parametrize("minor", TAINT)
@pytest.mark.parametrize("command", ["place", "explain"])
def test_rules_are_those_that_are_asked_for(tmp_path: Path, command: str, minor: str) -> None:
    ran = run(command, PODS, "--snapshot", snapshot(tmp_path), "--kubernetes-version", f"v{minor}.7+k3s1")
    assert TAINT[minor] in ran.out


@pytest.mark.parametrize("minor", TAINT)
def test_else_those_of_the_snapshot(tmp_path: Path, minor: str) -> None:
    file = snapshot(tmp_path, f"v{minor}.2")
    assert TAINT[minor] in run("place", PODS, "--snapshot", file).out
    fidelity = answer("place", PODS, "--snapshot", file)["fidelity"]
    assert fidelity["rules"] == minor
    assert not [gap for gap in fidelity["gaps"] if "the rules are those of" in gap["what"]]


def test_rules_of_another_minor_than_the_clusters_are_a_gap(tmp_path: Path) -> None:
    words = "place", PODS, "--snapshot", snapshot(tmp_path, "v1.30.1"), "--kubernetes-version", "1.34"
    gaps = [gap["what"] for gap in answer(*words)["fidelity"]["gaps"]]
    assert "the cluster runs Kubernetes v1.30.1, the rules are those of 1.34" in gaps
    assert run(*words, "--strict").code == 2


@pytest.mark.parametrize(("version", "rules"), [("v1.22.4", "1.29"), ("v1.99.0", DEFAULT_MINOR)])
def test_a_cluster_that_is_too_old_or_new_gets_the_nearest_rules(tmp_path: Path, version: str, rules: str) -> None:
    fidelity = answer("place", PODS, "--snapshot", snapshot(tmp_path, version))["fidelity"]
    assert fidelity["rules"] == rules
    assert fidelity["gaps"][0]["what"] == f"the cluster runs Kubernetes {version}, the rules are those of {rules}"


def test_a_version_that_is_not_supported_gives_way_to_the_nearest() -> None:
    ran = run("place", PODS, "--snapshot", CLUSTER, "--kubernetes-version", "1.20")
    assert (
        "warning: Kubernetes 1.20 is not supported; using the rules of 1.29, the nearest supported version" in ran.notes
    )
    assert "Rules of Kubernetes 1.29;" in ran.out


def test_gates_change_rules_and_the_answer_says_so() -> None:
    ran = run(
        *("place", PODS, "--snapshot", CLUSTER, "--kubernetes-version", "1.31"),
        *("--feature-gates", "SidecarContainers=false,MinDomainsInPodTopologySpread=true"),
        *("--feature-gates", "StorageVersionMigrator=true"),
    )
    assert ran.code in (0, 1)
    assert "Rules of Kubernetes 1.31 with " in ran.out
    assert "SidecarContainers=false" in ran.out
    (note,) = [line for line in ran.notes if "StorageVersionMigrator" in line]
    assert note == "note: feature gate StorageVersionMigrator: no rule here depends on it, so it has no effect"


def test_gates_set_in_the_cluster_hold_unless_told_otherwise(tmp_path: Path) -> None:
    file = snapshot(tmp_path, "v1.31.0", {"SidecarContainers": False, "PodSchedulingReadiness": False, "Own": True})
    ran = run("place", PODS, "--snapshot", file)
    assert "Rules of Kubernetes 1.31 with SidecarContainers=false;" in ran.out
    assert [line for line in ran.notes if "feature gate" in line] == [
        "note: feature gate PodSchedulingReadiness=false of the cluster "
        "cannot be set in Kubernetes 1.31, so it is ignored",
        "note: feature gate Own=true of the cluster cannot be set in Kubernetes 1.31, so it is ignored",
    ]
    ran = run("place", PODS, "--snapshot", file, "--feature-gates", "SidecarContainers=true")
    assert "Rules of Kubernetes 1.31" in ran.out
    assert "SidecarContainers=false" not in ran.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--kubernetes-version", "new"], "Kubernetes version 'new': expected one such as 1.34, v1.34.2 or"),
        (["--feature-gates", "Nope=true"], "unrecognized feature gate: Nope"),
        (["--feature-gates", "SidecarContainers"], "SidecarContainers"),
        (["--feature-gates", "SidecarContainers=maybe"], "SidecarContainers"),
        (["--feature-gates", "SidecarContainers=false"], "SidecarContainers"),
    ],
)
@pytest.mark.parametrize("command", ["place", "explain", "capacity"])
def test_what_kube_scheduler_would_not_start_with_is_one_line(command: str, words: list[str], problem: str) -> None:
    assert problem in refused(command, PODS, "--snapshot", CLUSTER, *words)


@pytest.mark.parametrize(
    ("words", "minor"),
    [([], "1.33"), (["--kubernetes-version", "1.34"], "1.34")],
    ids=["its name says the minor", "unless told otherwise"],
)
def test_a_recording_is_replayed_under_the_rules_it_was_made_with(words: list[str], minor: str) -> None:
    ran = run("conformance", "conformance/1.33-selected.jsonl.gz", *words, "--show", "0")
    assert (ran.code == 0) == (minor == "1.33")
