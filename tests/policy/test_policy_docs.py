"""Every example of docs/policy.md does what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kwhatif.cli.policy import app

TEXT = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def of_kind(kind: str) -> list[str]:
    return [body for found, body in BLOCKS if found == kind]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The YAML examples as files, named by their first line."""
    monkeypatch.chdir(tmp_path)
    for body in of_kind("yaml"):
        name, _, _ = body.partition("\n")
        Path(name.removeprefix("# ")).write_text(body)


COMMANDS = [
    re.match(r"\$ kwhatif policy (.*)\n([\s\S]*)", part)
    for body in of_kind("console")
    for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE)
    if part
]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_what_the_page_shows(command: re.Match[str]) -> None:
    result = CliRunner().invoke(app, shlex.split(command[1]))
    printed = result.stdout + (f"[exit code {result.exit_code}]\n" if result.exit_code else "")
    position = 0
    for number, piece in enumerate(command[2].split("...\n")):
        found = printed.find(piece, position)
        assert found >= 0, f"not printed: {piece}"
        assert number or found == 0
        position = found + len(piece)
    assert printed[position:] == ""


@pytest.mark.parametrize("body", of_kind("python"))
def test_the_python_example_runs(body: str) -> None:
    exec(compile(body, "docs/policy.md", "exec"), {})


def test_the_page_has_examples_of_every_kind() -> None:
    assert {kind for kind, _ in BLOCKS} == {"yaml", "console", "python"}
    assert len(COMMANDS) >= 7
    assert all(COMMANDS)
