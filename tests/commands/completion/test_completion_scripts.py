"""``kwhatif completion SHELL``, as kubectl has it."""

from __future__ import annotations

import re

import pytest
from typer._completion_shared import get_completion_script

from kwhatif.commands.completion.question import SHELLS
from tests.cli.running import run

VARIABLE = re.compile(r"_(?:KWHATIF|TYPER)_COMPLETE\w*|complete_[a-z]+|(?:get|is)-args")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_calls_the_program_as_typer_wants_to_be_called(shell: str) -> None:
    ran = run("completion", shell)
    known = shell.replace("powershell", "pwsh")
    expected = get_completion_script(prog_name="kwhatif", complete_var="_KWHATIF_COMPLETE", shell=known)
    assert ran.code == 0
    assert set(VARIABLE.findall(ran.out)) == set(VARIABLE.findall(expected))


def test_a_shell_without_a_script_is_an_error() -> None:
    ran = run("completion", "tcsh")
    assert ran.code == 2
    assert "'tcsh' is not one of" in ran.err
