"""Classes of options: a command takes one value, its users see each option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from kwhatif.cli.option_groups import Excluding, expand_groups


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width")]
    height: Annotated[int, typer.Option("-H", "--height")] = 2


@dataclass(frozen=True)
class Painted(Size):
    colour: str = "red"


def command() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @expand_groups
    def draw(name: str, times: int = 1, *, size: Size) -> None:
        """Draw it."""
        print(name, times, size)

    return app


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["box", "--width", "3"], "box 1 Size(width=3, height=2)\n"),
        (["--times", "4", "-H", "5", "--width", "3", "box"], "box 4 Size(width=3, height=5)\n"),
    ],
    ids=["an option of a class that is not given has the class's default", "options may stand anywhere"],
)
def test_a_command_gets_its_options_as_one_value(words: list[str], printed: str) -> None:
    done = CliRunner().invoke(command(), words)
    assert (done.exit_code, done.stdout) == (0, printed)


def test_an_option_without_a_default_is_required() -> None:
    done = CliRunner().invoke(command(), ["box"])
    assert done.exit_code == 2
    assert "--width" in done.output


def test_the_command_keeps_its_help() -> None:
    assert "Draw it." in CliRunner().invoke(command(), ["--help"]).stdout


def test_a_command_may_do_without_some_options_of_a_class() -> None:
    app = typer.Typer()

    @app.command()
    @expand_groups
    def draw(*, size: Annotated[Size, Excluding("height")]) -> None:
        print(size)

    assert CliRunner().invoke(app, ["--width", "3"]).stdout == "Size(width=3, height=2)\n"
    assert CliRunner().invoke(app, ["--width", "3", "-H", "4"]).exit_code == 2


def test_a_field_that_says_nothing_to_typer_is_no_option() -> None:
    app = typer.Typer()

    @app.command()
    @expand_groups
    def draw(*, size: Painted) -> None:
        print(size)

    assert CliRunner().invoke(app, ["--width", "3"]).stdout == "Painted(width=3, height=2, colour='red')\n"
    assert CliRunner().invoke(app, ["--width", "3", "--colour", "blue"]).exit_code == 2
