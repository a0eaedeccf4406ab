"""What a snapshot lacks that an answer stands on: said, and under ``--strict`` no answer at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.versions import DEFAULT_MINOR
from tests.cli.running import refused, run

WEB: Any = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "web", "resources": {"requests": {"cpu": "100m"}}}]},
        },
    },
}
OWNED = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4c7", "uid": "1", "controller": True}
PLAIN = {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}}
RUNNING: Any = PLAIN | {
    "metadata": {
        "name": "web-5d4c7-1",
        "namespace": "shop",
        "labels": {"app": "web", "pod-template-hash": "5d4c7"},
        "ownerReferences": [OWNED],
    },
    "spec": {"nodeName": "n1", "containers": [{"name": "main"}]},
}
SYSTEM: Any = PLAIN | {
    "metadata": {"name": "dns", "namespace": "kube-system"},
    "spec": {"nodeName": "n1", "containers": [{"name": "main"}]},
}


def node(name: str, kubelet: str = "") -> Any:
    status: Any = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    if kubelet:
        status["nodeInfo"] = {"kubeletVersion": kubelet}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def files(folder: Path, *objects: Any) -> tuple[str, str]:
    """The manifest and the cluster."""
    for name, value in (("web", WEB), ("cluster", {"apiVersion": "v1", "kind": "List", "items": list(objects)})):
        (folder / f"{name}.json").write_text(json.dumps(value))
    return str(folder / "web.json"), str(folder / "cluster.json")


ABOUT_PODS = ("place", "explain", "capacity", "gate")


@pytest.mark.parametrize("command", ABOUT_PODS)
def test_without_any_pods_nothing_is_known_of_what_is_free(command: str, tmp_path: Path) -> None:
    web, cluster = files(tmp_path, node("n1"), node("n2"))
    assert "expected the pods that run on the nodes, found no list of them" in refused(
        command, web, "--snapshot", cluster
    )
    words = (command, web, "--snapshot", cluster, "--assume-empty")
    brief, ran = run(*words), run(*words, "--gaps")
    assert "the snapshot holds no Pod" in brief.out
    if command != "gate":
        # Its rule of that name has a finding besides.
        assert brief.out.count("the snapshot holds no Pod") == 1
    assert "the snapshot holds no Pod: what other pods take up counts as free" in " ".join(ran.out.split())
    ran = run(*words, "--strict")
    assert (ran.code, ran.out) == (2, "")
    assert "--strict: the snapshot holds no Pod: touches shop/web-" in ran.err


@pytest.mark.parametrize("command", ABOUT_PODS)
def test_so_it_is_with_the_pods_of_one_namespace(command: str, tmp_path: Path) -> None:
    web, cluster = files(tmp_path, node("n1"), {**RUNNING, "metadata": {"name": "other", "namespace": "shop"}})
    ran = run(command, web, "--snapshot", cluster, "--strict")
    assert ran.code == 2
    assert "--strict: Pod could not be read: the list holds those of namespace shop alone: touches" in ran.err


def test_an_empty_list_of_pods_is_an_empty_cluster(tmp_path: Path) -> None:
    web, cluster = files(tmp_path, node("n1"))
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "PodList", "items": []}))
    ran = run("capacity", web, "--snapshot", cluster, "--snapshot", str(tmp_path / "pods.json"), "-o", "json")
    assert not any("Pod" in gap["what"].split() for gap in json.loads(ran.out)["fidelity"]["gaps"])


def test_without_budgets_a_drain_says_which_evictions_they_might_forbid(tmp_path: Path) -> None:
    _, cluster = files(tmp_path, node("n1"), node("n2"), RUNNING, SYSTEM)
    brief = run("drain", "n1", "--snapshot", cluster, "--force")
    assert brief.lines[0].endswith("; the snapshot holds no PodDisruptionBudget")
    ran = run("drain", "n1", "--snapshot", cluster, "--force", "--gaps")
    what = "the snapshot holds no PodDisruptionBudget: evictions that it might forbid are allowed"
    (told,) = (line for line in ran.out.splitlines() if what in line)
    assert told.endswith("[kube-system/dns, shop/web-5d4c7-1]")
    assert run("drain", "n1", "--snapshot", cluster, "--force", "--strict").code == 2


@pytest.mark.parametrize("command", [*ABOUT_PODS, "expand"])
def test_a_workload_that_is_missing_while_its_pods_are_there_is_said(command: str, tmp_path: Path) -> None:
    web, cluster = files(tmp_path, node("n1"), RUNNING, SYSTEM)
    # It touches none of the pods that capacity counts, which come on top of those.
    ran = run(command, web, "--snapshot", cluster, *(["--gaps"] if command == "capacity" else []))
    assert "Deployment shop/web is not in the snapshot, though 1 pod of it is" in ran.out + ran.err
    known = {**WEB, "metadata": {**WEB["metadata"], "uid": "7"}}
    web, cluster = files(tmp_path, node("n1"), RUNNING, SYSTEM, known)
    ran = run(command, web, "--snapshot", cluster)
    assert "is not in the snapshot" not in ran.out + ran.err


KUBELETS: dict[str, tuple[list[str], str, str]] = {
    "the kubelets tell the version": (
        ["v1.33.4"],
        "1.33",
        "taken to be 1.33, as its nodes' kubelets are (v1.33.4)",
    ),
    "of several minors the newest, which no kubelet may be ahead of": (
        ["v1.33.4", "v1.34.1-eks-abc", "v1.33.9"],
        "1.34",
        "taken to be 1.34, as its nodes' kubelets are (v1.34.1-eks-abc, the newest of 1.33, 1.34)",
    ),
    "one that is not supported gives way to the nearest": (
        ["v1.27.0"],
        "1.29",
        "Kubernetes 1.27 is not supported; using the rules of 1.29, the nearest supported version",
    ),
    "a kubelet that tells no version tells nothing": (["fake"], DEFAULT_MINOR, ""),
}


@pytest.mark.parametrize(("kubelets", "rules", "said"), KUBELETS.values(), ids=list(KUBELETS))
def test_the_version_is_guessed_by_the_kubelets(kubelets: list[str], rules: str, said: str, tmp_path: Path) -> None:
    web, cluster = files(tmp_path, *(node(f"n{number}", version) for number, version in enumerate(kubelets)))
    words = ("place", web, "--snapshot", cluster, "--assume-empty")
    ran = run(*words, "-o", "json")
    assert json.loads(ran.out)["fidelity"]["rules"] == rules
    assert said in ran.err
    assert ("which Kubernetes" in ran.err) == bool(said)
    ran = run(*words, "--kubernetes-version", "1.35")
    assert "which Kubernetes" not in ran.err
    assert "guessed from" not in ran.out


NOISE: dict[str, tuple[list[str], bool, bool]] = {
    "a table says the guess at its foot": ([], True, False),
    "Markdown does, too": (["-o", "markdown"], True, False),
    "names have no foot, so a warning says it": (["-o", "name"], False, True),
    "programs read a field, and people a warning": (["-o", "json"], False, True),
}


@pytest.mark.parametrize(("words", "at_foot", "warned"), NOISE.values(), ids=list(NOISE))
def test_a_run_says_once_what_it_stands_on(words: list[str], at_foot: bool, warned: bool, tmp_path: Path) -> None:
    web, cluster = files(tmp_path, node("n1", "v1.34.1"))
    ran = run("place", web, "--snapshot", cluster, "--assume-empty", *words)
    assert ("guessed from kubelets v1.34.1" in ran.out) == at_foot
    assert ("which Kubernetes" in ran.err) == warned
    # A ReplicaSet that a controller makes is a step of the log, and a gap that touches these pods has a name.
    assert "ReplicaSet shop/" not in ran.err
    assert "the snapshot holds no " in (ran.out + ran.err).replace("The snap", "the snap")


def test_that_a_workload_is_taken_for_new_stands_in_the_verdict(tmp_path: Path) -> None:
    web, cluster = files(tmp_path, node("n1"), RUNNING, SYSTEM)
    first = run("place", web, "--snapshot", cluster).out.splitlines()[0]
    assert first.endswith("; Deployment shop/web is not in the snapshot, though 1 pod of it is: it is taken to be new")
