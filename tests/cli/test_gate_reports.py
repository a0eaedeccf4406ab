"""``kwhatif gate`` on the sample, with all its reports: they agree, and colour and width are as asked."""

from __future__ import annotations

import io
import os
from pathlib import Path
from unittest import mock

import pytest

from kwhatif.cli.output import screen
from kwhatif.commands.gate.formats.formats import FORMATS
from kwhatif.render.screen import Screen
from tests.cli.running import refused, run
from tests.commands.gate.formats.gate_reading import READERS
from tests.commands.gate.formats.test_formats import check

SAMPLE = "../samples/gate"
JUDGE = ("gate", f"{SAMPLE}/head", "--base", f"{SAMPLE}/base", "--now", "2026-03-01T12:00:00Z", "--config")


@pytest.mark.long
@pytest.mark.parametrize(("rules", "code"), [("pass", 0), ("warn", 0), ("fail", 1)])
def test_all_reports_of_one_run_are_valid_and_have_the_same_findings(tmp_path: Path, rules: str, code: int) -> None:
    reports = [word for name in FORMATS for word in ("--report", f"{name}={tmp_path / name}")]
    ran = run(*JUDGE, f"{SAMPLE}/rules-{rules}.yaml", *reports)
    assert ran.code == code
    texts = {name: (tmp_path / name).read_text() for name in FORMATS}
    assert texts["table"] == ran.out
    for name, text in texts.items():
        check(name, text)
    found = {name: sorted(READERS[name](text)) for name, text in texts.items()}
    assert all(each == found["json"] for each in found.values())
    assert bool(found["json"]) == (rules != "pass")


@pytest.mark.long
def test_an_empty_change_passes_and_says_so_in_every_format() -> None:
    words = ("gate", f"{SAMPLE}/base", "--base", f"{SAMPLE}/base", "--config", f"{SAMPLE}/rules-fail.yaml")
    for name in set(FORMATS) - {"gitlab"}:
        ran = run(*words, "-o", name)
        assert (ran.code, "othing to judge" in ran.out) == (0, True)
    assert run(*words, "-o", "gitlab").out == "[]\n"


def test_a_change_may_remove_every_manifest(tmp_path: Path) -> None:
    ran = run("gate", str(tmp_path), "--base", f"{SAMPLE}/base", "--config", f"{SAMPLE}/rules-pass.yaml")
    assert ran.code == 0
    assert "(7 removed)" in ran.out


def test_reports_that_cannot_be_written_or_named_are_refused(tmp_path: Path) -> None:
    rules = f"{SAMPLE}/rules-pass.yaml"
    assert "expected FORMAT=FILE" in refused(*JUDGE, rules, "--report", "pdf=x")
    there = tmp_path / "missing" / "x"
    assert "cannot be written" in refused(*JUDGE, rules, "--report", f"json={there}")


# --- colour and width


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("asked", "env", "wanted"),
    [
        ("auto", {"TERM": "xterm"}, True),
        ("auto", {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ("auto", {"TERM": "xterm", "NO_COLOR": ""}, True),
        ("auto", {"TERM": "dumb"}, False),
        ("auto", {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"TERM": "xterm", "FORCE_COLOR": "1"}, False),
    ],
)
def test_a_terminal_has_colours_unless_somebody_does_not_want_them(
    asked: str, env: dict[str, str], wanted: bool
) -> None:
    run("expand", "data/no-pods.yaml", "--color", asked)
    with mock.patch.dict(os.environ, env, clear=True), mock.patch("sys.stdout", Terminal()):
        assert screen() == Screen(80, wanted)
        os.environ["COLUMNS"] = "77"
        assert screen(100) == Screen(77, wanted)


@pytest.mark.long
def test_what_is_no_terminal_has_no_colours_and_a_width_of_its_own() -> None:
    with mock.patch.dict(os.environ, {"TERM": "xterm", "COLUMNS": "77"}), mock.patch("sys.stdout", io.StringIO()):
        assert screen(100) == Screen(100)
        assert screen() == Screen()
    rules = f"{SAMPLE}/rules-warn.yaml"
    assert "\x1b" not in run(*JUDGE, rules).out
    assert run(*JUDGE, rules, "--color", "always").out.startswith("\x1b[1;33mWARN\x1b[0m  ")
