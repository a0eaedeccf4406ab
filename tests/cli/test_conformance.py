from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kwhatif.commands.conformance.compare_scheduler import (
    Recorded,
    RecordedAttempt,
    RecordedPod,
    RecordedStatus,
    scheduler_differences,
)
from tests.cli.running import TESTS, refused, run

SCENARIOS = "data/scenarios.jsonl"


def scenarios() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TESTS / SCENARIOS).read_text().splitlines()]


def answers(*words: str, stdin: bytes = b"") -> list[Any]:
    return [json.loads(line) for line in answer_text(*words, stdin=stdin).splitlines()]


def answer_text(*words: str, stdin: bytes = b"") -> str:
    ran = run("conformance", *words, "--answers", "/dev/stdout", stdin=stdin)
    return ran.out


# --- what is printed


def test_exit_code_1_means_that_something_differs() -> None:
    assert run("conformance", SCENARIOS).code == 1
    assert run("conformance", "data/one-scenario.json").code == 0
    assert run("conformance", "data/one-scenario.json", SCENARIOS).code == 1


def test_show_says_how_many_differences_are_printed() -> None:
    counts = []
    for number in ("0", "1", "2", "9"):
        ran = run("conformance", SCENARIOS, "--show", number, "-o", "json")
        (file,) = json.loads(ran.out)["files"]
        counts.append(len(file["differences"]))
        assert file["differing"] == {"nodeOrder": 1, "rejected": 1, "scores": 1, "selected": 1}
    assert counts == [0, 1, 2, 2]


def test_a_file_that_expects_nothing_agrees(tmp_path: Path) -> None:
    silent = tmp_path / "silent.jsonl"
    silent.write_text(json.dumps(scenarios()[3]) + "\n")
    ran = run("conformance", str(silent))
    assert ran.code == 0
    assert ran.lines[3].split() == [str(silent), "1", "(0", "compared)", "-", "-", "1", "<none>"]


# --- what is read


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_files_may_be_packed_and_directories_name_all_their_files(suffix: str, tmp_path: Path) -> None:
    data = (TESTS / SCENARIOS).read_bytes()
    packed = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}.get(Path(suffix).suffix, bytes)(data)
    (tmp_path / f"a{suffix}").write_bytes(packed)
    (tmp_path / "notes.txt").write_text("no scenario")
    by_file, by_directory = (run("conformance", str(path)) for path in (tmp_path / f"a{suffix}", tmp_path))
    assert by_file.out == by_directory.out
    assert " 4 (3 compared) " in by_file.out


def test_standard_input_empty_lines_and_indented_objects_are_fine() -> None:
    (line, *_) = (TESTS / SCENARIOS).read_text().splitlines()
    spaced = f"\n{line}\n\n  {line}\n".encode()
    assert " 2 " in run("conformance", "-", stdin=spaced).lines[3]
    indented = "\n".join(json.dumps(scenario, indent=2) for scenario in scenarios()[:2]).encode()
    assert run("conformance", "-", stdin=indented).lines[3].split()[2:5] == ["2", "1", "50.0%"], "two of them"


def test_what_an_autoscaler_is_expected_to_do_has_the_form_of_an_answer() -> None:
    scenario = {"name": "b", "now": "2026-03-01T12:00:00Z", "objects": [], "pods": [], "nodeGroups": []}
    error = refused("conformance", "-", stdin=json.dumps({**scenario, "expected": {"templates": ["a"]}}))
    assert "standard input: $.expected: scenario b: expected the form of an answer" in error


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        ("", "standard input", "holds no scenarios"),
        (
            '{"name": 1, "objects": [], "pods": []}\n',
            "standard input line 1: $.name",
            "expected a string, found the number 1",
        ),
        ('{"name": "", "objects": [], "pods": []}', "standard input line 1: $.name", "expected a name, found none"),
        ('{GOOD}\n{"name": "b"\n', "standard input line 2: column", "not valid JSON"),
        ("{GOOD}\n\nnonsense}\n", "standard input line 3: column", "not valid JSON"),
        ('{GOOD}\n{"name": "b", "objects": [], "pods": []\n}', "standard input line 2", "not valid JSON"),
        ('{\n "name": "b",\n "objects": ]\n}', "standard input: line 3", "not valid JSON"),
        ('{"name": "b", "pods": []}', "standard input line 1: $", "objects"),
        ('{"name": "b", "objects": {}, "pods": []}', "line 1: $.objects", "expected a list"),
        ('{"name": "b", "objects": [7], "pods": []}', "line 1 (b): $.objects[0]", "found the number 7"),
        ('{"name": "b", "objects": [{"kind": "Pod"}], "pods": []}', "$.objects[0].apiVersion", "expected a string"),
        (
            '{"name": "b", "objects": [], "pods": [{"spec": {}}]}',
            "line 1 (b): $.pods[0].metadata.name",
            "expected a name",
        ),
        ('{"name": "b", "objects": [], "pods": [{"spec": 1}]}', "line 1 (b): $.pods[0].spec", "found the number 1"),
        ('{"name": "b", "objects": [], "pods": [], "config": []}', "line 1: $.config", "found"),
        ('{"name": "b", "objects": [], "pods": [], "config": {"kind": "X"}}', "line 1 (b)", ""),
        ('{"name": "b", "objects": [], "pods": [], "expected": {"pods": [{}]}}', "line 1: $.expected.pods[0]", "pod"),
        ('{"name": "b", "objects": [], "pods": [], "expected": {"pods": {}}}', "line 1: $.expected.pods", "list"),
        ('{"name": "b", "objects": [], "pods": [], "policy": {}}', "line 1 (b)", "Object 'Kind' is missing"),
        (
            '{"name": "b", "objects": [], "pods": [{"metadata": {"name": "p"}, "spec": {"schedulerName": "x"}}]}',
            "line 1 (b)",
            "schedulerName x is none of the configuration's profiles",
        ),
        (
            '{"name": "b", "objects": [], "pods": [{"metadata": {"name": "p"}, "spec": {"affinity": {"podAffinity": '
            '{"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a", "labelSelector": '
            '{"matchExpressions": [{"key": "a", "operator": "Sounds"}]}}]}}}}]}',
            "line 1 (b)",
            "Sounds",
        ),
        ('{"name": "b", "objects": ' + "[" * 100_000 + "]" * 100_000 + ', "pods": []}', "line 1", "deep"),
    ],
)
def test_what_cannot_be_read_is_told_with_file_and_line(text: str, where: str, problem: str) -> None:
    text = text.replace("{GOOD}", json.dumps(scenarios()[0]))
    error = refused("conformance", "-", stdin=text)
    assert error.startswith("standard input")
    assert where in error
    assert problem in error


def test_files_that_are_not_there_are_errors(tmp_path: Path) -> None:
    assert refused("conformance", "nowhere.jsonl") == "nowhere.jsonl: no such file or directory"
    assert refused("conformance", str(tmp_path)) == f"{tmp_path}: this directory has no .jsonl or .json files"


# --- answers


def test_answers_are_written_whether_or_not_something_is_expected(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    run("conformance", SCENARIOS, "--answers", str(out))
    found = [json.loads(line) for line in out.read_text().splitlines()]
    wanted = scenarios()
    assert [answer["name"] for answer in found] == [scenario["name"] for scenario in wanted]
    assert {**wanted[0]["expected"], "name": "agrees"} == found[0]
    assert found[3]["pods"][0]["attempts"][0]["selected"]
    assert list(tmp_path.iterdir()) == [out]


def test_answers_can_be_packed_and_are_the_same_every_time(tmp_path: Path) -> None:
    plain, again, gz, zst = (tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.jsonl.gz", "d.jsonl.zst"))
    for path in (plain, again, gz, zst):
        run("conformance", SCENARIOS, "--answers", str(path))
    assert plain.read_bytes() == again.read_bytes() == gzip.decompress(gz.read_bytes())
    assert zstandard.ZstdDecompressor().decompressobj().decompress(zst.read_bytes()) == plain.read_bytes()


def test_after_an_error_there_are_no_answers_and_old_ones_stay(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(scenarios()[0]) + "\n{}\n")
    out = tmp_path / "answers.jsonl"
    refused("conformance", str(bad), "--answers", str(out))
    assert not out.exists()
    out.write_text("old")
    refused("conformance", str(bad), "--answers", str(out))
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.jsonl", "bad.jsonl"]


def test_answers_that_cannot_be_written_are_an_error(tmp_path: Path) -> None:
    where = tmp_path / "no" / "answers.jsonl"
    assert "cannot be written" in refused("conformance", SCENARIOS, "--answers", str(where))
    assert "'-' is no file" in refused("conformance", SCENARIOS, "--answers", "-")


# --- by which rules


@pytest.mark.long
def test_legacy_scenarios_go_by_the_rules_of_1_22_whether_or_not_it_is_asked_for() -> None:
    recorded = "conformance/1.22-selected.jsonl.gz"
    asked = run("conformance", recorded, "--kubernetes-version", "v1.22.17")
    assert (asked.code, asked.err) == (0, "")
    assert asked.out == run("conformance", recorded).out


# --- plugins


def test_plugins_from_outside_answer_too(tmp_path: Path) -> None:
    scenario = scenarios()[3]
    scenario["config"] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "OnlyCats"}]}}}],
    }
    file = tmp_path / "cats.jsonl"
    file.write_text(json.dumps(scenario))
    assert "OnlyCats is enabled, but no plugin provides it" in refused("conformance", str(file))
    out = tmp_path / "answers"
    assert run("conformance", str(file), "--plugin", "data/plugins.py:OnlyCats", "--answers", str(out)).code == 0
    assert "were no cats" in out.read_text()
    assert run("conformance", str(file), "--skip-unknown-plugins", "--answers", str(out)).code == 0
    assert "were no cats" not in out.read_text()


# --- how fields are compared


def fields(wanted: RecordedAttempt, got: RecordedAttempt) -> list[str]:
    sides = (Recorded([RecordedPod("ns/pod", [attempt])]) for attempt in (wanted, got))
    return [field for _, field, _, _ in scheduler_differences(*sides)]


def test_absent_null_and_empty_are_the_same() -> None:
    empty = RecordedAttempt(rejected={}, feasible=[], scores={}, evaluated=0, selected="", message="", victims=[])
    assert fields(RecordedAttempt(), empty) == []
    assert fields(empty, RecordedAttempt()) == []


def test_the_order_of_reasons_does_not_count() -> None:
    one, other = (RecordedStatus(code="U", plugin="P", reasons=list(reasons)) for reasons in ("ab", "ba"))
    assert fields(RecordedAttempt(rejected={"n": one}), RecordedAttempt(rejected={"n": other})) == []
    assert fields(RecordedAttempt(pre_filter=one), RecordedAttempt(pre_filter=other)) == []
    fewer = RecordedStatus(code="U", plugin="P", reasons=["a"])
    assert fields(RecordedAttempt(rejected={"n": one}), RecordedAttempt(rejected={"n": fewer})) == ["rejected"]


def test_a_plugin_without_a_score_counts_as_0() -> None:
    one, other = RecordedAttempt(scores={"n": {"A": 1, "B": 0}}), RecordedAttempt(scores={"n": {"A": 1}})
    assert fields(one, other) == []
    assert fields(one, RecordedAttempt(scores={"n": {"B": 1}})) == ["scores"]


def test_of_an_error_only_its_presence_counts() -> None:
    assert fields(RecordedAttempt(error="a"), RecordedAttempt(error="b")) == []
    assert fields(RecordedAttempt(error="a"), RecordedAttempt()) == ["error"]


def test_where_no_plugin_was_recorded_none_is_asked_for() -> None:
    nobody, somebody, other = (RecordedStatus(code="U", plugin=plugin, reasons=["a"]) for plugin in (None, "P", "Q"))
    assert fields(RecordedAttempt(rejected={"n": nobody}), RecordedAttempt(rejected={"n": somebody})) == []
    assert fields(RecordedAttempt(rejected={"n": other}), RecordedAttempt(rejected={"n": somebody})) == ["rejected"]
    assert fields(RecordedAttempt(), RecordedAttempt(rejected={"n": somebody})) == ["rejected"]


def test_allocations_and_the_number_of_attempts_are_compared() -> None:
    assert fields(RecordedAttempt(allocations={"c": ["d"]}), RecordedAttempt()) == ["allocations"]
    one = Recorded([RecordedPod("ns/pod", [RecordedAttempt()])])
    assert [field for _, field, _, _ in scheduler_differences(one, Recorded())] == ["attempts"]
