"""Every example of docs/policy.md does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kwhatif.cli.policy import app
from tests.console import Example, blocks, examples, prints
from tests.policy.legacy_page import page

TEXT = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The YAML examples as files, named by their first line."""
    monkeypatch.chdir(tmp_path)
    for body in blocks(TEXT, "yaml"):
        name, _, _ = body.partition("\n")
        Path(name.removeprefix("# ")).write_text(body)


COMMANDS = examples(TEXT)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_command_prints_what_the_page_shows(command: Example) -> None:
    result = CliRunner().invoke(app, command.arguments[1:])
    printed = result.stdout + (f"[exit code {result.exit_code}]\n" if result.exit_code else "")
    assert prints(printed, command.output), printed


@pytest.mark.parametrize("body", blocks(TEXT, "python"))
def test_the_python_example_runs(body: str) -> None:
    exec(compile(body, "docs/policy.md", "exec"), {})


def test_the_page_has_examples_of_every_kind() -> None:
    assert blocks(TEXT, "yaml")
    assert blocks(TEXT, "python")
    assert len(COMMANDS) >= 7


def test_the_tables_of_legacy_names_are_those_of_the_code() -> None:
    assert page(TEXT) == TEXT
