"""Classes of options: a command takes one value, its users see each option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from kwhatif.cli.option_groups import Excluding, Renamed, expand_groups
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag, split_words


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


@dataclass(frozen=True, kw_only=True)
class Frame:
    size: Size
    hung: Annotated[bool, Flag("--no-wall", negated=True, help="It lies.")] = True
    wood: Annotated[Literal["oak", "ash"], Flag("--wood", help="Of what.")] = "oak"
    glued: Annotated[float | None, Flag("--glued", duration=True, help="For how long.")] = None
    dried: Annotated[float, Flag("--dried", duration=True, shows_default=True, help="For how long.")] = 300.0
    hooks: Annotated[Sequence[str], Flag("--hook", help="What it hangs on.")] = ()
    words: Annotated[Sequence[str], Flag("--word", parse=split_words, help="What is on it.")] = ("none",)
    year: Annotated[int, Flag("--year", type=str, parse=int, help="Of when.")] = 1900


def framing() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.command()
    @expand_groups
    def frame(*, frame: Annotated[Frame, Excluding("height"), Renamed(hung=Flag("--flat", "", negated=True))]) -> None:
        print(frame)

    return app


OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "options of a class within a class, and defaults of fields": ([], {}),
    "a flag that turns its field off, under the name that the command has for it": (["--flat"], {"hung": False}),
    "one of some words is a plain text": (["--wood", "ash"], {"wood": "ash"}),
    "a length of time is held in seconds": (["--glued", "1m30s", "--dried", "90s"], {"glued": 90.0, "dried": 90.0}),
    "several of an option": (["--hook", "a", "--hook", "b"], {"hooks": ["a", "b"]}),
    "what the flag makes of words": (["--word", "a,b", "--word", "a", "--year", "7"], {"words": ("a", "b"), "year": 7}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_read_as_its_flag_says(name: str) -> None:
    words, fields = OPTIONS[name]
    done = CliRunner().invoke(framing(), ["--width", "3", *words])
    assert (done.exit_code, done.stdout) == (0, f"{replace(Frame(size=Size(3)), **fields)}\n")


def test_help_says_a_length_of_time_as_people_do_and_the_words_to_choose_from() -> None:
    text = CliRunner().invoke(framing(), ["--help"], env={"COLUMNS": "120"}).stdout
    assert "[default: 5m]" in text
    assert "[oak|ash]" in text or "<oak|ash>" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--glued", "-5m"], "--glued: -5m: expected a length of time, such as 1m30s"),
        (["--dried", "soon"], "--dried: "),
        (["--year", "soon"], "--year: invalid literal for int() with base 10: 'soon'"),
    ],
    ids=["a length of time that is less than nothing", "one that is none", "what the flag cannot make anything of"],
)
def test_what_cannot_be_read_is_an_error_that_names_its_flag(words: list[str], message: str) -> None:
    done = CliRunner().invoke(framing(), ["--width", "3", *words])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(message)
