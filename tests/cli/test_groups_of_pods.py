"""Groups of pods on the command line: what the samples promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run

SAMPLES = Path(__file__).parents[2] / "samples" / "training"
GANGS = "GenericWorkload=true,GangScheduling=true"
RACKS = f"{GANGS},TopologyAwareWorkloadScheduling=true"
PREEMPTION = f"{GANGS},WorkloadAwarePreemption=true"


def place(name: str, gates: str, *words: str) -> list[str]:
    """The lines of the report; runs of blanks count as one."""
    cluster, manifest = str(SAMPLES / "cluster.yaml"), str(SAMPLES / f"{name}.yaml")
    ran = run("place", manifest, "--snapshot", cluster, "--feature-gates", gates, *words)
    return [" ".join(line.split()) for line in ran.out.splitlines()]


@pytest.mark.parametrize(
    ("name", "gates", "line"),
    [
        ("tune", RACKS, "scheduled gang ml/tune: 4 of 4 find a node, needs 4: 4 run rack-1"),
        ("train", RACKS, "scheduled gang ml/train: 8 of 8 find a node, needs 8: 8 run rack-2"),
        (
            "urgent",
            PREEMPTION,
            "scheduled gang ml/urgent: 19 of 19 find a node, needs 19: 19 run - "
            "evicts ml/batch-0, ml/batch-1, ml/batch-2",
        ),
    ],
)
def test_a_group_is_a_row(name: str, gates: str, line: str) -> None:
    assert line in place(name, gates)


def test_a_group_that_does_not_fit_tells_what_it_lacks_in_each_domain() -> None:
    lines = place("pretrain", RACKS)
    assert any(
        line.startswith("unschedulable gang ml/pretrain: 8 of 12 find a node, needs 12: none run") for line in lines
    )
    assert any("ml/pretrain rack-2 4 8/12 4 nvidia.com/gpu short for 4 of 12 members" in line for line in lines)


def test_without_the_gate_every_pod_is_on_its_own() -> None:
    cluster, manifest = str(SAMPLES / "cluster.yaml"), str(SAMPLES / "pretrain.yaml")
    ran = run("place", manifest, "--snapshot", cluster, "-o", "json")
    assert '"groups"' not in ran.out
    assert "Kubernetes 1.36 has no PodGroup of scheduling.k8s.io/v1alpha2" in ran.out


def test_a_gang_that_is_not_complete_waits() -> None:
    cluster, text = str(SAMPLES / "cluster.yaml"), (SAMPLES / "tune.yaml").read_text()
    part = "\n---\n".join(text.split("\n---\n")[:3])
    ran = run("place", "-", "--snapshot", cluster, "--feature-gates", RACKS, stdin=part)
    assert "gang ml/tune: 2 of 4 pods are there: waits for the others" in ran.out


def explain(*words: str) -> list[str]:
    ran = run("explain", *words, "--snapshot", str(SAMPLES / "cluster.yaml"), "--feature-gates", RACKS)
    return [" ".join(line.split()) for line in ran.out.splitlines()]


def test_a_word_for_a_group_that_runs_asks_where_it_would_go_today() -> None:
    lines = explain("podgroup/batch", "-n", "ml")
    assert "Runs in: rack-1-node-0, rack-1-node-1, rack-1-node-2" in lines
    assert "Today: gang ml/batch: 3 of 3 find a node, needs 3: 3 run" in lines


def test_a_single_member_is_explained_by_itself() -> None:
    assert not any(line.startswith("GROUP ") for line in explain("ml/batch-0"))


def test_a_run_explains_the_group_that_it_placed() -> None:
    cluster, manifest = str(SAMPLES / "cluster.yaml"), str(SAMPLES / "pretrain.yaml")
    ran = run(
        "place",
        manifest,
        "--snapshot",
        cluster,
        "--feature-gates",
        RACKS,
        "--explain",
        "podgroup/pretrain",
        "-o",
        "json",
    )
    assert '"topologyKey": "topology.example.com/rack"' in ran.out
    assert "minCount 8 in place of 12 would run today" in ran.out


def test_the_page_of_an_explanation_has_the_groups_and_their_domains(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    explain(str(SAMPLES / "pretrain.yaml"), "--report", f"html={page}")
    text = page.read_text()
    assert "Domains of ml/pretrain" in text
    assert "8 of 12 fit" in text


def test_a_job_of_the_samples_becomes_a_gang_where_the_gate_is_on() -> None:
    lines = place("job", f"{GANGS},WorkloadWithJob=true")
    assert any("gang ml/index-" in line and "8 of 10 find a node, needs 10: none run" in line for line in lines)
    assert not any("gang ml/" in line for line in place("job", GANGS))
