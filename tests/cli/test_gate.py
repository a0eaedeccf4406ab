"""The command ``gate``: where its settings come from, what it reads and writes, and how it ends."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kwhatif.commands.gate.formats.formats import FORMATS
from kwhatif.commands.gate.question import Gate
from tests.cli.running import TESTS, Ran, run

SAMPLE = TESTS.parent / "samples" / "gate"
NOW = ("--now", "2026-11-20T12:00:00Z")
CHANGE = (str(SAMPLE / "head"), "--base", str(SAMPLE / "base"))
HEAD = "apiVersion: kwhatif.dev/v1\nkind: GatePolicy\n"


def gate(*words: str, rules: str = "pass", **more: object) -> Ran:
    """The sample's change under one of its rules files."""
    return run("gate", *CHANGE, *NOW, "--config", str(SAMPLE / f"rules-{rules}.yaml"), *words, **more)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize(("rules", "code"), [("pass", 0), ("warn", 0), ("fail", 1)])
def test_the_exit_code_is_the_verdict(rules: str, code: int) -> None:
    ran = gate("-o", "json", rules=rules)
    result = json.loads(ran.out)
    assert (ran.code, result["verdict"], result["kind"]) == (code, rules, "GateReport")


@pytest.mark.long
@pytest.mark.parametrize("rules", ["pass", "warn", "fail"])
def test_the_same_input_gives_the_same_bytes(rules: str) -> None:
    assert gate("-o", "json", rules=rules).out == gate("-o", "json", rules=rules).out


@pytest.mark.long
def test_the_formats_are_those_of_the_reports_and_a_terminal_has_a_wide_one() -> None:
    assert [each for each in Gate.prints.formats if each != "wide"] == list(FORMATS)
    assert gate("-o", "wide").out == gate("-o", "table").out
    assert gate("--report", "wide=file").code == 2


@pytest.mark.long
def test_reports_are_written_beside_what_is_printed(tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in FORMATS}
    ran = gate(*(word for name, path in files.items() for word in ("--report", f"{name}={path}")), "-o", "yaml")
    assert ran.code == 0
    assert yaml.safe_load(ran.out) == json.loads(files["json"].read_text())
    assert all(path.read_text().endswith("\n") for path in files.values())


def test_no_report_is_left_behind_by_an_error(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    ran = gate("--report", f"json={target}", "--snapshot", str(tmp_path / "nowhere.json"))
    assert (ran.code, ran.out, target.exists()) == (2, "", False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_without_a_base_everything_is_judged() -> None:
    ran = run("gate", str(SAMPLE / "head"), "--snapshot", str(SAMPLE / "snapshot.json"), *NOW, "-o", "json")
    result = json.loads(ran.out)
    assert result["judged"] == "everything"
    assert {change["what"] for change in result["changes"]} == {"added", "changed", "unchanged"}


@pytest.mark.long
def test_a_base_that_holds_nothing_yet_makes_all_new(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    snapshot = str(SAMPLE / "snapshot.json")
    ran = run("gate", str(SAMPLE / "head"), "--base", str(base), "--snapshot", snapshot, *NOW, "-o", "json")
    assert {change["what"] for change in json.loads(ran.out)["changes"]} == {"added"}


def test_an_unchanged_repository_passes_and_says_so() -> None:
    base = str(SAMPLE / "base")
    ran = run("gate", base, "--base", base, *NOW, "--config", str(SAMPLE / "rules-fail.yaml"), "-o", "json")
    result = json.loads(ran.out)
    assert (ran.code, result["verdict"]) == (0, "pass")
    assert result["note"].startswith("nothing to judge")


def test_manifests_may_come_from_standard_input() -> None:
    text = (SAMPLE / "head" / "shop" / "search.yaml").read_text()
    ran = run("gate", "-", "--snapshot", str(SAMPLE / "snapshot.json"), *NOW, "-o", "json", stdin=text)
    (change,) = json.loads(ran.out)["changes"]
    assert (ran.code, change["location"]) == (0, {"file": "standard input", "line": 1})


def test_what_is_below_a_directory_can_be_left_out() -> None:
    ran = run("gate", str(SAMPLE / "head"), "--no-recursive", "--snapshot", str(SAMPLE / "snapshot.json"))
    assert ran.code == 2
    assert "has no .json, .yaml or .yml files, and those below it are not looked at" in ran.err


# --- settings


def repository(tmp_path: Path, text: str) -> Path:
    """A repository with rules and a job of which one pod fits nowhere, seen from a directory below."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".kwhatif.yaml").write_text(HEAD + text)
    deploy = tmp_path / "deploy"
    deploy.mkdir()
    (deploy / "training.yaml").write_text(
        (SAMPLE / "head" / "lab" / "training.yaml").read_text().replace("1500m", "3800m")
    )
    return deploy


def inside(directory: Path, *words: str, **environment: str) -> Ran:
    """Run in a directory of its own."""
    with contextlib.chdir(directory):
        return _run_here(*words, **environment)


def _run_here(*words: str, **environment: str) -> Ran:
    from unittest import mock

    with mock.patch("tests.cli.running.TESTS", Path.cwd()):
        return run("gate", *words, env=environment)


def test_the_rules_are_found_above_and_their_paths_are_beside_them(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text((SAMPLE / "snapshot.json").read_text())
    deploy = repository(tmp_path, "snapshot: [cluster.json]\nrules: {unschedulable: warn}\n")
    result = json.loads(inside(deploy, ".", *NOW, "-o", "json").out)
    assert result["policy"] == "../.kwhatif.yaml"
    assert [(rule["rule"], rule["level"]) for rule in result["rules"]] == [("unschedulable", "warn")]


@pytest.mark.long
def test_options_count_more_than_variables_and_those_more_than_the_file(tmp_path: Path) -> None:
    deploy = repository(tmp_path, "snapshot: [nowhere.json]\nrules: {unschedulable: error}\n")
    snapshot = str(SAMPLE / "snapshot.json")
    assert "../.kwhatif.yaml: $.snapshot[0]: ../nowhere.json: no such file" in inside(deploy, ".").err
    assert inside(deploy, ".", KWHATIF_SNAPSHOT=snapshot).code == 1
    assert (
        "absent.json: no such file" in inside(deploy, ".", "--snapshot", "absent.json", KWHATIF_SNAPSHOT=snapshot).err
    )
    variables = {"KWHATIF_SNAPSHOT": snapshot, "KWHATIF_OUTPUT": "json", "KWHATIF_RULE": "unschedulable=warn"}
    ran = inside(deploy, ".", **variables)
    assert (ran.code, json.loads(ran.out)["verdict"]) == (0, "warn")
    ran = inside(deploy, ".", "--rule", "unschedulable=error", "-o", "yaml", **variables)
    assert (ran.code, yaml.safe_load(ran.out)["verdict"]) == (1, "fail")


def test_a_variable_names_rules_and_the_scheduler_policy(tmp_path: Path) -> None:
    rules = str(SAMPLE / "rules-pass.yaml")
    ran = run("gate", *CHANGE, *NOW, env={"KWHATIF_CONFIG": rules, "KWHATIF_POLICY": "no-such-policy.yaml"})
    assert ran.code == 2
    assert "no-such-policy.yaml: no such file" in ran.err


@pytest.mark.long
@pytest.mark.parametrize("how", [("--no-exemptions",), ()])
def test_exemptions_can_be_forbidden(how: tuple[str, ...]) -> None:
    env = {} if how else {"KWHATIF_NO_EXEMPTIONS": "1"}
    words = ("--rule", "single-node=error", *how)
    ran = run("gate", *CHANGE, *NOW, "--config", str(SAMPLE / "rules-warn.yaml"), *words, "-o", "json", env=env)
    result = json.loads(ran.out)
    assert result["exemptions"] == []
    assert {finding["subject"]["name"] for finding in result["findings"] if finding["rule"] == "single-node"} >= {
        "worker"
    }
    assert "warning: Deployment shop/worker: kwhatif.dev/ignore is ignored: exemptions are forbidden" in ran.err


@pytest.mark.long
def test_findings_point_at_the_document_of_the_manifest() -> None:
    result = json.loads(gate("-o", "json", rules="fail").out)
    places = {finding["subject"]["name"]: finding["location"] for finding in result["findings"] if finding["location"]}
    assert places["web"] == {"file": str(SAMPLE / "head" / "shop" / "web.yaml"), "line": 16}
    lines = (SAMPLE / "head" / "shop" / "web.yaml").read_text().splitlines()
    assert lines[places["web"]["line"] - 1].strip() == "replicas: 4"


def subjects(result: dict[str, Any]) -> list[dict[str, str]]:
    return [finding["subject"] for finding in result["findings"] if finding["subject"]]


@pytest.mark.long
def test_what_if_edits_are_judged_along_with_the_change() -> None:
    ran = gate("--remove-node", "general-c", "-o", "json", "--rule", "unschedulable=error")
    result = json.loads(ran.out)
    assert ran.code == 1
    assert "Deployment shop/worker" in {f"{s['kind']} {s['namespace']}/{s['name']}" for s in subjects(result)}
    assert any(placement["pod"].startswith("lab/notebook-") for placement in result["placements"])
    assert result["fidelity"]["edits"] == ["remove node general-c"]


# --- mistakes


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param((), "missing argument 'DIR|FILE'", id="nothing to judge"),
        pytest.param(
            (str(SAMPLE / "head"),),
            "name the cluster: with --snapshot FILE, in KWHATIF_SNAPSHOT",
            id="no cluster",
        ),
        pytest.param(("nowhere", "--snapshot", "x"), "nowhere: no such file or directory", id="no such manifests"),
        pytest.param((*CHANGE, "--config", "nowhere.yaml"), "nowhere.yaml: no such file or directory", id="no rules"),
        pytest.param(
            (*CHANGE, "--report", "pdf=x"), "--report pdf=x: expected FORMAT=FILE with a format out of", id="format"
        ),
        pytest.param((*CHANGE, "--report", "json"), "--report json: expected FORMAT=FILE", id="no file"),
        pytest.param(
            (*CHANGE, "--report", "json=x", "--report", "yaml=x"),
            "--report yaml=x: another report is to be written there",
            id="twice",
        ),
        pytest.param((*CHANGE, "--now", "noon"), "--now: expected a time such as", id="no time"),
        pytest.param(
            (*CHANGE, "--now", "2026-13-01T00:00:00Z"),
            "found 2026-13-01T00:00:00Z",
            id="month",
        ),
        pytest.param((*CHANGE, "--rule", "x=off"), '--rule x=off: unknown rule "x"', id="no such rule"),
        pytest.param(("-", "--base", "-", "--snapshot", "x"), "'-' is given more than once", id="stdin twice"),
        pytest.param(
            ("data/nodes.yaml", "--snapshot", str(SAMPLE / "snapshot.json")),
            "data/nodes.yaml",
            id="manifests without pods",
        ),
    ],
)
def test_mistakes_end_with_one_line(words: tuple[str, ...], problem: str) -> None:
    ran = run("gate", *words)
    assert ran.code == 2
    assert ran.out == ""
    assert problem in ran.err
    assert "Traceback" not in ran.err
