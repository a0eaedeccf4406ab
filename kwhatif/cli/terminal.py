"""How a report for people is to look: as wide as the terminal, and in colour if there is one that shows it."""

from __future__ import annotations

import os
import shutil
import sys
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kwhatif.report.screen import Screen


class Colour(StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


_asked = ContextVar("_asked", default=Colour.auto)


def _remember(asked: Colour) -> None:
    _asked.set(Colour(asked))


def with_colour(command: Any) -> Any:
    """The command with an option ``--color``, which its function need not know of."""

    def other(
        color: Annotated[
            Colour,
            typer.Option(
                "--color", callback=_remember, expose_value=False, help="Colours in text; auto: on a terminal."
            ),
        ] = Colour.auto,
    ) -> None: ...

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(other)
    command.params += [each for each in typer.main.get_command(app).params if each.name == "color"]
    return command


def screen(otherwise: int | None = None) -> Screen:
    """The terminal that is printed to; ``otherwise`` is how wide a file is to be, whatever the terminal."""
    from kwhatif.report.screen import Screen

    looked_at = sys.stdout.isatty()
    width = shutil.get_terminal_size((80, 24)).columns if looked_at else otherwise
    return Screen(width, _colourful(looked_at))


def _colourful(looked_at: bool) -> bool:
    """As ``--color`` asks, else as NO_COLOR and FORCE_COLOR do, else on a terminal that is not ``dumb``."""
    if (asked := _asked.get()) is not Colour.auto:
        return asked is Colour.always
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (looked_at and os.environ.get("TERM") != "dumb")
