"""Every example of docs/reference/scheduler-policies.md does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kwhatif.cli.main import app
from tests.console import Example, blocks, examples, prints, rewrite

ROOT = Path(__file__).parents[2]
TEXT = "\n".join((ROOT / f"docs/reference/{name}-policies.md").read_text() for name in ("scheduler", "legacy"))


COMMANDS = examples(TEXT)


@pytest.mark.parametrize("body", blocks(TEXT, "yaml"))
def test_a_file_of_the_page_is_among_the_samples(body: str) -> None:
    assert (ROOT / body.partition("\n")[0].removeprefix("# ")).read_text() == body


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_command_prints_what_the_page_shows(
    command: Example, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, command.arguments)
    printed = result.stdout + (f"[exit code {result.exit_code}]\n" if result.exit_code else "")
    if update_golden and not prints(printed, command.output):
        rewrite(printed, command.output, ROOT.glob("docs/reference/*-policies.md"))
    else:
        assert prints(printed, command.output), printed


@pytest.mark.parametrize("body", blocks(TEXT, "python"))
def test_the_python_example_runs(body: str) -> None:
    exec(compile(body, "docs/reference/scheduler-policies.md", "exec"), {})


def test_the_page_has_examples_of_every_kind() -> None:
    assert blocks(TEXT, "yaml")
    assert blocks(TEXT, "python")
    assert len(COMMANDS) >= 7
