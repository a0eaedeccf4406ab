"""The flag of a field is an option of the command line, and says how words are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from kwhatif.cli.command_line import typer_command
from kwhatif.cli.wrong_words import WrongWords
from kwhatif.errors import UsageError
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Flag, split_words
from kwhatif.simulation.inputs import Notes


@dataclass(frozen=True, kw_only=True)
class Frame(Task[Printed]):
    """Frame it."""

    prints = DOCUMENT

    width: Annotated[int, Flag("--width", short="-W", help="How wide.")]
    hung: Annotated[bool, Flag("--no-wall", negated=True, help="It lies.")] = True
    wood: Annotated[Literal["oak", "ash"], Flag("--wood", help="Of what.")] = "oak"
    glued: Annotated[float | None, Flag("--glued", duration=True, help="For how long.")] = None
    dried: Annotated[float, Flag("--dried", duration=True, shows_default=True, help="For how long.")] = 300.0
    hooks: Annotated[Sequence[str], Flag("--hook", help="What it hangs on.")] = ()
    words: Annotated[Sequence[str], Flag("--word", parse=split_words, help="What is on it.")] = ("none",)
    year: Annotated[int, Flag("--year", type=str, parse=int, help="Of when.")] = 1900
    maker: str = "no option"

    def answer(self, given: Any, notes: Notes) -> Printed:
        return Printed(text=str(self))


def framed(*words: str) -> None:
    typer_command(Frame, "frame").main([*words], standalone_mode=False)


OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "options that are not given have the defaults of their fields": ([], {}),
    "a letter": (["-W", "4"], {"width": 4}),
    "a flag that turns its field off": (["--no-wall"], {"hung": False}),
    "one of some words is a plain text": (["--wood", "ash"], {"wood": "ash"}),
    "a length of time is held in seconds": (["--glued", "1m30s", "--dried", "90s"], {"glued": 90.0, "dried": 90.0}),
    "several of an option": (["--hook", "a", "--hook", "b"], {"hooks": ["a", "b"]}),
    "what the flag makes of words": (["--word", "a,b", "--word", "a", "--year", "7"], {"words": ("a", "b"), "year": 7}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_read_as_its_flag_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, fields = OPTIONS[name]
    framed("--width", "3", *words)
    assert capsys.readouterr().out == str(Frame(**{"width": 3, **fields}))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "Missing option '--width'"),
        (["--width", "3", "--maker", "me"], "No such option: --maker"),
        (["--width", "3", "--wood", "elm"], "'elm' is not one of 'oak', 'ash'"),
    ],
)
def test_words_that_no_field_takes_are_refused(words: list[str], problem: str) -> None:
    with pytest.raises(WrongWords) as refused:
        framed(*words)
    assert problem in refused.value.format_message()


@pytest.mark.parametrize("words", [["--glued", "soon"], ["--year", "old"]])
def test_what_a_flag_cannot_read_is_said_with_its_name(words: list[str]) -> None:
    with pytest.raises(UsageError, match=f"^{words[0]}: "):
        framed("--width", "3", *words)


def test_help_says_a_length_of_time_as_people_do_and_the_words_to_choose_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    framed("--help")
    text = capsys.readouterr().out
    assert "Frame it." in text
    assert "[default: 5m]" in text
