"""The benchmarks run and count right; how fast they are is none of a test's business."""

from __future__ import annotations

import collections
import contextlib
import gzip
import io
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import kwhatif

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
WORKLOADS = ("basic", "mixed")


def run(*arguments: str) -> list[dict[str, Any]]:
    """Run a program in this process; what that starts runs in its own, and prints to where this one prints."""
    program, *rest = arguments
    script, printed = str(BENCHMARKS / program), io.StringIO()
    with (
        # kwhatif is found beside the benchmarks, installed or not.
        mock.patch.dict(os.environ, {"PYTHONPATH": str(BENCHMARKS.parent)}),
        mock.patch.object(sys, "argv", [script, *rest]),
        mock.patch.object(sys, "path", [str(BENCHMARKS), *sys.path]),
        contextlib.redirect_stdout(printed),
    ):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
    return [json.loads(line) for line in printed.getvalue().splitlines()]


def scenario(directory: Path, workload: str, nodes: int, pods: int) -> str:
    path = directory / f"{workload}.json"
    run("workloads.py", workload, str(nodes), str(pods), "-o", str(path))
    return str(path)


def test_all_pods_of_all_workloads_find_a_node(tmp_path: Path) -> None:
    for workload in (*WORKLOADS, "templates"):
        (line,) = run("engine.py", scenario(tmp_path, workload, 12, 10))
        assert line["name"] == f"{workload}-12-10"
        assert (line["nodes"], line["bound"], line["pods"], line["placed"], line["victims"]) == (12, 12, 10, 10, 0)
        # Ten pods take about a millisecond, and seconds are printed to a tenth of that.
        assert 10 / line["podsPerSecond"] == pytest.approx(line["seconds"], abs=0.00006)
        assert line["peakMemoryMiB"] > 1


@pytest.mark.long
def test_several_workloads_are_timed_in_processes_of_their_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run("engine.py", *(scenario(tmp_path, workload, 3, 2) for workload in ("basic", "spread")))
    names = [json.loads(line)["name"] for line in capfd.readouterr().out.splitlines()]
    assert names == ["basic-3-2", "spread-3-2"]


def test_a_recording_has_every_event_that_was_told() -> None:
    (line,) = run("record.py", "--events", "300", "--rate", "0")
    assert (line["told"], line["written"]) == (300, 300)


def test_pods_with_labels_of_their_own_find_the_same_nodes(tmp_path: Path) -> None:
    path = tmp_path / "named.json"
    run("workloads.py", "mixed", "6", "8", "--bound", "20", "--named", "-o", str(path))
    pods = json.loads(path.read_text())["pods"]
    assert {pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] for pod in pods} == {
        f"p{i}" for i in range(8)
    }
    (line,) = run("engine.py", str(path))
    assert (line["name"], line["bound"], line["placed"]) == ("mixed-6-8-named", 20, 8)


def test_preempt_evicts_as_many_as_it_needs(tmp_path: Path) -> None:
    path = scenario(tmp_path, "preempt", 5, 3)
    (line,) = run("engine.py", path, "--repeat", "2", "--all-nodes")
    assert (line["bound"], line["placed"]) == (50, 3)
    assert line["victims"] >= 3


def test_a_workload_is_the_same_every_time() -> None:
    assert run("workloads.py", "mixed", "3", "7") == run("workloads.py", "mixed", "3", "7")


@pytest.mark.long
@pytest.mark.parametrize("form", ["snapshot", "kubectl"])
def test_load_reads_back_what_it_wrote(form: str) -> None:
    (line,) = run("load.py", "--nodes", "20", "--pods", "100", "--format", form)
    assert (line["format"], line["nodes"], line["pods"]) == (form, 20, 100)


def test_questions_about_a_loaded_cluster_are_answered_again_and_again() -> None:
    (line,) = run("warm.py", "--nodes", "12", "--pods", "100", "--questions", "3")
    assert (line["questions"], line["placed"]) == (3, 10)
    assert line["medianMilliseconds"] <= line["p99Milliseconds"]


def test_pods_with_claims_find_nodes() -> None:
    figures = run("volumes.py", "--nodes", "6", "--pods", "8")
    assert [line["name"] for line in figures] == [f"volumes-{name}-6-8" for name in ("dynamic", "local", "exclusive")]
    assert all((line["pods"], line["placed"]) == (8, 8) for line in figures)


def test_pods_with_device_claims_find_nodes_and_claims_that_never_fit_end() -> None:
    figures = run("devices.py", "--nodes", "6", "--devices", "4", "--pods", "6")
    assert [line["placed"] for line in figures] == [6] * 4 + [False] * 4


def test_a_batch_of_deployments_comes_to_rest() -> None:
    (line,) = run("batch.py", "--nodes", "6", "--deployments", "2", "--pods", "8")
    assert (line["name"], line["nodes"], line["pods"], line["placed"]) == ("batch-6-2-8", 6, 8, 8)


@pytest.mark.long
def test_a_dump_of_a_made_up_cluster_is_complete_and_loads() -> None:
    (line,) = run("dump.py", "--nodes", "10", "--pods", "200")
    assert (line["nodes"], line["pods"]) == (10, 200)
    assert line["fileMB"] < line["servedMiB"]
    assert min(line["dumpSeconds"], line["loadSeconds"], line["dumpPeakMiB"]) > 0


@pytest.mark.long
def test_capacity_counts_what_fits() -> None:
    (line,) = run("capacity.py", "--nodes", "3", "--each", "4", "--repeat", "1")
    assert (line["nodes"], line["fits"]) == (3, 12)
    assert min(line["seconds"], line["userSeconds"]) > 0


@pytest.mark.long
def test_diff_schedules_all_pods_twice() -> None:
    (line,) = run("sweep.py", "--nodes", "6", "--pods", "20", "--policies", "20", "--workers", "1")
    assert (line["workers"], line["policies"], line["pods"], line["pending"]) == (1, 20, 20, 0)
    (line,) = run("diff.py", "--nodes", "6", "--pods", "60", "--repeat", "1")
    assert (line["nodes"], line["pods"], line["unplaced"]) == (6, 60, 0)
    assert line["moved"] > 0
    assert min(line["seconds"], line["userSeconds"]) > 0


@pytest.mark.long
def test_a_gate_of_a_made_up_change_asks_every_rule() -> None:
    admission = ("--definitions", "3", "--policies", "4", "--webhooks", "4")
    figures = run("gate.py", "--nodes", "6", "--pods", "40", "--manifests", "2", *admission)
    assert [line["name"] for line in figures] == ["default", "all", "any-zone", "any-node"]
    assert all((line["changes"], line["pods"]) == (2, 53) for line in figures)
    assert [line["checked"] for line in figures[2:]] == [3, 6]


def test_a_round_of_karpenter_places_all_pods() -> None:
    (line,) = run("karpenter.py", "--nodes", "6", "--pods", "40", "--types", "12")
    assert (line["nodes"], line["types"], line["without"]) == (6, 12, 0)
    assert line["onNodes"] + line["nodeClaims"] > 0


def test_groups_of_pods_are_bound_whatever_the_number_of_domains() -> None:
    lines = run("groups.py", "--nodes", "20", "--pods", "24", "--groups", "6", "--domains", "1", "4")
    assert [(line["domains"], line["bound"]) for line in lines] == [(0, 24), (1, 24), (4, 24)]


def test_pods_are_aligned_to_cells_and_gangs_are_bound() -> None:
    lines = run("scheduler_plugins.py", "--nodes", "20", "--pods", "24", "--templates", "6", "--gangs", "3")
    assert [line["bound"] for line in lines] == [24, 24, 24, 24, 60]


def test_an_autoscaler_adds_nodes_and_removes_nodes() -> None:
    up, down = run("autoscaler.py", "--nodes", "20", "--pods", "60", "--pending", "40", "--groups", "4")
    assert (up["pending"], up["triggered"] > 0, up["grown"] > 0) == (40, True, True)
    assert down["candidates"] == 20 == down["unneeded"] + down["unremovable"]


@pytest.mark.long
@pytest.mark.parametrize(("nodes", "pods"), [("30", "200"), ("150", "200")])
def test_a_day_that_our_own_scheduler_made_is_backtested_without_a_difference(nodes: str, pods: str) -> None:
    (line,) = run("backtest.py", "--nodes", nodes, "--pods", pods, "--deployments", "10")
    counted = {what: (line[what]["total"], line[what]["same"] + line[what]["tied"]) for what in ("bound", "refused")}
    placed = int(pods) * 9 // 10
    assert counted == {"bound": (placed, placed), "refused": (int(pods) - placed, int(pods) - placed)}


@pytest.mark.long
def test_failures_and_trials_are_counted() -> None:
    outage, chances = run("outage.py", "--nodes", "4", "--pods", "20", "--trials", "3", "--workers", "1")
    assert (outage["name"], outage["failures"]) == ("outage", 4)
    assert (chances["name"], chances["trials"]) == ("chances", 3)
    (zones,) = run("outage.py", "--zones", "--nodes", "6", "--each", "4", "--workers", "1")
    assert (zones["nodes"], zones["pods"], zones["failures"]) == (6, 24, 3)


def test_a_cluster_of_any_size_is_filled_pod_by_pod() -> None:
    (line,) = run("largest.py", "--nodes", "20", "--pods", "60", "--every", "25")
    assert (line["name"], line["placed"]) == ("templates-20-60", 60)
    assert line["slowest"] <= line["podsPerSecond"] * 1.01


@pytest.mark.long
def test_exponents_are_told_by_kind() -> None:
    (line,) = run("growth.py", "--size", "20", "--only", "ConfigMap", "--command", "expand")
    assert (line["name"], line["command"], line["objects"]) == ("v1 ConfigMap", "expand", 40)
    assert line["userSeconds"] > 0


def test_what_is_said_of_ties_is_held_against_recorded_days(tmp_path: Path) -> None:
    folder = BENCHMARKS.parent / "tests" / "conformance"
    ties = folder / "1.36-ties-plain.jsonl.gz"
    race = tmp_path / "race.jsonl.gz"
    with gzip.open(ties, "rt", encoding="utf-8") as lines, gzip.open(race, "wt", encoding="utf-8") as out:
        for scenario in map(json.loads, lines):
            placed = [each for each in scenario["expected"]["pods"] if "selected" in each["attempts"][0]]
            key, (attempt,) = placed[0]["pod"], placed[0]["attempts"]
            first = {"pod": key, "winners": attempt["winners"], "selected": attempt["selected"]}
            taken = {key: {attempt["selected"]: 10}}
            out.write(json.dumps({"name": scenario["name"], "race": taken, "first": first}) + "\n")
    chart = tmp_path / "chart.svg"
    rows = run("calibration.py", f"{ties}={race}", "--runs", "20", "--svg", str(chart))
    assert sum(row["claims"] for row in rows) >= 10
    # Where one worker's node was taken every time, what is said to be sure has happened.
    assert rows[-1]["happened"] == 1
    assert chart.read_text(encoding="utf-8").count("<circle") == len(rows)


@pytest.mark.long
def test_above_100_nodes_the_start_of_searches_is_unknown_at_first_and_then_followed(tmp_path: Path) -> None:
    with mock.patch.object(sys, "path", [str(BENCHMARKS), *sys.path]):
        day = runpy.run_path(str(BENCHMARKS / "backtest.py"))["day"]

    def claims_of(pods: int, nodes: int = 130) -> list[dict[str, Any]]:
        path = tmp_path / f"{nodes}-{pods}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in day(nodes, pods, 1, race=1)))
        return run("calibration.py", str(path), "--runs", "40")

    # Nothing is known of the first pod's search: it may come to many of the equal nodes, and to none for sure.
    (first,) = claims_of(1)
    assert first["from"] == 0
    assert first["claims"] > 20
    assert first["claims"] * first["said"] == pytest.approx(1, rel=0.01)
    # Each binding tells more, so later pods are said to come to few nodes.
    rows = claims_of(12)
    assert rows[-1]["from"] >= 0.7
    # Each binding counts: with all nodes that its pod may come to, of which it came to one.
    assert sum(row["claims"] * row["said"] for row in rows) == pytest.approx(12, rel=0.01)
    assert 10 < sum(row["claims"] * row["happened"] for row in rows) < 12.5
    # Up to 100 nodes it is known, and few nodes come first there.
    (*_, likeliest) = claims_of(1, nodes=20)
    assert likeliest["from"] >= 0.5


def test_a_tenth_has_the_shares_between_which_chance_leaves_what_happened() -> None:
    with mock.patch.object(sys, "path", [str(BENCHMARKS), *sys.path]):
        calibration = runpy.run_path(str(BENCHMARKS / "calibration.py"))
    cases = [calibration["Claims"]({0: 0.75, 1: 0.15, 2: 0.1}, {int(case >= 45): 1}) for case in range(53)]
    low, high = calibration["calibrate"](cases)
    # Of two claims of a case about the same tenth one happens at most: that is as one claim of 25%.
    assert low == {"from": 0.1, "said": 0.125, "claims": 106, "happened": 0.0755, "between": [0.066, 0.1887]}
    assert high == {"from": 0.7, "said": 0.75, "claims": 53, "happened": 0.8491, "between": [0.6226, 0.8679]}


@pytest.mark.long
def test_a_working_week_is_the_same_for_a_seed_and_its_updates_go_through(tmp_path: Path) -> None:
    week, same, other = (tmp_path / name for name in ("week.json", "same.json", "other.json"))
    run("working_week.py", "--manifests", str(tmp_path / "git"), "-o", str(week))
    run("working_week.py", "-o", str(same))
    run("working_week.py", "--seed", "1", "-o", str(other))
    assert week.read_bytes() == same.read_bytes() != other.read_bytes()
    kinds = collections.Counter(item["kind"] for item in json.loads(week.read_text())["items"])
    assert (kinds["Node"], kinds["Pod"], kinds["PersistentVolumeClaim"]) == (60, 894, 29)

    manifest = tmp_path / "git/data/statefulset-kafka.json"
    newer = manifest.read_text().replace("kafka:1.5.0", "kafka:1.6.0")
    assert newer != manifest.read_text()
    manifest.write_text(newer)
    placed = kwhatif.place(manifest, snapshot=week)
    assert (placed.outcome.verdict, [rollout.unfinished for rollout in placed.rollouts]) == (
        "Fits: 5 of 5 pods placed",
        [""],
    )
