"""Pods explained in the state in which a run tried them, and the commands that runs print for it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kwhatif.framework.status import fit_message
from kwhatif.results.amounts import format_count
from tests.cli.running import CLUSTER, TESTS, refused, run

SAMPLES = str(Path("..") / "samples")
SHOP = f"{SAMPLES}/cluster"
GATE = ("--base", f"{SAMPLES}/gate/base", "--snapshot", f"{SAMPLES}/gate/snapshot.json")

RUNS = [
    *(
        f"place {file.relative_to(TESTS.parent)} --snapshot samples/cluster --with-pending".replace("samples", SAMPLES)
        for file in sorted((TESTS.parent / "samples" / "manifests").glob("*.yaml"))
    ),
    f"place {SAMPLES}/manifests/too-big.yaml --snapshot {SHOP} --with-pending --remove-node general-b-1",
    f"place {SAMPLES}/manifests/too-big.yaml --snapshot {SHOP} --timeline",
    f"place {SAMPLES}/gpu/too-much.yaml {SAMPLES}/gpu/extended.yaml --snapshot {SAMPLES}/gpu/cluster.json",
    f"place {SAMPLES}/autoscaled/training.yaml --snapshot {SAMPLES}/autoscaled/cluster.yaml --with-pending",
    f"place {SAMPLES}/karpenter/web.yaml --snapshot {SAMPLES}/karpenter/cluster.yaml",
    "place data/update-stuck.yaml --snapshot data/two-nodes.yaml",
    f"gate {SAMPLES}/gate/head --config {SAMPLES}/gate/rules-fail.yaml {' '.join(GATE)}",
    "gate data/update-stuck.yaml --snapshot data/two-nodes.yaml --rule score-margin=warn",
]


@pytest.mark.long
@pytest.mark.parametrize("line", RUNS)
def test_each_pod_that_a_run_tells_of_is_explained_with_the_verdicts_of_that_run(line: str) -> None:
    words = line.split()
    told = json.loads(run(*words, "-o", "json").out)
    shown = run(*words, "-o", "table", "--all") if words[0] == "place" else run(*words, "-o", "table")
    lines = [found.strip() for found in shown.lines]
    commands = [found for found in lines if found.startswith("kwhatif ") and " --explain " in found]
    placements = {each["pod"]: each for each in [*told["placements"], *told.get("replacements", [])]}
    wanted = {pod for pod, each in placements.items() if each["outcome"] not in ("placed", "skipped")}
    if words[0] == "gate":
        wanted = {finding["pod"] for finding in told["findings"] if finding["pod"]}
    assert {shlex.split(command)[-1] for command in commands} == wanted
    for command in commands:
        program, *given = shlex.split(command)
        assert program == "kwhatif"
        ran = run(*given, "-o", "json")
        assert ran.code in (0, 1), ran.err
        (report,) = json.loads(ran.out)["pods"]
        _is_the_same(report, placements[report["pod"]])


def _is_the_same(report: dict[str, Any], placement: dict[str, Any]) -> None:
    """The explanation is of what the run came to, and each node's verdict adds up to the message of the run."""
    if placement["outcome"] == "preempted":
        # It is asked why it finds no other node.
        assert report["placement"]["outcome"] == "unschedulable"
        return
    same = ("outcome", "node", "message", "score", "feasible", "victims")
    assert {key: report["placement"][key] for key in same} == {key: placement[key] for key in same}
    rejected = [node for node in report["nodes"] if not node["feasible"]]
    if placement["outcome"] == "unschedulable" and not report["refusal"]:
        counts = Counter(each["reason"] for node in rejected for each in node["blockers"] if each["reported"])
        assert placement["message"].startswith(fit_message(len(report["nodes"]), counts).rstrip("."))
    elif placement["outcome"] == "placed" and not placement["victims"]:
        assert [node["node"] for node in report["nodes"] if node.get("chosen")] == [placement["node"]]
        assert sum(node["feasible"] for node in report["nodes"]) == placement["feasible"]


def explained(*words: str) -> dict[str, Any]:
    ran = run(*words, "-o", "json")
    assert ran.code in (0, 1), ran.err
    return json.loads(ran.out)  # type: ignore[no-any-return]


CHECKOUT = f"{SAMPLES}/manifests/checkout.yaml"


@pytest.mark.long
def test_a_pod_is_explained_after_its_siblings() -> None:
    words = ("place", CHECKOUT, "--snapshot", SHOP)
    placements = json.loads(run(*words, "-o", "json").out)["placements"]
    for number, placement in enumerate(placements):
        (report,) = explained(*words, "--explain", placement["pod"])["pods"]
        tried = f"as it was tried, after {format_count(number, 'pod')} found a node"
        assert (report["state"], report["placement"]) == (tried if number else "", placement)
    first, *others = (each["pod"] for each in placements)
    (both,) = explained(*words, "--explain", "deploy/checkout")["pods"]
    assert (both["pod"], [each["pod"] for each in both["alike"]]) == (first, others)


@pytest.mark.long
def test_after_manifests_is_the_same_as_with_the_cluster_that_they_lead_to(tmp_path: Path) -> None:
    later, urgent = str(tmp_path / "later.json"), f"{SAMPLES}/manifests/urgent.yaml"
    run("place", CHECKOUT, urgent, "--snapshot", SHOP, "--write-snapshot", later)
    after = explained("explain", "reindex-3-2f9gk", "--after", CHECKOUT, "--after", urgent, "--snapshot", SHOP)
    written = explained("explain", "reindex-3-2f9gk", "--snapshot", later)
    for result in (after, written):
        result["pods"][0]["placement"].pop("origin")
    assert after["pods"][0].pop("state").startswith("after ")
    assert written["pods"][0].pop("state") == ""
    assert after["pods"] == written["pods"]


@pytest.mark.long
def test_a_pod_of_the_manifests_after_which_it_comes_is_explained_as_it_was_tried() -> None:
    placed = explained("place", CHECKOUT, "--snapshot", SHOP, "--explain", "deployment/checkout")
    assert explained("explain", "deployment/checkout", "--after", CHECKOUT, "--snapshot", SHOP) == placed


@pytest.mark.parametrize(
    ("word", "pods"),
    {
        "deployment/web": 3,
        "deploy/shop/web": 3,
        "Deployments.apps/web": 3,
        "job/reindex-3": 1,
    }.items(),
)
def test_a_workload_means_its_pods(word: str, pods: int) -> None:
    found = explained("explain", word, "--snapshot", SHOP)["pods"]
    assert sum(1 + len(each["alike"]) for each in found) == pods


@pytest.mark.long
def test_words_that_mean_nothing_are_errors_with_a_hint() -> None:
    def told(word: str) -> str:
        return refused("explain", word, "--snapshot", SHOP)

    assert told("deply/web") == "deply/web is neither a file nor a pod of the snapshot; did you mean deploy/web?"
    assert told("deploy/webb") == "deploy/webb has no pods in the snapshot; did you mean deploy/web?"
    assert told("sts/web") == "sts/web has no pods in the snapshot; did you mean deployment/web?"
    message = refused("place", "data/small.yaml", "--snapshot", CLUSTER, "--explain", "smal")
    assert message == "smal is neither a file nor a pod of the snapshot; did you mean small?"
    message = refused("place", "data/small.yaml", "--snapshot", CLUSTER, "--explain", "small", "-o", "name")
    assert message == "-o name is not for --explain: text, table, wide, json, yaml and markdown are"
