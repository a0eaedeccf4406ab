"""How a report for people is to look: as wide as the terminal, and in colour if there is one that shows it."""

from __future__ import annotations

import os
import shutil
import sys
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwhatif.report.screen import Screen


class Colour(StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


_asked = ContextVar("_asked", default=Colour.auto)


def remember(asked: Colour) -> None:
    """What ``--color`` says."""
    _asked.set(Colour(asked))


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
